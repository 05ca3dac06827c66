#!/bin/bash
# Devices that hold the handles of a scene, as the command line offers them: what is refused and how, a simulated person in
# simulated time, and devices that fail while a scene runs. Every case is one line that says what is promised.
# usage: test_device_command.sh path/to/thenar folder/of/plugins
set -u
export LC_ALL=C
thenar=$(realpath "${1:?usage: test_device_command.sh path/to/thenar folder/of/plugins}")
plugins=$(realpath "${2:?usage: test_device_command.sh path/to/thenar folder/of/plugins}")
source_dir=$(cd "$(dirname "$0")/.." && pwd)
export THENAR_SCENES=$source_dir/scenes
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

limit=60 # seconds a run may take
[ -z "${THENAR_SANITIZED:-}" ] || limit=240
cases=0
failures=0
promise=""
promise() {
    promise=$1
}
check() { # CONDITION...: a command that must succeed
    cases=$((cases + 1))
    "$@" && return
    failures=$((failures + 1))
    printf 'FAILED: %s\n    not true: %s\n    last command: thenar %s\n    exit %s, stdout: %s\n    stderr: %s\n' "$promise" "$*" \
        "$arguments" "$status" "$(head -c 600 out)" "$(head -c 600 err)"
}
run() { # ARGUMENTS...: leaves status, out, err
    arguments=$*
    timeout -k 1 "$limit" "$thenar" "$@" >out 2>err </dev/null
    status=$?
    check test "$status" -lt 124
    check has_not err 'Sanitizer|runtime error|Assertion'
}
has() { grep -Eq -e "$2" "$1"; }
has_not() { ! grep -Eq -e "$2" "$1"; }
equal() { test "$1" = "$2"; }
refuses() { # STATUS WORDS ARGUMENTS...
    local expected=$1 words=$2
    shift 2
    run "$@"
    check test "$status" -eq "$expected"
    check has err "$words"
    check test ! -s out
}
# A column of steps.csv, by its name, one value a line.
column() {
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next } { print $at }' "$1/steps.csv"
}
# Whether an awk condition over a column (v: values by step from 1, n: how many) is true.
column_has() { # FOLDER NAME CONDITION
    column "$1" "$2" | awk "{ v[NR] = \$1; n = NR } END { exit !($3) }"
}
# The largest, or least, of a column between two steps.
largest() { # FOLDER NAME FIRST LAST
    column "$1" "$2" | awk -v a="$3" -v b="$4" 'NR >= a && NR <= b && (!any || $1 > m) { m = $1; any = 1 } END { print m }'
}
least() {
    column "$1" "$2" | awk -v a="$3" -v b="$4" 'NR >= a && NR <= b && (!any || $1 < m) { m = $1; any = 1 } END { print m }'
}
greater() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; }

# ------------------------------------------------------------------------------------------------------- the option
cat >two.yaml <<END # the pad of haptic-wall with a handle on either side
include: $THENAR_SCENES/haptic-wall.yaml
handles: {below: {tool: pad, seed: [0, -0.196, 0], radius: 0.2005}}
END
promise "a device that cannot be is refused with what was expected"
refuses 2 '--offline without --device; expected a device' run haptic-wall --offline
refuses 2 '--device needs a value' run haptic-wall --device
refuses 1 '--device usr: unknown device usr; did you mean user; expected user:FILE' run haptic-wall --device usr
refuses 1 '--device handle=user: haptic-wall has no handle handle; .*expected one of: device' run haptic-wall --device handle=user
refuses 1 '--device belo=user: two has no handle belo; did you mean below\?; expected one of: device, below' \
    run two.yaml --device belo=user
refuses 1 'for which handle of two\? expected HANDLE=recorded:a, with one of: device, below' run two.yaml --device recorded:a
refuses 1 'beam-soft has no handle for a device; expected a scene with the key handles' run beam-soft --device user
refuses 1 'handle device has a device already' run haptic-wall --device user --device device=user
refuses 1 'two names no device for below; expected one under haptic.handles' run two.yaml --device below=scene
refuses 1 'nowhere.json: cannot open' run haptic-wall --device user:nowhere.json
refuses 1 'nowhere.jsonl: cannot open' run haptic-wall --device recorded:nowhere.jsonl
refuses 1 'nowhere.so' run haptic-wall --device plugin:nowhere.so
refuses 1 'the cable is not plugged in' run haptic-wall --device "plugin:$plugins/faulty.so,refuse"
refuses 1 'lives in real time; expected user:FILE, recorded:FILE or none' \
    run haptic-wall --device "plugin:$plugins/device_plugin.so" --offline
echo '{"keys": [{"t": 0}], "turns": 1}' >turns.json
refuses 1 'turns is neither true nor false' run haptic-wall --device user:turns.json
refuses 1 'unknown device usr' view haptic-wall --no-browser --device usr

promise "what a scene says of its devices is checked where it stands"
scene() { # WHAT: haptic-wall with this under haptic
    printf 'include: %s/haptic-wall.yaml\nhaptic:\n  %s\n' "$THENAR_SCENES" "$1" >scene.yaml
}
scene 'rate: 5'
refuses 1 'scene.yaml:3:9: rate is 5; expected a number .*100.* 10000' run scene.yaml
scene 'rats: 500'
refuses 1 "scene.yaml:3:3: unknown key 'rats' in haptic; did you mean 'rate'\?" run scene.yaml
scene 'handles: {devise: {device: user}}'
refuses 1 "scene.yaml:3:.* no handle 'devise'; did you mean 'device'\? \(known: device\)" run scene.yaml
scene 'handles: {device: {device: usr:a}}'
refuses 1 'scene.yaml:3:30: unknown device usr; did you mean user' run scene.yaml
scene 'handles: {device: {stiffness: 0}}'
refuses 1 'scene.yaml:3:33: stiffness is 0; expected a number > 0 .*N/m' run scene.yaml
scene 'handles: {device: {most_force: -1}}'
refuses 1 'most_force is -1; expected a number >= 0 .*N' run scene.yaml
scene 'handles: {device: {pasivity: true}}'
refuses 1 "unknown key 'pasivity' .*did you mean 'passivity'" run scene.yaml
promise "a script is seen from the file that names it, and from here with --set"
mkdir -p there/scripts
echo '{"keys": [{"t": 0}, {"t": 0.1, "position": [0, -0.01, 0]}]}' >there/scripts/down.json
printf 'include: %s/haptic-wall.yaml\nhaptic: {handles: {device: {device: "user:scripts/down.json"}}}\n' "$THENAR_SCENES" >there/mine.yaml
run run there/mine.yaml --device scene --offline --steps 3
check test "$status" -eq 0
run run there/mine.yaml --set haptic.handles.device.device=user:there/scripts/down.json --device user --offline --steps 3
check test "$status" -eq 0

# ------------------------------------------------------------------------------------------------ in simulated time
up=device.device_force_y
if [ -z "${THENAR_SANITIZED:-}" ]; then # which takes minutes for it, and sees the same below
    promise "a simulated person taps, presses, strokes and leaves, and feels it"
    run run haptic-finger --device user --offline --out finger
    check test "$status" -eq 0
    check has out '^haptic loop: 5001 ticks, 1000 a second, in simulated time'
    check has out '^handle device, user:.*finger.json: 6\.[0-9]* N at most'
    along=device.device_force_z
    check greater "$(largest finger $up 50 75)" 1        # two taps
    check greater 0.2 "$(largest finger $up 78 82)"      # and air in between
    check greater "$(largest finger $up 103 125)" 1
    check greater "$(least finger $up 200 260)" 5        # presses
    check column_has finger $up 'v[260] - v[230] < 1e-3 && v[230] - v[260] < 1e-3'
    check greater "$(largest finger $along 300 330)" 1.5 # strokes: friction against the motion, both ways
    check greater -1 "$(least finger $along 360 400)"
    check greater 0.2 "$(largest finger $up 440 500)"    # and leaves
    check column_has finger device.device_gain 'v[1] < 0.1 && v[30] == 1 && v[n] == 1'
    promise "a steady stroke is held back by the coefficient of friction, 0.6, times the force on the table"
    check column_has finger $up 'v[480] < 0 && v[480] > -0.2' # what the finger weighs
    weight=$(column finger $up | sed -n 480p)
    check equal "$(paste -d' ' <(column finger $along) <(column finger $up) |
        awk -v w="$weight" 'NR >= 310 && NR <= 330 { r = $1 / ($2 - w); if (r < 0.59 || r > 0.602) print NR, r }')" ""
    promise "the force that is felt is the one of the simulation"
    check column_has finger handle.device_force_y 'v[230] > 6'
    check equal "$(paste -d' ' <(column finger handle.device_force_y) <(column finger $up) | awk 'NR > 200 && NR < 260 && ($1 - $2) ^ 2 > 1e-6' | wc -l)" 0
    promise "a thimble is not turned, and gives no torque to speak of"
    run run haptic-finger-thimble --device user --offline --out thimble
    check greater "$(least thimble $up 200 260)" 5
    check greater 0.02 "$(largest thimble device.device_torque_x 1 500)"
    check greater "$(largest finger device.device_torque_x 1 500)" 0.1
fi
promise "simulated time is the same each time, with any number of threads"
run run haptic-wall --device user --offline --out wall
check test "$status" -eq 0
hash=$(sed -n 's/^state_hash //p' out)
felt=$(column wall $up | cksum)
run run haptic-wall --device scene --offline --threads 2 --out wall
check equal "$(sed -n 's/^state_hash //p' out)" "$hash"
check equal "$(column wall $up | cksum)" "$felt"
promise "without a device a scene runs as it always did"
run run haptic-wall --steps 100
check equal "$(sed -n 's/^state_hash //p' out)" \
    "$("$thenar" run haptic-wall --steps 100 --set 'haptic=~' | sed -n 's/^state_hash //p')"
promise "summary.json tells of the loop and of each handle"
for key in time real_time rate seconds ticks missed period_us asked p50 p99 p999 max jitter under_us tick_us late_steps late_s \
    handles device samples news latency_worst_us peak_force mean_force peak_torque energy_in energy_out energy_worst gain fades \
    faults stale silent bad_sample jump bad_linear clock unsolved lost doubled reordered device_error hung watchdog clamped slewed \
    held_back; do
    check grep -q "\"$key\":" <(sed -n '/"haptic":/,/"machine":/p' wall/summary.json)
done
promise "a kind alone is the device of that kind which the scene names, of several handles too"
run run two.yaml --device user --offline --steps 20
check has out '^handle device, user:.*wall.json'
check has_not out '^handle below'
run run two.yaml --device user --device below=user: --offline --steps 20 --out two
check has out '^handle below, user::'
check has two/steps.csv 'device\.device_force_x.*device\.below_force_x'
promise "a recorded device is played; when it is over the force fades"
awk 'BEGIN { for (i = 0; i <= 60; i++) printf "{\"t\": %g, \"position\": [0, %g, 0]}\n", i / 100, -0.01 * i / 60 }' >down.jsonl
run run haptic-wall --device recorded:down.jsonl --offline --time 0.8 --out played
check greater "$(largest played $up 100 120)" 1
check column_has played $up 'v[130] == 0 && v[n] == 0'
check has out 'silent 1'
promise "plain coupling and limits of the scene hold"
run run haptic-wall --device user --offline --set haptic.handles.device.most_force=2 --set haptic.rate=2000 --out weak
check has out '^haptic loop: 4001 ticks, 2000 a second'
check greater 2.0001 "$(largest weak $up 1 400)"
check has out 'clamped [0-9]'
run run haptic-wall --device user --offline --set haptic.handles.device.plain=true
check test "$status" -eq 0

# ------------------------------------------------------------------------------------------------------ in real time
# A test must not starve the machine: no real-time priority, and no locked memory, of which a sanitizer has terabytes.
calm="--set haptic.real_time=false"
promise "in real time a run takes as long as it lasts, and says how the loop did"
# shellcheck disable=SC2086  # two words
run run haptic-wall --device user $calm --time 0.5 --out live
check test "$status" -eq 0
check has out '^haptic loop: [0-9]+ ticks, 1000 a second, period [0-9]+ us median, .* deadlines missed, [0-9]+ steps late'
check greater "$(sed -n 's/.*"wall_s": \([0-9.]*\).*/\1/p' live/summary.json)" 0.499
check has live/summary.json '"time": "real"'
check has live/summary.json '"real_time": "real-time priority was not asked for"'
if [ -z "${THENAR_SANITIZED:-}" ]; then
    promise "what was done in real time is replayed bit for bit"
hash=$(sed -n 's/^state_hash //p' out)
run run haptic-wall --replay live/recording.thenar
check equal "$(sed -n 's/^state_hash //p' out)" "$hash"
promise "steps that take longer than they simulate: bounded debt and slow motion, which are told"
# shellcheck disable=SC2086
run run haptic-wall --device user $calm --dt 1e-5 --steps 4000 --out slow
check has out '^real time: [0-9]+ of 4000 steps late, [1-9][0-9]* shortened, 0\.020 s largest backlog, [0-9.]+ s dropped, 0\.[0-9]+x lowest speed'
kept() {
    sed -n '/"real_time": {/,/}/s/.*"'"$1"'": \([0-9.e-]*\).*/\1/p' slow/summary.json
}
check equal "$(kept steps)" 4000
check greater "$(kept late_steps)" 1000
check greater 0.0200001 "$(kept most_owed_s)"
check greater "$(kept forgiven_s)" 0.1
check greater 0.95 "$(kept least_speed)"
check greater "$(kept slow_motion_s)" 0.1
promise "what the system grants or refuses is said"
    run run haptic-wall --device user --time 0.1
    check has out 'real-time priority .*memory (not )?locked'
fi
promise "a device that fails ends its force, not the run"
# shellcheck disable=SC2086
run run haptic-wall $calm --device "plugin:$plugins/faulty.so,nan" --time 0.8 --out nan
check test "$status" -eq 0
check has out 'bad_sample [1-9]'
check has out 'silent [1-9]'
check column_has nan $up 'v[n] == 0'
# shellcheck disable=SC2086
run run haptic-wall $calm --device "plugin:$plugins/faulty.so,hang" --time 0.8
check test "$status" -eq 0
check has out 'hung [1-9]'
# shellcheck disable=SC2086
run run haptic-wall $calm --device "plugin:$plugins/faulty.so,fail" --time 0.5
check test "$status" -eq 0
check has out 'device_error [1-9]'

printf '%d checks, %d failed\n' "$cases" "$failures"
test "$failures" -eq 0
