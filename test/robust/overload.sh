#!/bin/sh
# Steps that take four times as long as they simulate, with twenty viewers and other processors burning: what is owed stays
# bounded, the simulation runs in slow motion, which is reported, and the haptic loop keeps its rate.
# short form: 25 s
. "$(dirname "$0")/common"
run_live overload $((seconds > 60 ? seconds / 2 : seconds / 4))
finish "too slow a machine: bounded debt, slow motion, the haptic loop keeps its rate"
