#!/usr/bin/env bash
# Energy of a waving hand: Young's moduli of 10 kPa to 10 MPa, time steps of 1 to 20 ms, the three levels of detail, all
# named poses. Nothing is a gain without a source (world/ledger.c), and the energy stays below the work of the targets.
# energy.sh [--seconds N] [--young "E ..."] [--dt "S ..."] [--details "NAME ..."] [--poses "NAME ..."] [OPTION...]
# OPTION...: further options of 'thenar run', as --set bodies.hand.bones.joint_stiffness=8. A line a run; the last line is
# promise, cases, failures, with tabs between.
# short form: 60 s
set -eu
cd "$(dirname "$0")/../.."
seconds=60 moduli="2e6 1e5 1e7 1e4 5e5" steps="0.01 0.02 0.005 0.001" details="coarse medium fine"
poses="fist relaxed spread pinch rest point open"
while [ $# -gt 0 ]; do
    case $1 in
    --seconds) seconds=$2 ;;
    --young) moduli=$2 ;;
    --dt) steps=$2 ;;
    --details) details=$2 ;;
    --poses) poses=$2 ;;
    *) break ;;
    esac
    shift 2
done
build=${THENAR_BUILD:-build}
work=$(mktemp -d "${TMPDIR:-/tmp}/thenar-robust.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
begun=$SECONDS cases=0 failures=0

# The energy never exceeds what the targets put in: the flesh of a fist holds 0.9 J at 100 kPa and 190 J at 10 MPa.
MAX_EXCESS=0.2  # of the work of the targets
FLOOR=0.05      # J

# Largest sum of kinetic, elastic and spring energy in steps.csv.
largest() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { e = $at["energy_kinetic"] + $at["energy_elastic"] + $at["energy_springs"]; if (e > max) max = e }
        END { printf "%.4g", max }' "$1"
}

# A number of summary.json: its section, its key.
figure() {
    python3 -c 'import json, sys; print("%.4g" % json.load(open(sys.argv[1]))[sys.argv[2]][sys.argv[3]])' \
        "$work/run/summary.json" "$1" "$2"
}

printf '%-8s %-6s %-6s %-8s %10s %10s %10s %6s %6s %6s\n' young dt detail pose "max J" "excess J" "targets J" energy split unconv
for dt in $steps; do for young in $moduli; do for detail in $details; do for pose in $poses; do
    [ $((SECONDS - begun)) -lt "$seconds" ] || break 4
    run=("$build/thenar" run hand-fist --dt "$dt" --time 1.5 --set "bodies.hand.material.young=$young"
        --set "bodies.hand.shape.hand={length: 0.19, breadth: 0.086, detail: $detail}"
        --set "bodies.hand.poses=[{time: 0, pose: open}, {time: 0.5, pose: $pose}]"
        --set "bodies.hand.keys=[{time: 0.6}, {time: 0.8, turn: [0, 0, 0.6]}, {time: 1.0, turn: [0, 0, -0.6]}, {time: 1.2}]"
        "$@")
    # Finer flesh has limits of its own. Those of the scene are for the coarse one: finer flesh cannot fold within them.
    [ "$detail" = coarse ] || run+=(--set "bodies.hand.material.limits=~" --set "bodies.hand.joints=~")
    cases=$((cases + 1))
    rm -rf "$work/run"
    if ! "${run[@]}" --out "$work/run" >"$work/log" 2>&1; then
        failures=$((failures + 1))
        echo "FAILED: ${run[*]}: $(head -1 "$work/log")"
        continue
    fi
    max=$(largest "$work/run/steps.csv") excess=$(figure energy excess) targets=$(figure energy targets)
    warned=$(figure warnings energy)
    printf '%-8s %-6s %-6s %-8s %10s %10s %10s %6s %6s %6s\n' "$young" "$dt" "$detail" "$pose" "$max" "$excess" \
        "$targets" "$warned" "$(figure warnings step_split)" "$(figure warnings not_converged)"
    awk -v max="$max" -v excess="$excess" -v targets="$targets" -v warned="$warned" \
        -v share="$MAX_EXCESS" -v floor="$FLOOR" \
        'BEGIN { t = targets < 0 ? -targets : targets; exit !(max <= t + floor && excess <= share * t + floor && warned == 0) }' || {
        failures=$((failures + 1))
        printf 'FAILED: '
        printf '%q ' "${run[@]}"
        echo
    }
done; done; done; done
printf 'energy of hands\t%d\t%d\n' "$cases" "$failures"
[ "$failures" -eq 0 ]
