#!/usr/bin/env bash
# Bad numbers into every input of the API (test/test_numbers.c and test/numbers), those of hands too, all of them.
# numbers.sh [--seconds N]; the last line is promise, cases, failures, with tabs between.
# short form: 15 s
build=${THENAR_BUILD:-build}
seconds=60
[ "$1" = --seconds ] && seconds=$2
echo "bad numbers into every function: NUMBERS_ALL=1 $build/test/test_numbers; one row: NUMBERS_ONLY=add_hand"
all=
[ "$seconds" -ge 300 ] && all=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT
NUMBERS_ALL=$all "$build/test/test_numbers" 2>&1 | tee "$log"
failed=$((PIPESTATUS[0] != 0))
tried=$(awk '$3 == "tried," {sum += $2} END {print sum + 0}' "$log")
broken=$(grep -c '\] = [^:]*: ' "$log")
[ "$failed" -eq 1 ] && [ "$broken" -eq 0 ] && broken=1
[ "$failed" -eq 0 ] && broken=0
printf 'bad numbers\t%d\t%d\n' "$tried" "$broken"
[ "$broken" -eq 0 ]
