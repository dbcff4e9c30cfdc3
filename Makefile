# Everything a person does with this tree. Needs Python 3.11 or newer, make, and the package index at the first run;
# the rest goes into .venv. Another interpreter: make test PYTHON=/path/to/python3.12
# (Written for GNU make 3.81, the one that macOS ships.)

PYTHON ?=
BIN := .venv/bin
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help setup setup-bench packages demo test check format generate bench bench-quick soak requirements pins clean

help: ## this list
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## make .venv with the pinned dependencies (the other targets do it by themselves)
	@tools/setup dev

packages: ## install the system packages that only tests need, where this may be done
	@tools/packages

setup-bench: setup
	@tools/setup bench

demo: setup ## see the main job done, in about a minute
	@$(BIN)/python demo/run.py

test: packages check ## all checks, then the whole test suite
	@$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist=loadscope --no-loadscope-reorder --session-timeout=3600
	@$(BIN)/python tools/requirements.py

check: setup ## format, lint, types, layers, generated files; changes nothing
	@tools/check

format: setup ## put the code into its one format, and fix what the linter can fix safely
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix --quiet . || true

generate: setup ## write the files that are made from others (reference, tables, diagrams)
	@$(BIN)/python tools/generate.py

bench: setup-bench ## all measurements, a table, and benchmarks/results.json
	@$(BIN)/python benchmarks/run.py

bench-quick: setup-bench ## the same within a minute
	@$(BIN)/python benchmarks/run.py --quick

soak: setup ## the long tests: hundreds of kills, thousands of random histories
	@$(BIN)/python -m pytest -m soak --timeout=1800 --hypothesis-profile=soak

requirements: setup ## per protocol: what the last whole test run proved (LIST=open names them; FROM=DIR compares)
	@$(BIN)/python tools/requirements.py $(if $(LIST),--list $(LIST)) $(if $(FROM),--from $(FROM))

pins: setup ## choose the versions in requirements/*.txt anew
	@tools/pins

clean: ## remove everything that make made
	@rm -rf .venv build dist
	@find . -type d \( -name __pycache__ -o -name '.*_cache' -o -name .hypothesis \) -prune -exec rm -rf {} +
