# SPDX-License-Identifier: Apache-2.0
# Everything here works on a fresh machine with Python 3.11 or newer, make and git.

SHELL := /bin/bash
BIN := .venv/bin
# The first Python that is new enough.
PYTHON ?= $(or $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11,$(shell \
  $(p) -c 'import sys; sys.version_info >= (3, 11) and print("$(p)")' 2>/dev/null))),python3)
INPUT ?= examples/qwen3-32b-disagg.yaml
OUT ?= build/$(basename $(notdir $(INPUT)))
JOBS ?= 2
SECONDS := 60
SEED := 0
PIP := $(BIN)/pip install -q --disable-pip-version-check
TOOL := $(BIN)/python preprocessor/tools
READY := .venv/.ready
DEV := .venv/.dev
PREPARED := .venv/.prepared
export PATH := $(CURDIR)/$(BIN):$(PATH)

.DEFAULT_GOAL := help
.PHONY: help setup tools tools-all render test lint types golden schema docs engine-catalog \
  engine-catalogs releases field-cases bench overlays package fuzz fuzz-properties matrix clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-16s %s\n", $$1, $$2}' Makefile
$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	@echo 'python  making .venv and installing valuesmith (once)'
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@$(PIP) -e '.[validate]' && touch $@
$(DEV): $(READY)
	@$(PIP) -e '.[validate,dev]' && touch $@
# Start-up: bytecode, and the parsed expressions of the packaged data.
$(PREPARED): $(READY) $(shell find preprocessor/valuesmith -name '*.py' -o -name '*.rule' -o -name '*.yaml')
	@$(TOOL)/prepare.py && touch $@
setup: tools ## .venv with valuesmith, and .tools/bin with helm and kubectl
tools: $(PREPARED) ## helm and kubectl that fit: links to yours, else downloads
	@$(TOOL)/fetch_tools.py
tools-all: $(PREPARED) ## also the Helm releases that the tests compare
	@$(TOOL)/fetch_tools.py --all

render: tools ## INPUT=… TARGET=… BACKEND=… OUT=…: the artifact folder of one input
	@valuesmith render $(INPUT) -o $(OUT) $(if $(TARGET),--target $(TARGET)) $(if $(BACKEND),--backend $(BACKEND)) $(ARGS)

test: $(DEV) tools-all ## all tests; ARGS=… goes to pytest
	pytest -n $(JOBS) $(ARGS)
lint: $(DEV) ## style and layers
	ruff check .
	ruff format --check .
	lint-imports --no-cache
types: $(DEV) ## mypy, strict
	mypy
fuzz: $(DEV) ## SECONDS=… SEED=…: coverage-guided fuzzing of the loader, the rule parser and the expressions
	@$(PIP) -e '.[fuzz]' || echo 'fuzz    pip has no atheris for this Python and platform'
	@python tests/fuzz/run.py --seconds $(SECONDS) --seed $(SEED)
fuzz-properties: $(DEV) tools-all ## property tests with many new random cases
	HYPOTHESIS_PROFILE=fuzz pytest -q -n $(JOBS) -m hypothesis $(ARGS)
matrix: $(DEV) tools-all ## the examples on every Helm, Kubernetes release and Python: a table
	@python tests/matrix/run.py
field-cases: $(DEV) tools-all ## cases that people reported, a line each
	@python tests/fieldcases/run.py
bench: $(DEV) tools ## how long things take beside others; ARGS=--write makes BENCHMARKS.md
	@$(TOOL)/bench.py $(ARGS)

golden: $(DEV) tools-all ## the rendered examples in tests/golden, made anew
	@PYTHONPATH=tests python tests/golden/cases.py --write
schema: $(READY) ## all that is made from our own data: schemas, merge keys, tables
	$(TOOL)/schemas.py
	$(TOOL)/merge_keys.py
	$(TOOL)/chart_docs.py
overlays: $(DEV) tools ## Kustomize components and overlays, values of chart tests, made anew
	$(TOOL)/merge_keys.py
	$(TOOL)/overlays.py
docs: schema tools ## the reference tables and the console blocks of the READMEs, made anew
	@python tests/console.py --write
engine-catalog: $(READY) ## ENGINE=… VERSION=…: the flags of one engine release
	$(TOOL)/engine_catalog.py --engine $(ENGINE) --version $(VERSION)
engine-catalogs: $(READY) ## the flags of every pinned release that has no catalog yet
	$(TOOL)/engine_catalog.py --missing
releases: $(READY) ## Dynamo's releases and their engines, from the package index
	$(TOOL)/releases.py

package: $(DEV) tools ## wheel and chart archives in dist/
	pip wheel -q --no-deps -w dist .
	for chart in common dynamo llm-d-modelservice fpm lws; do .tools/bin/helm package -d dist charts/$$chart; done
clean: ## remove all that was made, but .venv and .tools
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
