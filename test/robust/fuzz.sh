#!/usr/bin/env bash
# Every reader against inputs that libFuzzer makes up, under the address and undefined behaviour sanitizers: no crash, no
# leak, no input that takes more than 5 s or 512 MB. Builds the preset fuzz if it is not there.
# usage: test/robust/fuzz.sh [--seconds N] [READER...]      N: in all (default 240), a reader a processor at a time;
#                                                            without names all readers, of up to 240 s none gets more than 20
# What is found is left in build/fuzz/findings; put it into test/fuzz/found/READER to have it tried by `make test`.
# short form: 240 s
set -eu
cd "$(dirname "$0")/../.."
promise='readers survive any input'
seconds=240
if [ "${1:-}" = --seconds ]; then
    seconds=${2:?--seconds needs a number}
    shift 2
fi
folder=build/fuzz
findings=$folder/findings
mkdir -p "$findings"
{
    tools/setup fuzz
    cmake --preset fuzz && cmake --build --preset fuzz --target fuzz
} >"$folder/build.log" 2>&1 || {
    tail -20 "$folder/build.log"
    printf '%s\t0\t1\n' "$promise"
    exit 1
}
most=$seconds
if [ $# -eq 0 ]; then
    set -- $(find "$folder/test/fuzz" -maxdepth 1 -name 'fuzz_*' -type f -perm -u+x | sed 's|.*/fuzz_||' | sort)
    [ "$seconds" -gt 240 ] || most=20
fi
processes=$(($(nproc) < $# ? $(nproc) : $#))
each=$((seconds * processes / $#))
each=$((each > most ? most : each < 1 ? 1 : each))

# fuzz READER: a row of the table, which is left in $folder/READER.row too.
fuzz() {
    local reader=$1 log=$folder/$1.log found=0 slow cpu runs last
    mkdir -p "$folder/corpus/$reader"
    set -- -dict=test/fuzz/dictionary/"$reader".dict "$folder/corpus/$reader"
    for kept in corpus found; do
        [ -d "test/fuzz/$kept/$reader" ] && set -- "$@" "test/fuzz/$kept/$reader"
    done
    cpu=$(TIMEFORMAT='%U %S' && { time nice -n 10 "$folder/test/fuzz/fuzz_$reader" -max_total_time="$each" -timeout=5 \
        -rss_limit_mb=512 -malloc_limit_mb=256 -print_final_stats=1 -artifact_prefix="$findings/$reader-" \
        "$@" >"$log" 2>&1; } 2>&1) || found=1
    # libFuzzer's clock goes on while others have the processor: what counts is 5 s of our own.
    if [ "$found" -ne 0 ] && grep -qa 'libFuzzer: timeout' "$log"; then
        slow=$(sed -n 's/.*Test unit written to //p' "$log" | tail -1)
        (ulimit -t 5 && "$folder/test/fuzz/fuzz_$reader" -timeout=600 "$slow") >>"$log" 2>&1 && found=0 && rm -f "$slow"
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    last=$(grep -a 'cov: ' "$log" | tail -1)
    field() { echo "$last" | sed -n "s/.*$1: \([0-9]*\).*/\1/p"; }
    printf '%s\t%.0f\t%s\t%s\t%s\t%s\t%s\n' "$reader" "$(echo "$cpu" | awk '{ print $1 + $2 }')" "${runs:-0}" "$(field cov)" \
        "$(field ft)" "$(field corp)" "$found" | tee "$folder/$reader.row"
    [ "$found" -eq 0 ] || {
        grep -a -E 'ERROR|runtime error|does not hold|Test unit written' "$log" | head -5
        echo "again: $folder/test/fuzz/fuzz_$reader FILE      (FILE: what was written last to $findings)"
    }
}

echo "$# readers, $processes at a time, $each s each"
printf 'reader\tcpu s\tinputs\tedges\tfeatures\tkept\tfindings\n'
rm -f "$folder"/*.row
for reader in "$@"; do
    [ "$(jobs -rp | wc -l)" -lt "$processes" ] || wait -n || true
    fuzz "$reader" &
done
wait
# A reader without a row is one whose fuzzing ended in a way that none should.
cat "$folder"/*.row | awk -F '\t' -v promise="$promise" -v readers=$# '
    { tried += $3; failures += $7 > 0 }
    END { failures += readers - NR; printf "%s\t%.0f\t%d\n", promise, tried, failures; exit failures > 0 }'
