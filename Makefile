# make demo   the plugin in the real host, with a scripted model (or a real one: DEEPSEEK_API_KEY=…)
# make test   every test: kernel, sidecar over its wire, bridge, the real host
# make mutants  changes the kernel in small ways and asks its tests to notice (MUTANTS=foldstate.kernel.evidence.* for less)
# make check  formats, lints, types
# make bench  what things cost, as ratios measured in one run
# make rules  the table of rules and tests in docs/contract.md, written anew
# make clean  all that these have made

SHELL := bash
PYTHON ?= $(firstword $(foreach name,python3 python3.13 python3.12 python3.11,$(shell \
    $(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && command -v $(name))))
BIN := .venv/bin
TEST ?=
MUTANTS ?=

.PHONY: setup demo test mutants check rules bench clean
.DELETE_ON_ERROR:

setup: .venv/.installed node_modules/.installed

.venv/.installed: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "foldstate needs Python 3.11 or newer; python3 here is: $$(python3 --version 2>&1)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || { echo "python3 has no venv module: install the python3-venv package"; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,host]'
	@touch $@

# On Linux npm brings the Node that runs the tests, as the host has it, so that the system's may be older. npm 9 forgets to
# link it. Elsewhere the one on PATH is linked.
node_modules/.installed: package.json
	@command -v npm >/dev/null || { echo "the checks need node and npm: install them (the plugin itself doesn't)"; exit 1; }
	npm install --no-package-lock --no-audit --no-fund --silent
	@shopt -s nullglob; brought=("$(CURDIR)"/node_modules/node-linux-*/bin/node); node=$${brought:-$$(command -v node)}; \
	"$$node" -e 'process.exit(AbortSignal.any && "".toWellFormed ? 0 : 1)' || { \
	    echo "the bridge's tests need Node 20.3 or newer, and $$node is $$("$$node" --version): put a newer one on PATH"; exit 1; }; \
	ln -sf "$$node" node_modules/.bin/node
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
	node_modules/.bin/node node_modules/.bin/tsc -p bridge

bench: setup
	$(BIN)/python -m tests.bench

rules: setup
	$(BIN)/python -m tests.support.rule_table

clean:
	rm -rf .venv node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis .demo mutants
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
