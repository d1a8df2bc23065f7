# What is needed: Python 3.11+ and make. The rest is fetched into .venv and the user's cache.
#
#   make demo        real clusters of four databases, weak against strong, and a report
#   make test        the fast tests and the tests on real clusters
#   make test-slow   the tests of models that take seconds each
#   make soak        kills of running studies, for an hour: nothing lost, repeated, changed or left;
#                    and damaged documents: each is read, or refused in one line
#   make check       format, lint, types, links of the documentation
#   make docs        the documentation site, in target/site
#   make bench       the figures that ARCHITECTURE.md promises, as ratios from one run

SHELL := /bin/bash
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# The build back end looks for maturin on PATH.
export PATH := $(abspath $(BIN)):$(PATH)
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

.PHONY: help setup need-cargo demo test test-fast test-cluster test-slow soak check docs format bench lock clean

help:
	@sed -n 's/^#   //p' Makefile

setup: $(VENV)/.installed

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "error: pacelc needs Python 3.11 or later; \`$(PYTHON)\` isn't" >&2; \
	    echo "hint: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo "error: this Python can't make virtual environments" >&2; \
	    echo "hint: install its venv package (python3-venv on Debian)" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.requirements: requirements.lock $(VENV)/.python
	@echo "fetching what requirements.lock names"
	@$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	@touch $@

# An editable install with an optimised engine. With cargo on PATH the locked maturin builds it;
# without, the build back end brings a Rust of its own, so it needs an isolated build.
$(VENV)/.installed: $(VENV)/.requirements pyproject.toml $(RUST_SOURCES)
	@command -v cc >/dev/null || \
	  { echo "error: building the engine needs a C linker (cc)" >&2; \
	    echo "hint: install gcc or clang" >&2; exit 1; }
	@echo "building the engine: a few minutes the first time"
	@if command -v cargo >/dev/null; then \
	  $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .; \
	else \
	  $(BIN)/python -m pip install --quiet --no-deps --editable .; \
	fi
	@touch $@

demo: setup
	$(BIN)/pacelc run quickstart --out results/quickstart
	$(BIN)/pacelc report results/quickstart

test: test-fast test-cluster

# The engine builds without cargo, but its own tests and checks are cargo's.
need-cargo:
	@command -v cargo >/dev/null || \
	  { echo "error: cargo isn't on PATH: the checks and tests of the Rust crates need it" >&2; \
	    echo "hint: install Rust 1.88 or later; make demo works without" >&2; exit 1; }

# Some tests wait for the clock: three workers keep two cores busy (98 %).
test-fast: setup need-cargo
	cargo test --quiet --release --workspace --exclude pacelc-python
	$(BIN)/python -m pytest -m 'not cluster and not slow' --numprocesses 3 --dist worksteal

test-cluster: setup
	$(BIN)/python -m pytest -m cluster --numprocesses 2 --dist loadscope

# Models that take long to fit or to simulate: nothing of the engine, clusters, runner or store.
test-slow: setup
	$(BIN)/python -m pytest -m slow --numprocesses 2 --dist worksteal

# PACELC_KILLS_SEED=N kills at other moments.
soak: setup
	PACELC_MUTATIONS=50000 PACELC_EXPLORE=1 $(BIN)/python -m pytest -k damaged --timeout 7200 \
	  python/tests/test_documents.py python/tests/networks/test_jsimg.py
	PACELC_KILLS=200 $(BIN)/python -m pytest -m cluster --timeout 7200 python/tests/runner/test_kill_campaign.py

check: setup need-cargo docs
	cargo fmt --check
	cargo clippy --quiet --release --workspace --all-targets -- -D warnings
	$(BIN)/ruff format --check python benches
	$(BIN)/ruff check python benches
	$(BIN)/basedpyright --project pyproject.toml

# A link that leads nowhere is an error.
docs: setup
	$(BIN)/zensical build --strict

format:
	cargo fmt
	$(BIN)/ruff format python benches
	$(BIN)/ruff check --fix python benches

bench: setup
	$(BIN)/python -m benches

# Exact versions and digests of everything that Python needs, without the address it came from.
lock:
	$(PYTHON) -m pip install --quiet --target .venv/uv uv
	.venv/uv/bin/uv pip compile pyproject.toml --extra dev --extra ray --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-header --upgrade --output-file requirements.lock

clean:
	rm -rf $(VENV) target results
