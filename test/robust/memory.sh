#!/usr/bin/env bash
# Memory: no step of any scene allocates (step_allocations), and memory that runs out while a scene is loaded and a
# simulation made of it is an error that leaks nothing (failing_scenes; not under a sanitizer, which wants a malloc of
# its own). With valgrind installed (tools/setup robust), the command runs some steps of scenes of each kind under it: nothing
# is read or written that is not there or was never written, and nothing is left behind. For that it is built once more,
# as released but for x86-64-v3, since valgrind knows no AVX-512.
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

third=$(printf 'valgrind\t0\t0')
checked=build/valgrind/thenar
cd "$here/../.." || exit 1
if ! command -v valgrind >/dev/null; then
    echo "left out: valgrind is not installed; tools/setup robust installs it" >&2
elif ! { cmake --preset valgrind && cmake --build --preset valgrind --target thenar; } >build/valgrind.log 2>&1; then
    tail -n 20 build/valgrind.log >&2
    third=$(printf 'valgrind\t1\t1')
else
    cases=0 failures=0
    runs=(rigid-tumble:30:1 beam-limited:30:2 pinch:30:1 finger-press:3:2)
    [ "$seconds" -ge 300 ] && runs+=(hand-free:3:1) # whose mesh alone takes a minute there
    for run in "${runs[@]}"; do
        IFS=: read -r scene steps threads <<<"$run"
        command=(valgrind -q --error-exitcode=9 --leak-check=full "$checked" run "scenes/$scene.yaml" --steps "$steps"
            --threads "$threads")
        cases=$((cases + 1))
        "${command[@]}" >build/valgrind.log 2>&1 && continue
        failures=$((failures + 1))
        tail -n 40 build/valgrind.log >&2
        echo "FAILED: ${command[*]}" >&2
    done
    echo "valgrind: $cases runs, $failures with errors or leaks" >&2
    third=$(printf 'valgrind\t%d\t%d' "$cases" "$failures")
fi
printf '%s\n%s\n%s\n' "$first" "$second" "$third" |
    awk -F'\t' '{cases += $2; failures += $3} END {printf "memory\t%d\t%d\n", cases, failures; exit failures > 0}'
