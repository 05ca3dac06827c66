#!/bin/sh
# Every reader against inputs that libFuzzer makes up, under the address and undefined behaviour sanitizers: no crash, no
# leak, no input that takes more than 5 s or 512 MB. Builds the preset fuzz if it is not there.
# usage: test/robust/fuzz.sh [--seconds N] [READER...]      N: in all (default 60), 20 a reader at most unless more than
#                                                            400 are given; without names, all readers
# What is found is left in build/fuzz/findings; put it into test/fuzz/found/READER to have it tried by `make test`.
set -eu
cd "$(dirname "$0")/../.."
seconds=60
if [ "${1:-}" = --seconds ]; then
    seconds=$2
    shift 2
fi
folder=build/fuzz
{
    tools/setup fuzz
    cmake --preset fuzz && cmake --build --preset fuzz --target fuzz
} >build/fuzz.log 2>&1 || {
    tail -20 build/fuzz.log
    printf 'readers survive any input\t0\t1\n'
    exit 1
}
[ $# -gt 0 ] || set -- $(find "$folder/test/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x | sed 's|.*/fuzz_||' | sort)
each=$((seconds / $#))
[ "$seconds" -gt 400 ] || [ "$each" -le 20 ] || each=20
[ "$each" -ge 1 ] || each=1
findings=$folder/findings
mkdir -p "$findings"

echo "$# readers, $each s each"
printf 'reader\texecutions\tedges\tfeatures\tinputs\tfindings\n'
total=0
failures=0
for reader in "$@"; do
    mkdir -p "$folder/corpus/$reader"
    set -- -dict=test/fuzz/dictionary/"$reader".dict "$folder/corpus/$reader"
    for kept in corpus found; do
        [ -d "test/fuzz/$kept/$reader" ] && set -- "$@" "test/fuzz/$kept/$reader"
    done
    log=$folder/$reader.log
    found=0
    nice -n 10 "$folder/test/fuzz/fuzz_$reader" -max_total_time="$each" -timeout=5 -rss_limit_mb=512 -malloc_limit_mb=256 \
        -print_final_stats=1 -verbosity=1 -artifact_prefix="$findings/$reader-" "$@" >"$log" 2>&1 || found=1
    # libFuzzer's clock goes on while others have the processor: what counts is 5 s of our own.
    if [ "$found" -ne 0 ] && grep -qa 'libFuzzer: timeout' "$log"; then
        slow=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        (ulimit -t 5 && "$folder/test/fuzz/fuzz_$reader" -timeout=600 "$slow") >>"$log" 2>&1 && found=0 && rm -f "$slow"
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    last=$(grep -a 'cov: ' "$log" | tail -1)
    field() { echo "$last" | sed -n "s/.*$1: \([0-9]*\).*/\1/p"; }
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$reader" "${runs:-0}" "$(field cov)" "$(field ft)" "$(field corp)" "$found"
    total=$((total + ${runs:-0}))
    if [ "$found" -ne 0 ]; then
        failures=$((failures + 1))
        grep -a -E 'ERROR|runtime error|does not hold|Test unit written' "$log" | head -5
        echo "again: $folder/test/fuzz/fuzz_$reader FILE      (FILE: what was written last to $findings)"
    fi
done
printf 'readers survive any input\t%s\t%s\n' "$total" "$failures"
[ "$failures" -eq 0 ]
