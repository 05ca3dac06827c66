#!/usr/bin/env bash
# Random worlds (test/robust/random_scenes.c): those that failed once, then new ones from a seed that is printed.
# random.sh [--seconds N] [--seed N]; the last line is promise, cases, failures, with tabs between.
# short form: 30 s
build=${THENAR_BUILD:-build}
here=$(dirname "$0")
seconds=60 seed=$((RANDOM * 32768 + RANDOM + 1000))
while [ $# -gt 1 ]; do
    case $1 in
        --seconds) seconds=$2 ;;
        --seed) seed=$2 ;;
    esac
    shift 2
done
echo "random worlds: first those of $here/random_seeds.txt, then those from seed $seed on"
start=$SECONDS
kept=$("$build/test/robust_random_scenes" --replay "$here/random_seeds.txt" --seconds $((seconds / 2)) | tee /dev/stderr | tail -1)
left=$((seconds - (SECONDS - start)))
fresh=$("$build/test/robust_random_scenes" --seed "$seed" --count 1000000 --seconds "$left" | tee /dev/stderr | tail -1)
printf '%s\n%s\n' "$kept" "$fresh" |
    awk -F'\t' '{cases += $2; failures += $3} END {printf "random scenes\t%d\t%d\n", cases, failures; exit failures > 0}'
