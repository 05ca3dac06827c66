#!/usr/bin/env bash
# The strong grip (scenes/grip-strong.yaml) with hands of each detail and several time steps: height of the block when it
# is held, how far it sinks in 1.7 s, the grip force, the points that push, unconverged steps, and the angles of thumb,
# index and middle finger in degrees.
# Usage: test/robust/grip_details.sh [BUILD] [DETAILS] [STEPS]
set -eu
build=${1:-build}
details=${2:-coarse medium fine}
steps=${3:-0.001 0.005 0.01 0.02}
root=$(cd "$(dirname "$0")/../.." && pwd)
printf '%-7s %6s %10s %10s %8s %7s %12s   %s\n' detail 'dt ms' 'height mm' 'sinks mm' 'grip N' points unconverged angles
for detail in $details; do
    for dt in $steps; do
        "$build/test/robust_grip_details" "$root/scenes/grip-strong.yaml" "$detail" "$dt"
    done
done
