# Thin on purpose: each target is one line of `inventory` or of a tool. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
# Shared out file by file; one process takes all tests of the shared stack: tests/one_stack.py.
BOTH_CORES := --numprocesses 2 --dist loadscope
# Bytecode is kept even where a machine says otherwise: thousands of tests start hundreds of processes.
unexport PYTHONDONTWRITEBYTECODE
PACKAGES := inventory cdc ledger streams analytics webui bench deploy
# Every package of tests but those that need services or fetched files.
FAST := $(filter-out tests/ledger/ tests/stack/ tests/artifacts/,$(dir $(wildcard tests/*/__init__.py)))

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: install
install: .venv/.installed ## the virtual environment, from hash-locked requirements

.venv/.installed: requirements/dev.txt requirements/installer.txt pyproject.toml
	$(PYTHON) -m deploy.artifacts.install
	touch $@

.PHONY: demo
demo: install ## everything from a fresh clone: stack, retailer, live trading, one watched sale, addresses
	$(BIN)/inventory demo

.PHONY: test
test: services ## units, Postgres, stacks with kills, browser, Spark; house rules are in `make check`
	$(BIN)/python -m pytest -p no:cacheprovider -m "not soak" --ignore tests/house $(BOTH_CORES)

.PHONY: soak
soak: services ## everything, before a release: each fault, planted defects, long draws, branch coverage
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -p no:cacheprovider --gates all $(BOTH_CORES)

# Compiled first: hundreds of processes would do it again, and a copy of the tree takes it along.
.PHONY: services
services: install
	$(BIN)/inventory fetch
	$(BIN)/python -m deploy.artifacts.prerequisites chromium
	$(BIN)/python -m compileall -q -j 2 $(PACKAGES)

.PHONY: check
check: install ## format, lint, types, every house rule, fast tests; no service, a minute or two
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-sources check-tests

.PHONY: check-sources
check-sources: # beside the tests, so that both cores have something to do
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(PACKAGES) tests

.PHONY: check-tests
check-tests:
	INVENTORY_EXPLAIN_SEEDS=20 INVENTORY_ORACLE_SEEDS=40 INVENTORY_SIMULATION_SEEDS=300 $(BIN)/python -m pytest -q -p no:cacheprovider --gates rules -m "not engines and not soak" $(BOTH_CORES) $(FAST)

.PHONY: faults
faults: install ## kill real processes under load and compare with SQL
	$(BIN)/inventory fetch
	$(BIN)/python -m pytest -p no:cacheprovider tests/stack/test_faults.py tests/stack/test_lost_topics.py tests/stack/test_workers.py

.PHONY: bench
bench: install ## commit to acknowledged state and to the read model
	$(BIN)/inventory bench pipeline

.PHONY: docs
docs: install ## write the generated files: docker-compose.yml, pages of docs/reference
	$(BIN)/python -m deploy.compose
	$(BIN)/python -m deploy.reference

.PHONY: lock
lock: install ## resolve the requirements again and write them with hashes
	$(BIN)/python -m deploy.lock

.PHONY: artifacts-list
artifacts-list: install ## fetch the JVM parts as pom.xml says and write their sha256 list
	$(BIN)/python -m deploy.artifacts

.PHONY: down
down: ## stop the stack; data stays
	$(BIN)/inventory down

.PHONY: clean
clean: ## stop the stack, delete its data and what the tools cached
	-test -x $(BIN)/inventory && $(BIN)/inventory reset --yes
	rm -rf build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
