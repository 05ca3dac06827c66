#!/usr/bin/env bash
# Memory: no step of any scene allocates (step_allocations), and memory that runs out while a scene is loaded and a
# simulation made of it is an error that leaks nothing (failing_scenes; not under a sanitizer, which wants a malloc of
# its own).
# memory.sh [--seconds N]; the last line is promise, cases, failures, with tabs between.
build=${THENAR_BUILD:-build}
here=$(cd "$(dirname "$0")" && pwd)
scenes=$here/../../scenes
seconds=60
[ "$1" = --seconds ] && seconds=$2
# Of each kind one, the quickest to load; with time enough all of them.
kinds=(beam-limited rigid-tumble pinch finger-press hand-free hand-phalanges haptic-finger tactile-flat soft-ball-hand)
[ "$seconds" -ge 900 ] && mapfile -t kinds < <(cd "$scenes" && ls ./*.yaml | sed 's|^\./||; s|\.yaml$||')
for i in "${!kinds[@]}"; do kinds[i]=$scenes/${kinds[i]}.yaml; done
start=$SECONDS
first=$("$build/test/robust_step_allocations" --seconds "$seconds" "$scenes"/*.yaml | tee /dev/stderr | tail -1)
left=$((seconds - (SECONDS - start)))
[ "$left" -lt 15 ] && left=15
second=$("$build/test/robust_failing_scenes" --seconds "$left" "${kinds[@]}" 2>/dev/null | tee /dev/stderr | tail -1)
printf '%s\n%s\n' "$first" "$second" |
    awk -F'\t' '{cases += $2; failures += $3} END {printf "memory\t%d\t%d\n", cases, failures; exit failures > 0}'
