# `make demo` and `make test` each set up what they need: python3 (>= 3.11) and make are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test test-slow judge lint types tables messages docs bench bench-audit bench-audit-peers bench-optimal bench-ladder bench-large bench-methods bench-respondents clean

$(VENV)/run.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/dev.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@ $(VENV)/run.stamp

$(VENV)/bench.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench]'
	@touch $@ $(VENV)/dev.stamp $(VENV)/run.stamp

$(VENV)/slow.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,dask,tauargus]'
	@touch $@ $(VENV)/dev.stamp $(VENV)/run.stamp

$(VENV)/docs.stamp: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	@touch $@ $(VENV)/run.stamp

demo: $(VENV)/run.stamp  ## the whole job on a built-in synthetic survey
	$(BIN)/discreet demo --out demo-output

test: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -n auto --dist worksteal  # neighbours stay together, with what they share

test-slow: $(VENV)/slow.stamp
	$(BIN)/python -m pytest -m slow

judge: $(VENV)/dev.stamp  ## make judge JOBS=10000 SEED=0: random jobs, judged from what they write; takes hours
	$(BIN)/python -m tests.oracles --jobs $(or $(JOBS),10000) --seed $(or $(SEED),0) --workers $(or $(WORKERS),2)

lint: $(VENV)/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev.stamp
	$(BIN)/mypy

messages: $(VENV)/dev.stamp  ## runs the tests, and lists the messages that none of them shows
	$(BIN)/python -m tests.messages -n auto --dist worksteal

tables: $(VENV)/run.stamp  ## writes options of methods and parameters of rules into docs/reference
	$(BIN)/python docs_tables.py

docs: $(VENV)/docs.stamp  ## the documentation site, into site/; warnings are errors
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

bench: $(VENV)/dev.stamp  ## make bench BENCH_DATA=path/to/jj-folder
	$(BIN)/python -m benchmarks $(if $(BENCH_DATA),--data $(BENCH_DATA))

bench-audit: $(VENV)/bench.stamp  ## the auditor against one linprog a bound, and how its time grows
	$(BIN)/python -m benchmarks.audit

bench-audit-peers: $(VENV)/bench.stamp  ## make bench-audit-peers BENCH_DATA=path/to/jj-folder
	$(BIN)/python -m benchmarks.peers $(if $(BENCH_DATA),--data $(BENCH_DATA))

bench-optimal: $(VENV)/bench.stamp  ## make bench-optimal BENCH_DATA=path/to/jj-folder; takes hours
	$(BIN)/python -m benchmarks.optimal --peer $(if $(BENCH_DATA),--data $(BENCH_DATA))

bench-large: $(VENV)/bench.stamp  ## how time and memory of a protection grow with the table; takes long
	$(BIN)/python -m benchmarks.large

bench-ladder: $(VENV)/bench.stamp  ## make bench-ladder BENCH_DATA=path/to/folder; takes hours
	$(BIN)/python -m benchmarks.ladder --peer all $(if $(BENCH_DATA),--data $(BENCH_DATA))
	$(BIN)/python -m benchmarks.ladder --part files $(if $(BENCH_DATA),--data $(BENCH_DATA))

bench-respondents: $(VENV)/bench.stamp  ## make bench-respondents BENCH_DATA=path/to/folder; takes an hour
	$(BIN)/python -m benchmarks.respondents --peer $(if $(BENCH_DATA),--data $(BENCH_DATA))

bench-methods: $(VENV)/bench.stamp  ## make bench-methods BENCH_DATA=path/to/jj-folder; takes hours
	$(BIN)/python -m benchmarks.intervals $(if $(BENCH_DATA),--data $(BENCH_DATA),--instance hier3d_100k)
	$(BIN)/python -m benchmarks.rounding --relax $(if $(BENCH_DATA),--data $(BENCH_DATA))
	$(BIN)/python -m benchmarks.perturbation $(if $(BENCH_DATA),--data $(BENCH_DATA))
	$(BIN)/python -m benchmarks.counts

clean:
	rm -rf $(VENV) demo-output site .mypy_cache .pytest_cache .ruff_cache
