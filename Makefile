# Each target only calls `inventory` or a tool, so the same works without make. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
# Two processes run the tests, file by file. One of them takes all tests of the shared stack
# (tests/one_stack.py).
BOTH_CORES := --numprocesses 2 --dist loadscope
# Let Python store bytecode, even if this machine forbids it: tests start hundreds of processes, and
# each would compile its imports again.
unexport PYTHONDONTWRITEBYTECODE
PACKAGES := inventory cdc ledger streams analytics webui bench deploy
# All packages of tests, except those that need services or downloaded files.
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
demo: install ## start a stack with a sample retailer and live trading; print its addresses and logins
	$(BIN)/inventory demo

.PHONY: test
test: services ## all tests but house rules and long ones: units, Postgres, stacks, browser, Spark
	$(BIN)/python -m pytest -p no:cacheprovider -m "not soak" --ignore tests/house $(BOTH_CORES)

.PHONY: soak
soak: services ## all tests, before a release: with each fault, planted defects and branch coverage
	HYPOTHESIS_PROFILE=long $(BIN)/python -m pytest -p no:cacheprovider --gates all $(BOTH_CORES)

# Compile first: otherwise hundreds of processes would compile their imports. Tests that copy the tree
# also copy the bytecode.
.PHONY: services
services: install
	$(BIN)/inventory fetch
	$(BIN)/python -m deploy.artifacts.prerequisites chromium-headless-shell
	$(BIN)/python -m compileall -q -j 2 $(PACKAGES)

.PHONY: check
check: install ## format, lint, types, house rules, fast tests; starts no service, takes a minute or two
	$(MAKE) --no-print-directory --jobs 2 --output-sync=target check-sources check-tests

.PHONY: check-sources
check-sources: # runs at the same time as check-tests, so that it uses the second core
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy $(PACKAGES) tests

.PHONY: check-tests
check-tests:
	INVENTORY_EXPLAIN_SEEDS=20 INVENTORY_ORACLE_SEEDS=40 INVENTORY_SIMULATION_SEEDS=300 $(BIN)/python -m pytest -q -p no:cacheprovider --gates rules -m "not engines and not soak" $(BOTH_CORES) $(FAST)

.PHONY: faults
faults: install ## tests that kill services under load, and then compare the results with SQL
	$(BIN)/inventory fetch
	$(BIN)/python -m pytest -p no:cacheprovider tests/stack/test_faults.py tests/stack/test_lost_topics.py tests/stack/test_workers.py

.PHONY: bench
bench: install ## measure the time from a commit to the worker's state and to the read model
	$(BIN)/inventory bench pipeline

.PHONY: docs
docs: install ## write the generated files: docker-compose.yml and the pages of docs/reference
	$(BIN)/python -m deploy.compose
	$(BIN)/python -m deploy.reference

.PHONY: lock
lock: install ## resolve the requirements again, and write them with versions and hashes
	$(BIN)/python -m deploy.lock

.PHONY: artifacts-list
artifacts-list: install ## fetch the JVM parts of pom.xml, and write the list of their SHA-256 sums
	$(BIN)/python -m deploy.artifacts

.PHONY: down
down: ## stop the stack; data stays
	$(BIN)/inventory down

.PHONY: clean
clean: ## stop the stack, and delete its data and the caches of the tools
	-test -x $(BIN)/inventory && $(BIN)/inventory reset --yes
	rm -rf build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
