# The tag is what Dependabot updates; a release pins the built image by digest. To build on another base, or on this one
# by digest: --build-arg PYTHON=docker.io/library/python:3.11-slim@sha256:…
ARG PYTHON=docker.io/library/python:3.11-slim

FROM ${PYTHON} AS build
WORKDIR /src
COPY requirements.lock requirements-build.lock ./
RUN python -m venv /opt/build \
 && /opt/build/bin/python -m pip install --no-cache-dir --require-hashes -r requirements-build.lock \
 && python -m venv --without-pip /opt/trapgate \
 && /opt/build/bin/python -m pip --python /opt/trapgate/bin/python install \
    --no-cache-dir --no-compile --only-binary :all: --require-hashes -r requirements.lock
COPY pyproject.toml README.md LICENSE ./
COPY canaries canaries
COPY evaluator evaluator
COPY entrypoint.py /opt/trapgate/entrypoint.py
# Bytecode that is never checked against its source: no run compiles anything, whatever a layer did to the times.
RUN /opt/build/bin/python -m pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/build/bin/python -m pip --python /opt/trapgate/bin/python install --no-cache-dir --no-compile --no-deps /dist/*.whl \
 && /opt/trapgate/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash /opt/trapgate/lib

FROM ${PYTHON}
LABEL org.opencontainers.image.title="trapgate" \
      org.opencontainers.image.description="Tells whether a pull request made your LLM agent worse, and which layer moved." \
      org.opencontainers.image.licenses="Apache-2.0"
# The workspace belongs to another user than root, whom git would not serve otherwise.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install --yes --no-install-recommends ca-certificates git libseccomp2 openssh-client \
 && rm -rf /var/lib/apt/lists/* \
 && git config --system --add safe.directory '*' \
 && python -m pip uninstall --yes pip setuptools wheel
COPY --from=build /opt/trapgate /opt/trapgate
# Root, because the runner's command files belong to it. Isolated (-I), because the runner starts this in the user's
# repository with the environment of earlier steps: neither may stand in for our modules.
ENTRYPOINT ["/opt/trapgate/bin/python", "-I", "-B", "/opt/trapgate/entrypoint.py"]
