#!/usr/bin/env bash
# Memory: no step of any scene allocates (step_allocations), and memory that runs out while a scene is loaded and a
# simulation made of it is an error that leaks nothing (failing_scenes; not under a sanitizer, which wants a malloc of
# its own). With valgrind installed (tools/setup robust), the command runs some steps of scenes of each kind under it: nothing
# is read or written that is not there or was never written, and nothing is left behind. For that it is built once more,
# as released but for x86-64-v3, since valgrind knows no AVX-512.
# memory.sh [--seconds N]; the last line is promise, cases, failures, with tabs between.
# short form: 60 s
build=${THENAR_BUILD:-build}
cd "$(dirname "$0")/../.." || exit 1
seconds=60
[ "$1" = --seconds ] && seconds=$2
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# What the command does under valgrind; the last line as above.
under_valgrind() {
    if ! command -v valgrind >/dev/null; then
        echo "left out: valgrind is not installed; tools/setup robust installs it"
        printf 'valgrind\t0\t0\n'
        return
    fi
    if ! { cmake --preset valgrind && cmake --build --preset valgrind --target thenar_command; } >build/valgrind.log 2>&1; then
        tail -n 20 build/valgrind.log
        printf 'valgrind\t1\t1\n'
        return
    fi
    local cases=0 failures=0 run scene steps threads runs=(rigid-tumble:30:1 beam-limited:30:2 pinch:30:1 finger-press:3:2)
    [ "$seconds" -ge 300 ] && runs+=(hand-free:3:1) # whose mesh alone takes a minute there
    for run in "${runs[@]}"; do
        IFS=: read -r scene steps threads <<<"$run"
        set -- valgrind -q --error-exitcode=9 --leak-check=full build/valgrind/thenar run "scenes/$scene.yaml" \
            --steps "$steps" --threads "$threads"
        cases=$((cases + 1))
        "$@" >build/valgrind.log 2>&1 && continue
        failures=$((failures + 1))
        tail -n 40 build/valgrind.log
        echo "FAILED: $*"
    done
    echo "valgrind: $cases runs, $failures with errors or leaks"
    printf 'valgrind\t%d\t%d\n' "$cases" "$failures"
}

# sum NAME: of the last lines that programs leave.
sum() {
    awk -F'\t' -v name="$1" 'NF == 3 {cases += $2; failures += $3}
        END {printf "%s\t%d\t%d\n", name, cases, failures; exit failures > 0}'
}

start=$SECONDS
allocations=$(printf '%s\n' scenes/*.yaml | xargs -n 1 -P "$(nproc)" "$build/test/robust_step_allocations" |
    tee /dev/stderr | sum "no allocation in a step")
under_valgrind >"$log" & # beside the rest, which takes one processor
# Of each kind the quickest to load; with time enough hands too, then all of them.
kinds=(scenes/{beam-limited,rigid-tumble,pinch,finger-press,haptic-finger,hand-free}.yaml)
[ "$seconds" -ge 300 ] && kinds+=(scenes/{hand-phalanges,tactile-flat,soft-ball-hand}.yaml)
[ "$seconds" -ge 900 ] && kinds=(scenes/*.yaml)
left=$((seconds - (SECONDS - start)))
failing=$("$build/test/robust_failing_scenes" --seconds $((left > 15 ? left : 15)) "${kinds[@]}" 2>/dev/null |
    tee /dev/stderr | tail -1)
wait
cat "$log"
{
    printf '%s\n%s\n' "$allocations" "$failing"
    tail -n 1 "$log"
} | sum memory
