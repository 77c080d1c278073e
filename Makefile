# From a fresh clone, with nothing but make and Python 3.11 or newer: `make demo`, `make test`.
# Everything is installed into .venv, once; a stamp there says which requirements it holds.

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
TORCH ?= torch==2.13.0
TESTS ?= tests
DEMO ?= samples/002-dense-276/run

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.PHONY: help demo test bench check lint types floors rules picture causes schema clean

help:  ## say what the targets do
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| sed -n 's/^\([a-z]*\):.*## /  make \1: /p' $(MAKEFILE_LIST)

demo: $(VENV)/.run  ## install the program and let it read a run that died
	$(BIN)/dflash-forensics analyze $(DEMO)

# The zone is not UTC, so that a time read in the machine's zone cannot pass for one in UTC.
test: $(VENV)/.torch  ## run the tests; TESTS=tests/render runs some
	TZ=Asia/Kolkata $(BIN)/python -m pytest $(TESTS)

bench: $(VENV)/.dev  ## what it costs beside ripgrep; BENCH='--megabytes 1024 --files 512 1024' for more data
	$(BIN)/python -m tests.benchmarks $(BENCH)

check: lint types floors rules  ## everything else that must hold: style, types, floors, rules

lint: $(VENV)/.dev  ## style and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev  ## static types
	$(BIN)/mypy

floors: $(VENV)/.dev  ## which module may import which
	$(BIN)/lint-imports

rules: $(VENV)/.run  ## the rules, each with its cases
	$(BIN)/dflash-forensics rules check

picture: $(VENV)/.run  ## draw the picture of README again
	$(BIN)/python scripts/picture.py $(DEMO)

causes: $(VENV)/.run  ## write what follows from the rules again
	$(BIN)/python scripts/causes.py

schema: $(VENV)/.run  ## write the JSON Schema of the report again
	$(BIN)/python scripts/schema.py

clean:  ## remove what was built, .venv too
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.python:
	@test -n "$(PYTHON)" || { echo "make: no Python 3.11 or newer found; name one with PYTHON=..." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV) || { \
		echo "make: this Python has no venv (on Debian and Ubuntu: apt-get install python3-venv)" >&2; exit 1; }
	@touch $@

$(VENV)/.run: pyproject.toml | $(VENV)/.python
	$(PIP) -e .
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/.python
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/.run

# Why: the exact release is asked for first, because machines that test this have it as a quick CPU
# build; where it cannot be had, any that the extra allows will do.
$(VENV)/.torch: $(VENV)/.dev
	$(PIP) '$(TORCH)' || echo "make: no $(TORCH) here; taking what the extra allows" >&2
	$(PIP) -e '.[dev,torch]'
	@touch $@
