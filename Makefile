# `make demo` builds Thenar and shows it; `make test` tests it. Each first installs the packages that are missing
# (tools/setup, with sudo).
#   ARCH=native   compile for this machine rather than for x86-64-v3 or armv8-a: faster with AVX-512
#   CC=gcc        another compiler than clang
#   WERROR=1      developers' warnings, as errors
.PHONY: all build setup demo docs test test-quick test-all test-rest check-robust golden clean format

jobs := $(shell nproc)
ifneq ($(origin CC),default)
export CC
endif
ctest := cd build && ctest --output-on-failure -j $(jobs)
options := $(if $(ARCH),-DTHENAR_ARCH=$(ARCH)) $(if $(WERROR),-DTHENAR_WERROR=$(WERROR)) \
    $(if $(filter default,$(origin CC)),,-DCMAKE_C_COMPILER=$(CC))

all: build

setup:
	@tools/setup build

build: setup
	@tools/configure $(options)
	@cmake --build build

demo: build
	@tools/demo

# The release tests in the same build folder, without the long ones.
test:
	@tools/setup build test
	@tools/configure $(options)
	@cmake --build build --target all $(patsubst %,tests_%,quick medium heavy fuzz outside browser)
	@$(ctest) -LE '^long$$'

# The tests that take at most about two seconds each.
test-quick:
	@tools/setup build test
	@tools/configure $(options)
	@cmake --build build --target tests_quick
	@$(ctest) -L '^quick$$'

# Everything: the long ones too, and with gcc, under the sanitizers and for aarch64; tests with sweeps run all of them.
test-all: export THENAR_TEST_FULL = 1
test-all: test test-rest

test-rest:
	@cmake --build build --target tests
	@$(ctest) -L '^long$$'
	@tools/test tsan aarch64 gcc asan

# Checks the promises of docs/reliability.md within ten minutes, or LONG=SECONDS. The first time it also builds with gcc, for
# debugging, with the thread sanitizer, for fuzzing and for valgrind.
check-robust: build
	@tools/setup build test fuzz robust
	@cmake --build build --target tests
	@for preset in gcc debug tsan fuzz valgrind; do cmake --preset $$preset >/dev/null || exit 1; done
	@cmake --build --preset gcc --target robust_hashes
	@cmake --build --preset debug --target robust_hashes
	@cmake --build --preset tsan --target robust_parallel thenar_command
	@cmake --build --preset fuzz --target fuzz
	@cmake --build --preset valgrind --target thenar_command
	@tools/check-robust $(if $(LONG),--long $(LONG))

# The state hashes that the determinism check compares with, after a change that is meant to change them.
golden: build
	@tools/setup test
	@tools/golden

# The API reference, from the headers: build/api/html/index.html.
docs:
	@tools/setup docs
	@tools/docs

format:
	@tools/setup develop
	@git ls-files '*.c' '*.h' | xargs clang-format -i

clean:
	rm -rf build out
