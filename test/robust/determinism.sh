#!/bin/sh
# Every scene gives the same states bit for bit: with 1, 2 and 4 threads, with clang and gcc, as released and for
# debugging, and the same as when tools/golden was run last.
# Short form: clang all scenes for 50 steps with every number of threads; gcc and debug 20 steps of as many scenes as
# there is time for. From --seconds 1800 on: all of it for 500 steps.
# short form: 70 s
. "$(dirname "$0")/common"
golden=test/robust/golden.tsv
scenes=$(for scene in scenes/*.yaml; do basename "$scene" .yaml; done)
long=0
[ "$seconds" -lt 1800 ] || long=1
processes=$(nproc)

# The golden hash of scene $1 after $2 steps.
expected() {
    awk -F '\t' -v scene="$1" -v steps="$2" '$1 == scene && $2 == steps { print $3 }' "$golden"
}

# compare BUILD STEPS THREADS SCENE...: each run of each scene in processes side by side; a case is one hash.
compare() {
    folder=$1 steps=$2 threads=$3
    shift 3
    rm -rf "$work/out"
    mkdir "$work/out"
    for scene in "$@"; do echo "scenes/$scene.yaml"; done | xargs -n 1 -P "$processes" sh -c \
        '"$0" --steps "$2" --threads "$3" "$4" >"$1/$(basename "$4" .yaml)" 2>"$1/$(basename "$4" .yaml).err"; :' \
        "$folder/test/robust_hashes" "$work/out" "$steps" "$threads"
    for scene in "$@"; do
        for count in $(echo "$threads" | tr ',' ' '); do
            wanted=$(expected "$scene" "$steps")
            got=$(awk -F '\t' -v threads="$count" '$3 == threads { print $4 }' "$work/out/$scene")
            if [ -n "$got" ] && [ "$got" = "$wanted" ]; then
                passed
            else
                failed "$scene: ${got:-$(head -n 1 "$work/out/$scene.err")} instead of ${wanted:-a golden hash}:" \
                    "$folder/test/robust_hashes --steps $steps --threads $count scenes/$scene.yaml"
            fi
        done
    done
}

# compare_until BUILD STEPS THREADS DEADLINE SCENE...: as many scenes as there is time for, a few at a time.
compare_until() {
    other_build=$1 other_steps=$2 other_threads=$3 deadline=$4
    shift 4
    if [ ! -x "$other_build/test/robust_hashes" ]; then
        echo "left out: there is no $other_build/test/robust_hashes; make check-robust builds it"
        return
    fi
    tried=0 batch=
    for next in "$@"; do
        tried=$((tried + 1)) batch="$batch $next"
        [ $((tried % processes)) -ne 0 ] && [ "$tried" -lt $# ] && continue
        compare "$other_build" "$other_steps" "$other_threads" $batch
        batch=
        [ "$long" = 1 ] || [ $(($(date +%s) - begun)) -lt "$deadline" ] || break
    done
    echo "$other_build: $tried scenes, $other_steps steps, after $(($(date +%s) - begun)) s"
}

for scene in $(grep -v '^#' "$golden" | cut -f 1 | sort -u); do
    [ -e "scenes/$scene.yaml" ] || failed "$scene has golden hashes and no scene; run tools/golden"
done

if [ "$long" = 1 ]; then steps=500 other=500; else steps=50 other=20; fi
compare "$build" "$steps" 1,2,4 $scenes
echo "$build: $(echo $scenes | wc -w) scenes, $steps steps, 1, 2 and 4 threads, after $(($(date +%s) - begun)) s"

# What is unlike comes first: the other compilers may not get to the end.
first="hand-free pinch rigid-tumble bunny-limited hand-phalanges haptic-finger beam-soft two-hands soft-ball"
others="$first $(for scene in $scenes; do case " $first " in *" $scene "*) ;; *) echo "$scene" ;; esac; done)"
threads=2
[ "$long" = 0 ] || threads=1,2,4
compare_until "$build/gcc" "$other" "$threads" $((seconds * 7 / 8)) $others
compare_until "$build/debug" "$other" "$threads" "$seconds" $others
finish "the same states with any threads, compiler and optimization"
