#!/bin/sh
# A state saved by one process and restored by another goes on bit for bit, with another number of threads.
# Short form: from step 20 to the golden hash of step 50, and a recorded run replayed, for as many scenes as there is
# time for. From --seconds 1800 on: every scene, from step 20 on for 1000 steps.
# short form: 30 s
. "$(dirname "$0")/common"
golden=test/robust/golden.tsv
long=0
[ "$seconds" -lt 1800 ] || long=1

hash_of() {
    sed -n 's/^state_hash //p' "$work/out"
}

# Runs the command with the arguments, which are left in $command.
run() {
    command="$thenar run $*"
    "$thenar" run "$@" >"$work/out" 2>"$work/err" || cat "$work/err"
}

check_scene() {
    scene=$1
    if [ "$long" = 1 ]; then
        run "$scene" --steps 1020 --threads 2
        expected=$(hash_of) further=1000
    else
        expected=$(awk -F '\t' -v scene="$scene" '$1 == scene && $2 == 50 { print $3 }' "$golden") further=30
    fi
    run "$scene" --steps 20 --save "$work/state" --out "$work/run"
    first=$(hash_of)
    run "$scene" --restore "$work/state" --steps $further --threads 2
    if [ -n "$expected" ] && [ "$(hash_of)" = "$expected" ]; then
        passed
    else
        failed "$scene: $(hash_of) instead of $expected: $thenar run $scene --steps 20 --save STATE, then $command"
    fi
    run "$scene" --replay "$work/run/recording.thenar" --threads 2
    if [ -n "$first" ] && [ "$(hash_of)" = "$first" ]; then
        passed
    else
        failed "$scene: a replay ends with $(hash_of) instead of $first:" \
            "$thenar run $scene --steps 20 --out RUN, then $command"
    fi
}

first="hand-free pinch rigid-tumble bunny-limited haptic-finger tactile-flat hand-phalanges soft-ball finger-slide-back"
tried=0 done=
for scene in $first $(for file in scenes/*.yaml; do basename "$file" .yaml; done); do
    case " $done " in *" $scene "*) continue ;; esac
    [ "$long" = 1 ] || ! late || break
    start=$(date +%s)
    check_scene "$scene"
    [ "$long" = 0 ] || echo "$scene: $further steps, $(($(date +%s) - start)) s, $failures failures so far"
    done="$done $scene" tried=$((tried + 1))
done
echo "$tried scenes"
finish "restored states and replayed recordings go on bit for bit"
