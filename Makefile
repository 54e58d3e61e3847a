# Two commands do everything: `make demo` and `make test`. Both build .venv first.

PYTHON ?= python3.11
ifeq ($(shell command -v $(PYTHON) 2>/dev/null),)
PYTHON := python3
endif
BIN := .venv/bin
INSTALLED := .venv/installed
# Test workers: one a core.
WORKERS ?= auto
# Set by .ci/run: what stands beside the tests takes what they leave of the processors.
BESIDE ?=
# PhysioNet's records where they lie beside the checkout; the programs look only where they are told.
RECORDS := $(firstword $(wildcard shared/data ../shared/data))
ifneq ($(RECORDS),)
export CHAINVEIL_DATA ?= $(abspath $(RECORDS))
endif

# What `make reproduce` runs: `make reproduce ARGS="fig4 --full --device cuda"`.
ARGS ?= all

.PHONY: help demo test test-all lint docs packages bench reproduce docs-figures clean

help:
	@echo "make demo       install, then fit, calibrate, sanitize, verify and attack built-in data"
	@echo "make test       install, then run the tests, without the slow ones"
	@echo "make test-all   install, then run all tests"
	@echo "make lint       install, then run ruff and mypy"
	@echo "make docs       install, then build the documentation into site/"
	@echo "make packages   build wheel and sdist and try them in empty environments"
	@echo "make bench      install, also other packages, then run the benchmarks and write benchmarks/results.md"
	@echo "make reproduce  install, then run the paper's figures and claims again, small; ARGS='all --full': whole"
	@echo "make clean      remove .venv, caches and the demo's output"

# Most modules are never imported, and the others are compiled to bytecode then: half the time.
PIP_INSTALL := -m pip install --quiet --quiet --disable-pip-version-check --no-compile

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python $(PIP_INSTALL) --editable '.[dev]' --constraint constraints.txt
	touch $(INSTALLED)

demo: $(INSTALLED)
	$(BIN)/chainveil demo

test: $(INSTALLED)
	$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-all: $(INSTALLED)
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(INSTALLED)
	$(BESIDE) $(BIN)/ruff check .
	$(BESIDE) $(BIN)/ruff format --check .
	$(BESIDE) $(BIN)/mypy

docs: $(INSTALLED)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --nitpicky -b html docs site

# `make packages WHICH=3.11`: only the environments with these words in their names.
# Needs nothing of .venv, so that it need not wait for it.
packages:
	$(BESIDE) $(PYTHON) -m tests.packages $(WHICH)

# Other packages have an environment of their own: they want older versions of what we use.
.peers/installed: benchmarks/peers.txt pyproject.toml
	$(PYTHON) -m venv .peers
	.peers/bin/python $(PIP_INSTALL) --editable . --requirement benchmarks/peers.txt
	touch .peers/installed

bench: $(INSTALLED) .peers/installed
	CHAINVEIL_PEERS=.peers/bin/python $(BIN)/python -m benchmarks
	$(BIN)/python docs/tables/benchmarks.py

reproduce: $(INSTALLED)
	$(BIN)/python -m experiments $(ARGS)

docs-figures: $(INSTALLED)
	for script in docs/figures/*.py; do $(BIN)/python $$script; done

clean:
	rm -rf .venv .peers demo site .pytest_cache .mypy_cache .ruff_cache .hypothesis
