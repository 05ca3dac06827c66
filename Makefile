# Two commands do everything: `make demo` and `make test`. Each sets the machine up first (tools/setup).
.PHONY: all build setup demo docs test test-quick check-robust golden clean format

all: build

setup:
	@tools/setup build

build: setup
	@cmake --preset release >build-configure.log 2>&1 || { cat build-configure.log; exit 1; }
	@rm -f build-configure.log
	@cmake --build --preset release

demo: build
	@tools/demo

test:
	@tools/setup build test
	@tools/test

test-quick: build
	@ctest --preset release

# What docs/reliability.md promises, tried out within ten minutes; LONG=SECONDS for as long as it is told. The first time
# the library is also built with gcc, for debugging, with the thread sanitizer, for fuzzing and for valgrind.
check-robust: build
	@tools/setup build test fuzz robust
	@for preset in gcc debug tsan fuzz valgrind; do cmake --preset $$preset >/dev/null || exit 1; done
	@cmake --build --preset gcc --target robust_hashes
	@cmake --build --preset debug --target robust_hashes
	@cmake --build --preset tsan --target robust_parallel thenar_command
	@cmake --build --preset fuzz --target fuzz
	@cmake --build --preset valgrind --target thenar_command
	@tools/check-robust $(if $(LONG),--long $(LONG))

# The state hashes that the determinism check compares with, after a change that is meant to change them.
golden: build
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
