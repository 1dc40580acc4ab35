# kinetree: everything a person does with the repository. `make` alone says what there is.
#
# Each target makes its own virtual environment when there is none. PYTHON names the interpreter it is made of.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
# how many random mechanisms the tests try, relative to a full run; below 1, large tables of cases take a share of
# themselves in each run, another one each time
SCALE  ?= 0.07
TORCH  ?= torch==2.13.0

BIN       := $(VENV)/bin
RUN       := $(VENV)/.stamp-run
PLOTS     := $(VENV)/.stamp-plots
DEVELOP   := $(VENV)/.stamp-develop
PEERS     := $(VENV)/.stamp-peers
DOCS      := $(VENV)/.stamp-docs
ALL       := $(VENV)/.stamp-all

unexport PYTHONDONTWRITEBYTECODE  # modules are compiled once, not by every process anew

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-long pytest lint bench bench-gpu docs generate soak clean distclean

help:  ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-10s %s\n", $$1, $$2}' Makefile

demo: $(PLOTS)  ## one robot file all the way: quantities, a race, a motion, control, plots (needs under a minute)
	@$(BIN)/python -m kinetree demo --output build/demo

test: $(PEERS)  ## lint, and every test beside it (about ten minutes on two cores)
	@$(MAKE) --no-print-directory -j 2 lint pytest

test-all: $(ALL)  ## install every extra, then lint and every test
	@$(MAKE) --no-print-directory -j 2 lint pytest

test-long: $(PEERS)  ## the tests that are too long for every change: whole tables, long runs, every public file
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m long --ignore tests/soak

pytest: $(DEVELOP)
	KINETREE_SCALE=$(SCALE) OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal

lint: $(DEVELOP)  ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(PEERS)  ## time kinetree on this computer, beside what is installed
	$(BIN)/python -m benchmarks

bench-gpu: $(RUN)  ## time kinetree on an NVIDIA GPU of this computer
	$(BIN)/python -m benchmarks.gpu --jobs 4

docs: $(DOCS)  ## build the pages of docs/ into build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/docs

generate: $(RUN)  ## rewrite docs/reference and the stub from the functions
	$(BIN)/python -m docs.generate

soak: export OMP_NUM_THREADS = 1
soak: $(PEERS)  ## the campaigns of random trials, two to four hours on two cores; stopped, they go on where they were
	PYTHONMALLOC=malloc MALLOC_PERTURB_=255 $(BIN)/python -m tests.soak.campaign lifetimes --jobs 1 --ledger build/soak.json
	$(BIN)/python -m tests.soak.campaign all --jobs $(JOBS) --ledger build/soak.json
	$(BIN)/python -m pytest -q -n $(JOBS) -m long tests/soak

clean:  ## remove what was built, keep the virtual environment
	rm -rf build dist MUJOCO_LOG.TXT .pytest_cache .mypy_cache .ruff_cache .import_linter_cache src/*.egg-info
	find src tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean  ## remove the virtual environment too
	rm -rf $(VENV)

# The stamps are older than pyproject.toml when its dependencies may have changed: pip then looks again.

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "kinetree needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "making $(VENV)"
	@$(PYTHON) -m venv $(VENV)

$(RUN): pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(PLOTS): $(RUN)
	@$(BIN)/python -m pip install --quiet --editable '.[plots]' \
	    || echo "note: matplotlib cannot be installed here; the demo saves data only"
	@touch $@

$(DEVELOP): pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $(RUN) $@

# Pinocchio and MuJoCo have no wheels for every platform: without them their comparisons are skipped.
$(PEERS): pyproject.toml | $(BIN)/python
	@$(BIN)/python -m pip install --quiet --editable '.[dev,peers]' \
	    || { echo "note: Pinocchio or MuJoCo cannot be installed here; comparisons with them are skipped"; \
	         $(BIN)/python -m pip install --quiet --editable '.[dev]'; }
	@touch $(RUN) $(DEVELOP) $@

$(ALL): $(PEERS)
	@$(BIN)/python -m pip install --quiet $(TORCH)
	@$(BIN)/python -m pip install --quiet --editable '.[all]'
	@touch $@

$(DOCS): $(RUN)
	@$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@
