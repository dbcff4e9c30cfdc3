# The commands for this repository. They need Python 3.11 or newer and make; the first run also needs the package index.
# Everything else is installed into .venv. To choose the interpreter: make test PYTHON=/path/to/python3.12
# (Compatible with GNU make 3.81, which macOS ships.)

PYTHON ?=
BIN := .venv/bin
export PYTHON

.DEFAULT_GOAL := help
.PHONY: help setup setup-bench packages demo test check format generate picture bench bench-quick soak weight mutants requirements pins clean

help: ## this list
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

setup: ## create .venv with the pinned dependencies (the other targets do this too)
	@tools/setup dev

packages: ## install the system packages that the tests need (as root on Debian; elsewhere list them)
	@tools/packages

setup-bench: setup
	@tools/setup bench

demo: setup ## watch four agents build a program, in about a minute (SHOW=orchestrator, gsd: agents that know only files; SHOW=specflow: waves of agents; SHOW=rspec: tests for Ruby)
	@$(BIN)/python demo/run.py $(if $(SHOW),--show $(SHOW))

test: packages check ## run all checks, then the whole test suite
	@$(BIN)/python -m pytest -n auto --maxprocesses=4 --dist=loadscope --no-loadscope-reorder --session-timeout=3600
	@$(BIN)/python tools/requirements.py

check: setup ## check format, lint, types, layers, weights and generated files; changes nothing
	@tools/check

format: setup ## format the code, and fix what the linter can fix safely
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --fix --quiet . || true

generate: setup ## write the generated files (reference, tables, diagrams)
	@$(BIN)/python tools/generate.py

picture: setup ## draw the picture of the README again
	@$(BIN)/python tools/picture.py

bench: setup-bench ## run all benchmarks; writes benchmarks/results.json
	@$(BIN)/python benchmarks/run.py

bench-quick: setup-bench ## run smaller benchmarks, within a minute
	@$(BIN)/python benchmarks/run.py --quick

soak: setup ## run the long tests: hundreds of kills, thousands of random histories
	@$(BIN)/python -m pytest -m soak --timeout=1800 --hypothesis-profile=soak

weight: setup ## statements per room of src and tests, and their ceilings (BASE=rev: and the change since)
	@$(BIN)/python tools/weight.py $(if $(BASE),--base $(BASE))

mutants: setup ## run 80 small faults of the core and the engine against their tests (about half an hour)
	@$(BIN)/python tools/mutants.py

requirements: setup ## per protocol: what the last whole test run proved (LIST=open names them; FROM=DIR compares)
	@$(BIN)/python tools/requirements.py $(if $(LIST),--list $(LIST)) $(if $(FROM),--from $(FROM))

pins: setup ## update the versions in requirements/*.txt
	@tools/pins

clean: ## remove everything that make created
	@rm -rf .venv build dist
	@find . -type d \( -name __pycache__ -o -name '.*_cache' -o -name .hypothesis \) -prune -exec rm -rf {} +
