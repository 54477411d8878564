# The tag is what Dependabot updates; a release is built on what the tag names that day, by digest, and says so in a
# label. To build on another base: --build-arg PYTHON=docker.io/library/python:3.11-slim@sha256:…
ARG PYTHON=docker.io/library/python:3.11-slim

FROM ${PYTHON} AS dependencies
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
RUN python -m venv /opt/build \
 && /opt/build/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-build.lock \
 && python -m venv --without-pip /opt/trapgate \
 && /opt/build/bin/python -m pip --python /opt/trapgate/bin/python install \
    --no-cache-dir --no-compile --only-binary :all: --require-hashes -r requirements.lock
# Only what no run opens: the pages of litellm's server, descriptions for documentation, packages' own tests. What is no
# longer there to be cut fails the build.
RUN site="$(echo /opt/trapgate/lib/python3.*/site-packages)" \
 && rm -r "$site/litellm/proxy/_experimental/out" "$site/litellm/proxy/swagger" \
    "$site/litellm/proxy/_lazy_openapi_snapshot.json" \
 && find "$site/botocore/data" -name 'examples-1.json*' -delete \
 && find "$site" -type d -name tests -prune -exec rm -r {} +
# Bytecode that is never checked against its source: no run compiles anything, whatever a layer did to the times. Of
# litellm's server only the folders that its client imports from are compiled; the rest is there as source.
RUN /opt/trapgate/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash -x \
    'litellm/proxy/(?!__init__|_types|(agent_endpoints|common_utils|guardrails|mcp_server|openai_files_endpoints|types_utils)/[^/]*$)' \
    /opt/trapgate/lib

FROM dependencies AS package
WORKDIR /src
COPY pyproject.toml README.md LICENSE ./
COPY canaries canaries
COPY evaluator evaluator
COPY entrypoint.py /own/opt/trapgate/entrypoint.py
RUN /opt/build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/build/bin/python -m pip --python /opt/trapgate/bin/python install \
    --no-cache-dir --no-compile --no-deps --root /own /dist/*.whl \
 && /opt/trapgate/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash -s /own -p / /own/opt/trapgate/lib

FROM ${PYTHON}
# The workspace belongs to another user than root, whom git would not serve otherwise.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends \
    -o Dpkg::Options::=--path-exclude='/usr/share/doc/*' -o Dpkg::Options::=--path-include='/usr/share/doc/*/copyright' \
    -o Dpkg::Options::=--path-exclude='/usr/share/man/*' -o Dpkg::Options::=--path-exclude='/usr/share/locale/*' \
    busybox-static ca-certificates git libseccomp2 openssh-client tini \
 && rm -rf /var/cache/apt/* /var/lib/apt/lists/* /var/log/* \
 && git config --system --add safe.directory '*' \
 && python -m pip uninstall --yes pip setuptools wheel
COPY --from=dependencies /opt/trapgate /opt/trapgate
COPY --from=package /own /
# Process 1 is tini, which hands on signals and reaps orphans; Python as process 1 would do neither by itself. Both it and
# what clears the variables that make the loader, iconv or OpenSSL load somebody's code are static programs, since those
# variables hold for them, too. Root, because the runner's command files belong to it. Python is isolated (-I), because the
# runner starts this in the user's repository with the environment of earlier steps: neither may stand in for our modules.
ENTRYPOINT ["/usr/bin/tini-static", "-s", "--", \
    "/bin/busybox", "env", "-u", "LD_PRELOAD", "-u", "LD_LIBRARY_PATH", "-u", "LD_AUDIT", "-u", "GCONV_PATH", \
    "-u", "OPENSSL_CONF", "-u", "OPENSSL_ENGINES", "-u", "OPENSSL_MODULES", \
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", \
    "/opt/trapgate/bin/python", "-I", "-B", "/opt/trapgate/entrypoint.py"]
LABEL org.opencontainers.image.title="trapgate" \
      org.opencontainers.image.description="Tells whether a pull request made your LLM agent worse, and which layer moved." \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.url="https://github.com/trapgate/trapgate" \
      org.opencontainers.image.source="https://github.com/trapgate/trapgate" \
      org.opencontainers.image.documentation="https://github.com/trapgate/trapgate/blob/main/docs/container.md"
