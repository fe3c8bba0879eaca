# Every target works from a clean clone: it sets up what it needs in .venv*.
PYTHON ?= python3
# Commands or paths; those that do not start are left out.
PYTHONS ?= python3.10 python3.11 python3.12 python3.13
SDKS ?= 1.30.0 2.3.0
VENV := .venv
# For the tests of retry stacking and of the adapters: those that live with both majors of the SDK and are quick to
# install. Not installed beside the oldest versions, which they cannot live with.
SDK_EXTRAS := anthropic,openai,fastmcp,frameworks
BIN := $(VENV)/bin
PIP := -m pip --disable-pip-version-check install --quiet
.PHONY: demo test lint types unpacked suite promises test-all test-floor bench bench-cost bench-zoo clients clients-page history clean
.DELETE_ON_ERROR:
# The tests start many processes: without bytecode each would compile all that it imports anew, for seconds.
unexport PYTHONDONTWRITEBYTECODE

# Two stages: the demo does not wait for agent frameworks and linters. Each says what it installs, because pip is silent.
$(VENV)/.demo: pyproject.toml
	@echo "Installing fuzzmcp and what it needs into $(VENV), once: about 20 s"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python $(PIP) --editable .
	@touch $@

$(VENV)/.ready: $(VENV)/.demo
	@echo "Installing test tools, linters and agent frameworks into $(VENV), once: about a minute"
	@$(BIN)/python $(PIP) --editable '.[test,lint,$(SDK_EXTRAS)]'
	@touch $@

demo: $(VENV)/.demo  ## fuzz the bundled naive agent; exit 0 when its known bugs were found
	@$(BIN)/python examples/demo.py

test: lint types suite  ## lint, types and the whole suite

# The built wheel, away from the checkout: started here, mypy and import-linter would silently skip strategies/.
UNPACKED := build/unpacked
lint: $(VENV)/.ready unpacked  ## style, and who may import what
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd $(UNPACKED) && PYTHONPATH=. ../../$(BIN)/lint-imports --no-cache ../../pyproject.toml

types: $(VENV)/.ready unpacked
	cd $(UNPACKED) && MYPYPATH=. ../../$(BIN)/mypy --config-file ../../pyproject.toml --package fuzzmcp

unpacked: $(VENV)/.ready
	rm -rf build
	$(BIN)/python -m pip --disable-pip-version-check wheel --quiet --no-deps --wheel-dir build .
	$(BIN)/python -m zipfile -e build/fuzzmcp-*.whl $(UNPACKED)

suite: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto

promises: $(VENV)/.ready  ## search for every bug of the zoo, also for those that take long to find
	$(BIN)/python -m pytest -n auto -m 'slow or not slow' tests/test_promises.py

# Twice as many examples where a test does not say how many.
LONG := --hypothesis-profile=long
test-all:  ## the suite on every Python that is installed, with both majors of the SDK, and on the oldest versions
	@for python in $(PYTHONS); do \
	  name=$$($$python -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue; \
	  for sdk in $(SDKS); do \
	    venv=.venv-$$name-mcp$$sdk; echo "== Python $$name, mcp $$sdk"; \
	    test -x $$venv/bin/fuzzmcp || { $$python -m venv $$venv && $$venv/bin/python $(PIP) --editable '.[test,$(SDK_EXTRAS)]' mcp==$$sdk; } || exit 1; \
	    $$venv/bin/python -m pytest -n auto $(LONG) || exit 1; \
	  done; done
	@$(MAKE) --no-print-directory test-floor

FLOOR := 'mcp==1.24.0' 'hypothesis==6.130.0' 'anyio==4.9.0' 'click==8.2.0' 'rich==13.7.0' 'jsonschema==4.21.0' 'tomlkit==0.13.0' \
         'jinja2==3.1.0' 'packaging==22.0' 'referencing==0.28.4'
test-floor:
	@echo "== oldest versions that pyproject allows"
	@test -x .venv-floor/bin/fuzzmcp || { $(PYTHON) -m venv .venv-floor && .venv-floor/bin/python $(PIP) --editable '.[test]' $(FLOOR); }
	.venv-floor/bin/python -m pytest -n auto $(LONG)

# In parts: make bench-zoo BUGS=RetriesSpendCap,IgnoresRetryAfter SEEDS=5 PARTS=finds,peace CASES=2000
BUGS ?=
SEEDS ?= 30
PARTS ?= finds,peace,baselines,ablation
CASES ?= 20000
bench: bench-cost bench-zoo  ## what fuzzmcp costs, and what it finds in the zoo: tables and JSON, about an hour

bench-cost: $(VENV)/.ready
	cd tests && ../$(BIN)/python -m benchmark.cost

bench-zoo: $(VENV)/.ready
	cd tests && ../$(BIN)/python -m benchmark.zoo --bugs '$(BUGS)' --seeds $(SEEDS) --parts $(PARTS) --cases $(CASES)

# In parts: make clients CLIENTS=fastmcp,langchain RUNS=400 SEED=1. The newest releases again: rm -rf .venv-clients-*
CLIENTS ?=
RUNS ?= 400
SEED ?= 1
clients: $(VENV)/.ready  ## search the clients that people use, each in its environment; write examples/clients/README.md
	cd tests && ../$(BIN)/python -m survey.clients --clients '$(CLIENTS)' --runs $(RUNS) --seed $(SEED)

clients-page: $(VENV)/.ready  ## write that page again, after a change of verdicts.toml
	cd tests && ../$(BIN)/python -m survey.clients --page

# In parts: make history PAIRS=mcp-log-freezes,fastmcp-repeated-cursor
PAIRS ?=
history: SEEDS = 3
history: $(VENV)/.ready  ## search old versions for bugs that people reported; write examples/clients/HISTORY.md
	cd tests && ../$(BIN)/python -m history.again --pairs '$(PAIRS)' --seeds $(SEEDS)

clean:
	rm -rf .venv* build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
