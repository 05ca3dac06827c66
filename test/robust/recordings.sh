#!/bin/sh
# A recording whose writer is killed at any moment loses at most the frame being written; one that is cut or damaged
# gives a message, or frames that are exact. The seed of the first case is printed; robust_recordings takes it.
# short form: 25 s
. "$(dirname "$0")/common"
seed=${SEED:-$(date +%s)}

# part HOW SCENE SECONDS
part() {
    command="$build/test/robust_recordings $1 $3 $seed scenes/$2.yaml $work/recording.thenar"
    echo "$command"
    $command >"$work/out" || true
    sed '$d' "$work/out"
    count=$(tail -n 1 "$work/out" | cut -s -f 1)
    wrong=$(tail -n 1 "$work/out" | cut -s -f 2)
    if [ -n "$wrong" ]; then
        cases=$((cases + count))
        failures=$((failures + wrong))
    else
        failed "it did not end: $command"
    fi
}
share=$((seconds / 6))
[ "$share" -ge 1 ] || share=1
part kill beam-soft $share
part kill pinch $share
part kill rigid-tumble $share
part damage beam-soft $share
part damage pinch $share
finish "recordings survive kill -9, cuts and damage"
