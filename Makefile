# crank: short names for what meson, ninja and the scripts in tools/ do.
#   make             build/crank
#   make deps        install what building and testing need (Debian packages; sudo when not root)
#   make quickstart  build, make data, train, evaluate, export, predict
#   make test        the quick tier of tests; make test-full: sanitizers, valgrind, fuzzing, linters too
#   make test-faults   train, export and predict with every system call and allocation failing (FAULTS=all: each one)
#   make test-extend   add a toy of every kind to a copy of the tree, each as one file and two lines
#   make test-arrow    Arrow files beside DuckDB, apache-arrow and arrow-rs (the same npm packages)
#   make test-parquet  Parquet files beside DuckDB, parquet-wasm and hyparquet (installs them with npm)
#   make test-kube     manifests of crank submit with a real kube-apiserver, which is compiled first (7 minutes of one core; kept in BUILD)
#   make test-stores   S3 beside s3rver, and trainings on every stand-in of a store with random faults (SECONDS=N)
#   make test-board    the page of crank board in Chromium (installs playwright-core with npm)
#   make page        fetch the chart library of crank board with npm and build the page into crank
#   make bench       rows per second on this machine
#   make install     PREFIX (/usr/local) and DESTDIR as usual
#   make deb         a Debian package of it: out/crank_VERSION_ARCH.deb
#   make static      a tarball that needs nothing of the machine but its kernel: out/crank-VERSION-linux-x86_64.tar.gz
#   make test-static unpack it in an empty folder system, and run it with the system calls of an old kernel (needs root)
BUILD  ?= build
PREFIX ?= /usr/local
MESON  ?= meson
# quiet on a terminal, plain lines in a log
NINJA  ?= ninja

all: $(BUILD)/build.ninja
	@$(NINJA) -C $(BUILD) crank

$(BUILD)/build.ninja:
	@sh tools/deps.sh build
	@sh tools/page.sh || true
	@$(MESON) setup $(BUILD) --prefix $(PREFIX) $(SETUP)

deps:
	@sh tools/deps.sh build test

quickstart:
	@sh tools/quickstart.sh $(BUILD)

test:
	@sh tools/test.sh $(BUILD)

test-full:
	@sh tools/test_full.sh $(BUILD)

test-faults:
	@sh tools/test_faults.sh $(BUILD) $(FAULTS)

test-extend:
	@sh tools/test_extend.sh

test-arrow:
	@sh tests/arrow/run.sh $(BUILD)

test-parquet:
	@sh tests/parquet/run.sh $(BUILD)

test-kube: all
	@sh tests/kube/run.sh $(BUILD)

test-stores:
	@sh tests/stores/run.sh $(BUILD) $(SECONDS)

test-board:
	@sh tests/browser/run.sh $(BUILD)

page: $(BUILD)/build.ninja
	@sh tools/page.sh $(BUILD)
	@$(NINJA) -C $(BUILD) crank

bench: all
	@sh tools/bench.sh $(BUILD)

install: all
	@DESTDIR="$(DESTDIR)" sh tools/install.sh $(BUILD) $(PREFIX)

deb: all
	@sh tools/deb.sh $(BUILD) out

static: all
	@sh tools/static.sh $(BUILD) out

test-static: static
	@sh tests/static/run.sh $(BUILD) out

format:
	@find src tests -name '*.[ch]' -exec clang-format -i {} +

clean:
	@rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-fuzz $(BUILD)-clang out/quickstart out/bench

.PHONY: all deps quickstart test test-full test-faults test-extend test-arrow test-parquet test-kube test-stores test-board page bench install deb static test-static format clean
