#!/bin/sh
# Sixteen simulations of one model in sixteen threads end in the same states as one after the other; with the thread
# sanitizer too where there is such a build (build/tsan).
# short form: 15 s
. "$(dirname "$0")/common"

# part PROGRAM STEPS SCENE...
part() {
    command="$1 16 $2"
    shift 2
    for scene in "$@"; do command="$command scenes/$scene.yaml"; done
    echo "$command"
    TSAN_OPTIONS="suppressions=$PWD/test/tsan.supp halt_on_error=1" $command >"$work/out" 2>"$work/err" || true
    sed '$d' "$work/out"
    head -n 20 "$work/err"
    count=$(tail -n 1 "$work/out" | cut -s -f 1)
    wrong=$(tail -n 1 "$work/out" | cut -s -f 2)
    if [ -n "$wrong" ] && [ ! -s "$work/err" ]; then
        cases=$((cases + count))
        failures=$((failures + wrong))
    else
        failed "it did not end well: $command"
    fi
}
if [ -x "$build/tsan/test/robust_parallel" ]; then
    part "$build/tsan/test/robust_parallel" 5 pinch beam-limited
else
    echo "left out: there is no $build/tsan/test/robust_parallel; cmake --preset tsan && cmake --build --preset tsan"
fi
part "$build/test/robust_parallel" 20 pinch hand-fist soft-ball rigid-tumble beam-limited
for scene in scenes/*.yaml; do
    late && break
    part "$build/test/robust_parallel" $((seconds >= 1800 ? 200 : 20)) "$(basename "$scene" .yaml)"
done
finish "sixteen simulations side by side are those one after the other"
