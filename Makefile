# `make help` lists the targets. Each sets up the virtual environment first.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
DEMO := build/demo
MODEL := examples/resnet50_bn_tiny
# The tests of a file share what they compile, so that one process runs them. Files with slow tests
# come first (test/unit/conftest.py), not those with most tests.
PYTEST := $(BIN)/pytest -n 3 --dist=loadfile --no-loadscope-reorder

# Tests and tools start each other by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)

# Otherwise each of many processes recompiles every Python module that it imports.
unexport PYTHONDONTWRITEBYTECODE

ROUNDS := 200
SEED := 0
DEVICE := cpu
TIME := 300

.DEFAULT_GOAL := help
.PHONY: help venv demo check test thorough lint types lit fast unit cases differential fuzz format docs stubs lock clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## set up .venv: Python packages at the versions of requirements.lock

# Python itself compiles the modules that are imported, which are few of these packages'.
$(STAMP): pyproject.toml requirements.lock setup.py $(shell find src -name '*.cpp' -o -name '*.h')
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check \
	  --constraint requirements.lock --editable '.[dev]'
	touch $@

demo: venv ## compile a ResNet-50 for gfx942, run it on the CPU, compare with onnxruntime's output
	mkdir -p $(DEMO)
	$(BIN)/hipgraft-compile $(MODEL).onnx --target=gfx942 --report -o $(DEMO)/resnet50_gfx942.mlir
	$(BIN)/hipgraft-run $(MODEL).onnx --device=cpu --input=@$(MODEL).npz --expected=@$(MODEL).npz

check: lint ## run all checks and the fast tests: before each commit
	$(MAKE) --jobs=2 --output-sync types fast

test: lint ## run all checks and tests: before each merge
	$(MAKE) --jobs=2 --output-sync types lit
	$(MAKE) unit

# Overwrites freed memory, so that using it crashes.
thorough: export PYTHONMALLOC := debug
thorough: lint types lit ## run all checks and tests, and repeat tests with more values
	$(PYTEST) --random-rounds=2

lint: venv ## check format and style
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: venv ## check types
	$(BIN)/pyright

lit: venv ## run all tests of IR
	$(BIN)/lit -sv test/lit

fast: venv ## run the tests without those marked slow or thorough
	$(BIN)/lit -sv --param=fast test/lit
	$(PYTEST) -n 2 --dist=worksteal -m "not slow and not thorough"

unit: venv ## run the tests in Python without those marked thorough
	$(PYTEST) -m "not thorough"

cases: venv ## count the (op, mode, element type) that compute what their oracles say
	$(PYTEST) $(wildcard test/unit/test_lowering_*.py)

differential: venv ## compare ROUNDS random ONNX models with onnxruntime and ONNX's reference
	$(BIN)/python benchmarks/differential.py --rounds=$(ROUNDS) --seed=$(SEED) --device=$(DEVICE)

fuzz: venv ## search TIME seconds for inputs that do harm; keep what is found as a regression
	$(BIN)/python -m fuzz --time=$(TIME)

format: venv ## format the code and sort imports
	$(BIN)/ruff check --select I --fix .
	$(BIN)/ruff format .

docs: venv ## regenerate what comes from docstrings and definitions: pages, op builders, engines
	$(BIN)/python tools/dev/gen_dialect_builders.py
	$(BIN)/python tools/dev/gen_dialect_docs.py
	$(BIN)/python tools/dev/gen_engines.py
	$(BIN)/python tools/dev/gen_docs.py

stubs: venv ## regenerate the type stubs of the bindings, after a change of the compiler pin
	$(BIN)/python tools/dev/gen_stubs.py

lock: ## resolve the newest versions that pyproject.toml allows and write requirements.lock
	rm -rf build/lock
	$(PYTHON) -m venv build/lock
	build/lock/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	build/lock/bin/python -m pip freeze --all --exclude pip --exclude-editable > requirements.lock
	rm -rf build/lock

clean: ## remove what the other targets made
	rm -rf $(VENV) build
