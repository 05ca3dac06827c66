#!/bin/sh
# For the given time: a hand that grips, held by a simulated person, with the haptic loop, tactile output, a
# recording and a viewer. Memory does not grow, nothing is warned of, the grip holds, and the recording replays.
# short form: 20 s
. "$(dirname "$0")/common"
# Loading and the replay take the rest of a short form.
run_live endurance $((seconds >= 300 ? seconds : seconds * 2 / 5))
finish "for long: memory, grip, warnings, and the replay"
