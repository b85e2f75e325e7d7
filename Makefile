# make demo   the plugin in the real host, with a scripted model (or a real one: DEEPSEEK_API_KEY=…)
# make test   every test: kernel, sidecar over its wire, bridge, the real host
# make mutants  changes the kernel in small ways and asks its tests to notice (MUTANTS=foldstate.kernel.evidence.* for less)
# make check  formats, lints, types
# make clean  all that these have made

SHELL := bash
PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(shell \
    $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
BIN := .venv/bin
TEST ?=
MUTANTS ?=

.PHONY: setup demo test mutants check clean
.DELETE_ON_ERROR:

setup: .venv/.installed node_modules/.installed

.venv/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "foldstate needs Python 3.11 or newer; python3 here is: $$(python3 --version 2>&1)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "python3 has no venv module: install the python3-venv package"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,host]'
	@touch $@

node_modules/.installed: package.json
	@command -v npm >/dev/null || { echo "the checks need node and npm: install them (the plugin itself doesn't)"; exit 1; }
	npm install --no-package-lock --no-audit --no-fund --silent
	@touch $@

demo: .venv/.installed
	@$(BIN)/python -m tests.support.demo

test: setup
	$(BIN)/python -m pytest -q $(TEST)

mutants: .venv/.installed
	@$(BIN)/python -c 'import mutmut' 2>/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[mutants]'
	$(BIN)/python -m mutmut run --max-children 1 $(MUTANTS)
	$(BIN)/python -m mutmut results

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	node_modules/.bin/tsc -p bridge

clean:
	rm -rf .venv node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .demo mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
