#!/bin/sh
# All threads of a viewer at once under the thread sanitizer: simulation and its workers, haptic loop, device, tactile
# outputs, server, with a recording and two viewers that give orders. Any report is a failure.
# short form: 25 s
. "$(dirname "$0")/common"
live_thenar=$build/tsan/thenar
if [ -x "$live_thenar" ]; then
    [ ! -x "$thenar" ] || export THENAR_OTHER="$thenar"
    export TSAN_OPTIONS="suppressions=$PWD/test/tsan.supp"
    run_live threads $((seconds >= 300 ? seconds * 2 / 3 : seconds / 2))
else
    echo "left out: there is no $live_thenar; cmake --preset tsan && cmake --build --preset tsan --target thenar"
fi
finish "simulation, haptic loop, tactile output, recording and viewers share no data unguarded"
