#!/bin/bash
# The command as other programs and hurried people meet it: exit statuses, messages, files, and what bad input, full
# disks and signals do to it. Every case is one line that says what is promised.
# usage: test_command.sh path/to/thenar
set -u
export LC_ALL=C
thenar=$(realpath "${1:?usage: test_command.sh path/to/thenar}")
source_dir=$(cd "$(dirname "$0")/.." && pwd)
export THENAR_SCENES=$source_dir/scenes
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

cases=0
failures=0
promise=""

# promise TEXT: names what the checks up to the next promise hold.
promise() {
    promise=$1
}
check() { # CONDITION... : a command that must succeed
    cases=$((cases + 1))
    "$@" && return
    failures=$((failures + 1))
    printf 'FAILED: %s\n    not true: %s\n    last command: thenar %s\n    exit %s, stdout: %s\n    stderr: %s\n' "$promise" "$*" \
        "$arguments" "$status" "$(head -c 400 out)" "$(head -c 600 err)"
}
# run ARGUMENTS...: leaves status, out, err. None of all these runs may take long, crash or show a sanitizer's report.
run() {
    arguments=$*
    timeout -k 1 "${limit:-20}" "$thenar" "$@" >out 2>err </dev/null
    status=$?
    check test "$status" -lt 124
    check has_not err 'Sanitizer|runtime error|Assertion'
}
has() { grep -Eq -e "$2" "$1"; }
has_not() { ! grep -Eq -e "$2" "$1"; }
exits() { test "$status" -eq "$1"; }
equal() { test "$1" = "$2"; }
one_line() { test "$(wc -l <err)" -eq 1; }
exists() { test -e "$1"; }
missing() { test ! -e "$1"; }

# refuses STATUS WORDS ARGUMENTS...: exit status, and an extended regular expression that stderr has; nothing on stdout.
refuses() {
    local expected=$1 words=$2
    shift 2
    run "$@"
    check exits "$expected"
    check has err "$words"
    check test ! -s out
    case $expected in
    1 | 3)
        check one_line
        check has err '^thenar: .'
        ;;
    esac
}

# ---------------------------------------------------------------------------------------------- help and usage
commands=$("$thenar" help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p')
promise "--help lists every subcommand"
for option in --help -h help; do
    run "$option"
    check exits 0
    for name in bench check export help list mesh run; do check has out "^  $name +[a-z]"; done
done
promise "every subcommand has help that shows its usage and options"
for name in $commands; do
    run "$name" --help
    check exits 0
    check has out "^usage: thenar $name"
    check has out '^  --help'
    cp out help
    run help "$name"
    check cmp -s out help
done
promise "the manual page has every subcommand and every option"
for name in $commands; do
    check has "$source_dir/man/thenar.1" "^\.It Cm $name"
    run "$name" --help
    for option in $(sed -n 's/^  --\([a-z]*\) .*/\1/p' out); do check has "$source_dir/man/thenar.1" "Fl -$option"; done
done
promise "--version tells the version"
run --version
check has out '^thenar [0-9]+\.[0-9]+\.[0-9]+$'

promise "misuse exits with 2, says what is wrong on stderr and shows the usage"
refuses 2 '^usage: thenar COMMAND'
refuses 2 'unknown command rnu; did you mean run\?' rnu
refuses 2 'unknown command frobnicate$' frobnicate
refuses 2 'no command rnu; did you mean run\?' help rnu
refuses 2 'an argument is missing; expected SCENE' run
refuses 2 'unknown option --stpes; did you mean --steps\?' run beam-soft --stpes 3
refuses 2 'options start with two dashes' run beam-soft -steps 3
refuses 2 'unexpected argument second' run beam-soft second
refuses 2 '--steps needs a value: N' run beam-soft --steps
refuses 2 '--steps -1; expected a whole number from 0' run beam-soft --steps -1
refuses 2 '--steps 1e3; expected a whole number' run beam-soft --steps 1e3
refuses 2 '--steps 99999999999999999999; expected' run beam-soft --steps 99999999999999999999
refuses 2 '--threads 0; expected a whole number from 1 to 256' run beam-soft --threads 0
refuses 2 '--threads 1000; expected' run beam-soft --threads 1000
for dt in 0 -0.01 nan inf 2 soft; do refuses 2 "--dt $dt; expected a number from 1e-06 to 1" run beam-soft --dt $dt; done
refuses 2 '--steps and --time together' run beam-soft --steps 2 --time 1
refuses 2 '--solver magic; expected' run beam-soft --solver magic
refuses 2 '--friction magic; expected pyramid, cone or printed' run beam-soft --friction magic
refuses 2 '--iterations 0; expected a whole number from 1' run beam-soft --iterations 0
for name in aggregated springs magic; do
    refuses 2 "--contact $name; expected point \\(default\\), aggregate, penalty, none" run beam-soft --contact $name
done
refuses 2 '--out ; expected DIR' run beam-soft --out ''
refuses 2 '--print takes no value' check beam-soft --print=yes
refuses 2 'an argument is missing; expected RECORDING' export
refuses 2 '--to is missing; expected vtk, gltf or csv' export recording.thenar
refuses 2 '--to pdf; expected vtk, gltf or csv' export recording.thenar --to pdf
refuses 2 '--contacts with --to vtk; expected csv' export recording.thenar --to vtk --contacts
refuses 2 '--lattice fcc; expected bcc, cube or kuhn' mesh a.obj --lattice fcc
refuses 2 '--tets and --cell together' mesh a.obj --tets 5 --cell 0.1
refuses 2 'did you mean linear\?' bench liner

# ---------------------------------------------------------------------------------------------- scenes by name
promise "list names the scenes, each once, and the first folder wins"
run list
check exits 0
check equal "$(grep -c '^beam-soft ' out)" 1
mkdir scenes
sed 's/^title:.*/title: Mine/' "$THENAR_SCENES/beam-soft.yaml" >scenes/beam-soft.yaml
cp scenes/beam-soft.yaml scenes/v1.2.yaml
THENAR_SCENES=scenes run list
check equal "$(grep -c '^beam-soft ' out)" 1
check has out '^beam-soft +Mine'
THENAR_SCENES=scenes run check v1.2
check has out '^v1.2: Mine'
promise "scenes of every kind are good"
limit=60 # meshing a hand takes seconds where other programs run too; the test golden_all runs every scene
for scene in beam-limited bunny-soft haptic-wall hand-free tactile-edge; do
    run check $scene
    check exits 0
    check has out '^good: '
done
limit=20
promise "a folder in THENAR_SCENES that is not there is told once"
THENAR_SCENES=nowhere run list
check exits 0
check equal "$(grep -c nowhere err)" 1
check has err '^thenar: warning: nowhere: is not a directory; expected one in THENAR_SCENES'
promise "a list without scenes says where they are looked for"
mkdir -p far/away/alone/bin
cp "$thenar" far/away/alone/bin/
check has <(env -u THENAR_SCENES far/away/alone/bin/thenar list 2>&1 >/dev/null) '^thenar: warning: no scenes .*THENAR_SCENES'
promise "a list that nobody reads to its end is no trouble"
"$thenar" list | head -1 >out 2>err
check equal "${PIPESTATUS[1]}" 0
check has out '^scene'
promise "standard output that cannot be written is an error"
if [ -e /dev/full ]; then
    "$thenar" list >/dev/full 2>err
    check equal $? 1
    check has err '^thenar: standard output: cannot write: No space left'
fi

promise "a scene that is not there exits with 1 and gets a suggestion"
refuses 1 'beam-sfot: no such scene; did you mean beam-soft\?' run beam-sfot
refuses 1 "no-such-thing: no such scene or file; 'thenar list' shows" run no-such-thing
refuses 1 'nofile.yaml: cannot open: No such file' run nofile.yaml
refuses 1 'the name of the scene is empty' run ''

# ---------------------------------------------------------------------------------------------- files of a run
promise "a run leaves complete files, and nothing but text when piped"
run run beam-soft --steps 20 --threads 1 --out results
check exits 0
check test ! -s err
check has_not out $'\r|\033'
check has out '^state_hash [0-9a-f]{16}$'
for key in scene thenar_version solver contact threads dt steps soft_nodes tets dofs wall_s step_us stage_us iterations \
    active_constraints contacts residual warnings state_hash bodies; do
    check has results/summary.json "^  \"$key\": "
done
for key in mean p50 p99 max; do check has results/summary.json "^    \"$key\": [0-9]"; done
check has results/summary.json '"steps": 20,'
check has results/summary.json '"tets": 200,'
if command -v node >/dev/null; then
    check node -e 'JSON.parse(require("fs").readFileSync("results/summary.json"))'
fi
check has results/steps.csv '^step,time,active,contacts,rows,iterations,residual,step_us,drive_us,.*,beam_force_x,.*,beam_area,beam_support_force_x,.*,beam_support_torque_z$'
check equal "$(awk -F, 'NR == 1 { n = NF } NR > 1 && NF == n && $1 == NR - 1 { good++ } END { print NR, good }' results/steps.csv)" "21 20"
for section in 'POINTS 99 ' 'CELLS 200 1000$' 'CELL_TYPES 200$' 'POINT_DATA 99$' 'CELL_DATA 200$' rest displacement \
    velocity force '[^a-z]s '; do
    check has results/final.vtk "$section"
done
check equal "$(grep -ciE '(^| )[-+]?(nan|inf)' results/final.vtk)" 0
run mesh results/final.vtk
check exits 0
check has out '^nodes +99$'
check has out '^tets +200$'

promise "a recording can be exported to every format"
run export results/recording.thenar --to csv --out frames.csv
check exits 0
check equal "$(awk -F, 'NR == 1 { n = NF } NF != n { bad++ } END { print NR, bad + 0 }' frames.csv)" "22 0"
run export results/recording.thenar --to vtk --out frames
check exits 0
check equal "$(find frames -name 'frame_*.vtk' | wc -l)" 21
run mesh frames/frame_000020.vtk
check has out '^tets +200$'
run export results/recording.thenar --to gltf --out film.glb
check exits 0
check equal "$(head -c 4 film.glb)" glTF
check equal "$(od -An -tu4 -j8 -N4 film.glb | tr -d ' ')" "$(stat -c %s film.glb)"
run export results/recording.thenar --to csv --first 5 --end 15 --every 3 --out some.csv
check equal "$(cut -d, -f1 some.csv | tr '\n' ' ')" "frame 5 8 11 14 "
refuses 1 'frames 30 to 21 are an empty range; expected a range within the 21 frames' export results/recording.thenar --to csv --first 30
promise "an export never overwrites its own recording"
cp results/recording.thenar own.thenar
ln -s own.thenar link.thenar
refuses 2 'is the recording itself' export own.thenar --to csv --out link.thenar
check cmp -s results/recording.thenar own.thenar

# ---------------------------------------------------------------------------------------------- contact
cat >contact.yaml <<'YAML'
thenar: 1
time: 1
contact: {margin: 0.002}
bodies:
  block:
    shape: {box: {size: [0.04, 0.04, 0.04], cells: [3, 3, 3]}, move: [0, 0.001, 0]}
    material: {young: 50e3, density: 1000}
    friction: 0.6
  table: {kind: rigid, motion: static, shape: {plane: {}}, friction: 0.6}
YAML
# column FILE NAME: of the last row.
column() {
    awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i } END { print $at }' "$1"
}
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a != "" && a - b <= t && b - a <= t) }'; }
weight=0.62784 # N: 64 cm^3 of 1000 kg/m^3
promise "steps.csv tells the contact force, torque and area of every body, and what its supports do apart from it"
run run contact.yaml --out touch
check exits 0
check near "$(column touch/steps.csv block_force_y)" $weight 1e-3
check near "$(column touch/steps.csv table_force_y)" -$weight 1e-3
check near "$(column touch/steps.csv block_torque_z)" 0 1e-5
check near "$(column touch/steps.csv block_support_force_y)" 0 0
check test "$(column touch/steps.csv contacts)" -eq 16
check near "$(column touch/steps.csv block_area)" 0.0016 1e-5
check equal "$(column touch/steps.csv block/table_force_y)" "$(column touch/steps.csv block_force_y)"
check equal "$(column touch/steps.csv block/table_area)" "$(column touch/steps.csv block_area)"
check near "$(column touch/steps.csv block/table_normal_force)" $weight 1e-3
check equal "$(column touch/steps.csv block/table_points)" "$(column touch/steps.csv contacts)"
check near "$(column touch/steps.csv block_centre_y)" 0.02 5e-4
check equal "$(column touch/steps.csv table_centre_y)" 0
check has_not touch/steps.csv table_support
promise "summary.json has the contact method, and the last contact forces of every body"
check has touch/summary.json '"contact": "point",'
check has touch/summary.json '^    "max": 16(\.0)?$'
for key in force torque contact_area contacts normal_force friction_ratio pressure largest_pressure; do
    check equal "$(grep -c "^      \"$key\": " touch/summary.json)" 2
done
check equal "$(grep -c '"support_force"' touch/summary.json)" 1
check has touch/summary.json '^        0\.6278[0-9]*,$'
promise "a block that is held on a table weighs on both"
run run contact.yaml --out held --set 'bodies.block.supports={top: {where: {half: {point: [0, 0.041, 0], normal: [0, -1, 0]}}, keys: [{time: 0}, {time: 0.3, move: [0, -0.002, 0]}]}}'
check exits 0
pressed=$(column held/steps.csv block_force_y)
check test "$(awk -v p="$pressed" 'BEGIN { print (p > 1) }')" -eq 1
# within 2 %: what the solver may leave contact forces to change by (SOLVER_TOLERANCES)
check near "$(column held/steps.csv block_support_force_y)" "$(awk -v p="$pressed" -v w=$weight 'BEGIN { print w - p }')" \
    "$(awk -v p="$pressed" 'BEGIN { print 0.02 * p }')"
promise "--contact penalty bears the block by springs that sink in by its pressure"
run run contact.yaml --contact penalty --out springs
check exits 0
check has springs/summary.json '"contact": "penalty",'
check near "$(column springs/steps.csv block_force_y)" $weight "$(awk -v w=$weight 'BEGIN { print 1e-6 * w }')"
check equal "$(column springs/steps.csv rows)" 0
run run contact.yaml --contact penalty --set contact.stiffness=1e6 --set contact.damping=1e3 --out soft_springs
check exits 0
run export soft_springs/recording.thenar --to csv --contacts --out soft_springs.csv
# 392.4 Pa over 1e6 Pa/m, on average over the 16 points by their areas
check near "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    $at["frame"] == 100 { sum += $at["gap"] * $at["area"]; area += $at["area"] } END { print sum / area }' soft_springs.csv)" \
    -0.0003924 4e-6
promise "--contact none lets everything pass through everything"
run run contact.yaml --contact none --out through
check exits 0
check has through/summary.json '"contact": "none",'
check near "$(column through/steps.csv block_force_y)" 0 0
check equal "$(column through/steps.csv contacts)" 0
check has through/final.vtk '^0(\.[0-9]+)? -4\.9' # free fall for 1 s
promise "every contact of a recording can be exported, and the forces add up in every format"
run export touch/recording.thenar --to csv --contacts --out contacts.csv
check exits 0
check equal "$(awk -F, 'NR == 1 { n = NF } NF != n { bad++ } END { print n, bad + 0 }' contacts.csv)" "25 0"
check equal "$(awk -F, '$1 == 100' contacts.csv | wc -l)" 16
check near "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "force_y") at = i } $1 == 100 { sum += $at } END { print sum }' contacts.csv)" $weight 1e-3
check has contacts.csv '^100,100,1,block,table,'
run export touch/recording.thenar --to vtk --first 99 --out contact_frames
check exits 0
check equal "$(find contact_frames -name 'contacts_*.vtk' | wc -l)" 2
check has contact_frames/contacts.vtk.series contacts_000100.vtk
for section in 'DATASET POLYDATA' 'POINTS 16 ' 'VERTICES 16 32$' 'VECTORS normal ' 'VECTORS force ' 'SCALARS gap ' \
    'SCALARS area ' 'SCALARS pressure '; do
    check has contact_frames/contacts_000100.vtk "$section"
done
promise "a recording in which nothing can touch has no files of contacts, and a table of them is warned of"
check equal "$(find frames -name 'contacts*' | wc -l)" 0
run export results/recording.thenar --to csv --contacts --out no_contacts.csv
check exits 0
check has err '^thenar: warning: results/recording.thenar: no contacts were recorded'
check equal "$(wc -l <no_contacts.csv)" 1

promise "the result does not depend on the number of threads"
for threads in 1 2 4; do
    run run beam-soft --steps 5 --threads $threads --set 'bodies.beam.shape.box.cells=[20, 6, 6]'
    check exits 0
    grep '^state_hash' out
done >hashes
check equal "$(wc -l <hashes)" 3
check equal "$(sort -u hashes | wc -l)" 1

promise "a run that is cut in two by --save and --restore ends as the whole, and a recorded one can be replayed"
run run beam-soft --steps 12
whole=$(grep '^state_hash' out)
run run beam-soft --steps 5 --save half
check exits 0
check has out '^state written to half$'
check missing half.part
run run beam-soft --steps 7 --restore half --threads 2 --out second
check exits 0
check equal "$(grep '^state_hash' out)" "$whole"
run run beam-soft --replay second/recording.thenar --save replayed
check exits 0
check has out '^second/recording.thenar: 7 steps, each ends as recorded$'
check equal "$(grep '^state_hash' out)" "$whole"
check exists replayed
promise "--iterations bounds every solve, is recorded and replays; what is cut short is told"
run run beam-limited --steps 30 --iterations 2 --out bounded
check exits 0
check has out 'not_converged in'
check equal "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "iterations") column = i } NR > 1 && $column > 2' bounded/steps.csv | wc -l)" 0
bounded=$(sed -n 's/^state_hash //p' out)
run run beam-limited --replay bounded/recording.thenar
check exits 0
check has out "state_hash $bounded"
run run beam-limited --steps 30
check test "$(sed -n 's/^state_hash //p' out)" != "$bounded"

promise "friction as printed is one of the kinds that a run knows"
run run pinch --steps 2 --solver pgs --friction printed
check exits 0

promise "a state or a recording of another run is refused by name"
refuses 1 'half: a snapshot of another model; expected one of beam-stiff' run beam-stiff --restore half
refuses 1 'half: a snapshot with a time step of 0.01 s; expected 0.002 s' run beam-soft --restore half --dt 0.002
refuses 1 'recording.thenar: a snapshot of another model' run beam-stiff --replay second/recording.thenar
refuses 1 'was recorded with solver newton; expected pgs' run beam-soft --solver pgs --replay second/recording.thenar
head -c 1000 half >cut_half
refuses 1 'cut_half: a snapshot of 1000 bytes; expected' run beam-soft --restore cut_half
refuses 1 'cannot open' run beam-soft --restore not_there
refuses 1 'cannot write' run beam-soft --steps 1 --save no/such/folder
refuses 2 '--replay with --steps' run beam-soft --steps 3 --replay second/recording.thenar

promise "a run that takes no step writes files as well"
run run beam-soft --steps 0 --out none
check exits 0
check has none/summary.json '"steps": 0,'
promise "what an earlier run left is never taken for the results of one that failed"
cp results/recording.thenar kept
mkdir stale
echo old >stale/summary.json
echo old >stale/final.vtk
ln -s /nowhere/there stale/recording.thenar
refuses 1 'stale/recording.thenar: cannot write' run beam-soft --steps 2 --out stale
check missing stale/summary.json
check missing stale/final.vtk

if command -v script >/dev/null; then
    promise "on a terminal there is a progress line, and the results do not mix with it"
    script -qec "'$thenar' run beam-soft --steps 4000" terminal >/dev/null 2>&1 </dev/null
    check has terminal '[#.]{24}\] +[0-9]+ %  [0-9]+ steps/s, [0-9]+ s left'
    check has terminal $'(\033\\[K|^)beam-soft: 4000 steps'
fi

# ---------------------------------------------------------------------------------------------- overrides
promise "--set overrides numbers, vectors and whole mappings by their path"
run check beam-soft --print --set dt=0.005 --set 'gravity=[0, 0, -1.5]' --set bodies.beam.material.young=3e5
check exits 0
check has out '^dt: 0.005'
check has out 'young: 3e5'
check equal "$(run check beam-soft --print --set 'gravity=[0, 0, -1.5]' && tr -d '\n ' <out | grep -c 'gravity:\(\[0,0,-1.5\]\|-0-0--1.5\)')" 1
run run beam-soft --steps 2 --set 'bodies.beam.shape.box.size[0]=2' --out set
check exits 0
check has set/final.vtk '^2 0(\.[0-9]+)? '
promise "a mistyped --set exits with 1 and a suggestion"
refuses 1 "--set bodies.beam.material.yuong: unknown key 'yuong'.*did you mean 'young'" run beam-soft --set bodies.beam.material.yuong=1
refuses 1 "no key 'baem' in bodies; did you mean 'beam'" run beam-soft --set bodies.baem.material.young=1
refuses 1 'expected PATH=VALUE' run beam-soft --set dt
refuses 1 'no value after' run beam-soft --set dt=
refuses 1 'gravity has 2 items; expected a sequence of 3 numbers' run beam-soft --set 'gravity=[0, 1]'
refuses 1 'expected a number, found text' run beam-soft --set dt=soft
refuses 1 'no item .7. in bodies.beam.shape.box.size; expected 0 to 2' run beam-soft --set 'bodies.beam.shape.box.size[7]=2'

# ---------------------------------------------------------------------------------------------- bad scenes
# scene [SED]: the file scene.yaml, changed. Lines and columns in the messages below count in it.
scene() {
    cat >plain.yaml <<'YAML'
thenar: 1
dt: 0.01
time: 0.05
bodies:
  cube:
    shape: {box: {size: [1, 1, 1], cells: [1, 1, 1]}}
    material: {young: 1e4, poisson: 0.3, density: 1000}
    supports: {foot: {where: {box: [[0, 0, 0], [1, 0, 1]]}}}
YAML
    sed "${1-}" plain.yaml >scene.yaml
}
# bad SED WORDS: the scene so changed is refused with a place in the file.
bad() {
    scene "$1"
    refuses 1 "^thenar: scene.yaml:$2" run scene.yaml --out bad
    check missing bad
    refuses 1 "^thenar: scene.yaml:$2" check scene.yaml
}
promise "the scene that the bad ones are made from is good"
scene
run run scene.yaml
check exits 0
promise "a bad value in a scene is told with file, line, column and what was expected"
bad 's/dt: .*/dt: 0/' '2:5: dt is 0; expected a number between'
bad 's/dt: .*/dt: -1/' '2:5: dt is -1; expected'
bad 's/dt: .*/dt: .nan/' '2:5: dt is .nan; expected'
bad 's/dt: .*/dt: [1]/' '2:5: dt: expected a number, found a sequence'
bad 's/^dt:/td:/' "2:1: unknown key 'td' in scene; did you mean 'dt'"
bad 's/time: .*/time: -1/' '3:7: time is -1; expected'
bad 's/thenar: 1/thenar: 99/' '1:9: thenar is 99; expected'
bad 's/density: 1000/density: -1000/' '7:51: density is -1000; expected a number > 0'
bad 's/young: 1e4/young: 0/' '7:23: young is 0; expected a number > 0'
bad 's/young: 1e4/young: -5/' '7:23: young is -5; expected'
bad 's/young: 1e4, //' "7:15: bodies.cube.material has no key 'young'; it is required"
bad 's/poisson: 0.3/poisson: 0.5/' '7:37: poisson is 0.5; expected a number > -1 and < 0.5'
bad 's/poisson: 0.3/poisson: -1/' '7:37: poisson is -1; expected'
bad 's/poisson/possion/' "7:28: unknown key 'possion' in bodies.cube.material; did you mean 'poisson'"
bad 's/cells: .1/cells: [0/' '6:44: cells\[0\] is 0; expected'
bad 's/cells: .1, 1, 1/cells: [1000, 1000, 1000/' '6:43: 1e\+09 cells; expected at most'
bad 's/cells: .1, 1/cells: [1e300, 1/' '6:44: cells\[0\] is 1e300; expected'
bad 's/cells: .1/cells: [1.5/' '6:43: cells are 1.5, 1, 1; expected whole numbers'
bad 's/size: .1/size: [-1/' '6:26: size\[0\] is -1; expected'
bad 's/box: {size/mesh: a.msh, box: {size/' '6:12: several shapes in one; expected box, mesh, embed, finger or hand'
bad 's/shape: .*/shape: {}/' '6:12: no shape; expected box, mesh, embed, finger or hand'
bad 's/shape: .*/shape: {embed: {sphere: 1, box: [1, 1, 1]}}/' '6:20: several things to embed; expected one of'
bad 's/shape: .*/shape: {embed: {sphere: 1, tets: 9, cell: 1}}/' '6:47: cell and tets together; expected one of them'
bad 's/shape: .*/shape: {finger: {length: 0.5}}/' '6:30: length is 0.5; expected a number between 0.03 and 0.1'
bad 's/shape: .*/shape: {finger: {length: .nan}}/' '6:30: length is .nan; expected'
bad 's/shape: .*/shape: {finger: {pulp: 0.04}}/' '6:28: pulp is 0.04; expected a number between 0.003 and 0.01'
bad 's/shape: .*/shape: {finger: {tets: 7}}/' '6:28: tets is 7; expected an integer between 200 and 200000'
bad 's/shape: .*/shape: {finger: {tets: 1e30}}/' '6:28: tets is 1e30; expected'
bad 's/shape: .*/shape: {finger: {lenght: 0.07}}/' "6:22: unknown key 'lenght' in .*; did you mean 'length'"
bad 's/shape: .*/shape: {finger: 7}/' '6:21: .*expected a mapping'
bad 's/where: {box.*/where: {sphere: {centre: [9, 9, 9], radius: 1}}}}/' '.*support foot holds no node; expected a region with nodes'
bad 's/where: {box.*/where: {all: false}}}/' '8:36: all is false; expected true'
bad 's/where: {box.*/where: {}}}/' '8:30: no region; expected all, box, sphere, half or tag'
bad 's/supports: .*/regions: [{where: {sphere: {centre: [9, 9, 9], radius: 1}}}]/' '6:5: region 0 holds no tet; expected a part of the body'
bad '5,$d' "4:8: a scene without bodies; expected at least one"
promise "a bad key of contact in a scene is told likewise"
bad 's/^    material/    friction: -1\n    material/' '7:15: friction is -1; expected a number between 0 and 100'
bad 's/^    material/    friction: 101\n    material/' '7:15: friction is 101; expected a number between 0 and 100'
bad 's/^    material/    touches: 3\n    material/' '7:14: touches: expected true or false, found a number'
bad 's/^dt: .*/contact: {margin: 0}/' '2:19: margin is 0; expected a number > 0 and <= 1 \(m\)'
bad 's/^dt: .*/contact: {stiffness: 0}/' '2:22: stiffness is 0; expected a number > 0 and <= 1e\+13 \(Pa/m\)'
bad 's/^dt: .*/contact: {damping: -1}/' '2:20: damping is -1; expected a number between 0 and 1e\+10 \(Pa s/m\)'
bad 's/^dt: .*/contact: {margni: 1}/' "2:11: unknown key 'margni' in contact; did you mean 'margin'"
promise "a bad rigid body in a scene is told likewise"
# bad_rigid KEYS WORDS: the scene with a rigid ball of these keys in line 9.
bad_rigid() {
    bad "\$a\\  ball: {kind: rigid, $1}" "9:$2"
}
bad_rigid 'shape: {}' '30: no shape; expected sphere, box, capsule, cylinder, plane or mesh'
bad_rigid 'shape: {sphere: 1, box: [1, 1, 1]}' '30: several shapes in one; expected sphere'
bad_rigid 'shape: {sphere: -1}' '39: sphere is -1; expected a number > 0'
bad_rigid 'shape: {sphere: 1, rounding: 0.1}' "42: unknown key 'rounding' in bodies.ball.shape"
bad_rigid 'shape: {box: [1, 1, 1], rounding: 0.6}' '9: the rounding is 0.6 m; expected 0 to 0.5 m'
bad_rigid 'shape: {plane: {}}' '9: a plane that moves; expected motion static'
bad_rigid 'shape: {sphere: 1}, mass: 1, density: 2' '49: mass and density together; expected one of them'
bad_rigid 'shape: {sphere: 1}, inertia: [1, 1, 3]' '9: what is given as one is no inertia; expected'
bad_rigid 'shape: {sphere: 1}, keys: [{time: 0}]' '9: keys for a body that is not driven; expected motion driven'
bad_rigid 'shape: {sphere: 1}, motion: flying' "51: motion is 'flying'; expected"
bad_rigid 'shape: {mesh: no.obj}' '37: no.obj: cannot open: No such file'
promise "rigid bodies run beside soft ones, and their files can be exported"
scene '$a\  ball: {kind: rigid, shape: {sphere: 0.1, move: [0, 3, 0]}, spin: [0, 1, 0]}\n  ground: {kind: rigid, motion: static, shape: {plane: {}}}'
run check scene.yaml
check has out '^ball +dynamic .* 4\.1888$'
check has out '^ground +static '
run run scene.yaml --steps 10 --out rigid
check exits 0
check has rigid/summary.json '"kind": "rigid"'
check has rigid/summary.json '"soft_nodes": 8,'
check has rigid/final.vtk '^CELL_TYPES'
for format in csv vtk gltf; do
    run export rigid/recording.thenar --to $format --out rigid.$format
    check exits 0
done
check has rigid.csv '^10,10,0.1,ball,'
check has rigid.gltf '"path": ?"rotation"'
promise "a number of steps that makes no sense is refused rather than run as none"
scene 's/time: .*/time: 1e300/'
refuses 1 'time is 1e\+300 s, .* steps of 0.01 s; expected 1 to' run scene.yaml
refuses 1 'time is 1e-06 s, .*expected 1 to' run beam-soft --time 1e-6

promise "a file that is no scene is told so"
: >empty.yaml
refuses 1 '^thenar: empty.yaml: is empty' check empty.yaml
head -c 3000 "$thenar" >binary.yaml
refuses 1 '^thenar: binary.yaml:1:[0-9]+: .*expected UTF-8' check binary.yaml
mkdir folder.yaml folder.msh
refuses 1 '^thenar: folder.yaml: is a directory; expected a file' check folder.yaml
printf 'thenar: 1\nbodies: [\n' >open.yaml
refuses 1 '^thenar: open.yaml:[23]:' check open.yaml
promise "a scene that includes itself is refused, directly and through another"
echo 'include: self.yaml' >self.yaml
refuses 1 '^thenar: self.yaml:1:10: a file includes itself' check self.yaml
echo 'include: second.yaml' >first.yaml
echo 'include: first.yaml' >second.yaml
refuses 1 '^thenar: second.yaml:1:10: .*first.yaml includes second.yaml includes first.yaml' check first.yaml

promise "any file name will do for a scene, and the files name it in valid text"
scene
strange=$'sc\xff\nene \xc3\xa9.yaml'
cp scene.yaml "$strange"
run run "$strange" --steps 1 --out strange
check exits 0
check has strange/summary.json $'"scene": "sc__ene (\xc3\xa9|\\\\u00E9)"'
run export strange/recording.thenar --to csv --out strange.csv
check exits 0

promise "more bodies than a recording can hold are refused, and run without one"
{
    echo 'thenar: 1'
    echo 'bodies:'
    seq 8200 | sed 's/.*/  b&: {shape: {box: {size: [1, 1, 1], cells: [1, 1, 1]}}, material: {young: 1e4}, touches: false}/'
} >crowd.yaml
refuses 1 'cannot record 8200 bodies; expected at most 8190' run crowd.yaml --steps 1 --out crowd
sed 's/, touches: false//' crowd.yaml >touching.yaml
refuses 1 '8200 soft bodies that may touch; expected at most 256' run touching.yaml --steps 1

# ---------------------------------------------------------------------------------------------- bad meshes
points=$'1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1'
# write_mesh FILE POINTS TETS: a Gmsh 2.2 file; the points start at line 6.
write_mesh() {
    printf '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%d\n%s\n$EndNodes\n$Elements\n%d\n%s\n$EndElements\n' \
        "$(wc -l <<<"$2")" "$2" "$(wc -l <<<"$3")" "$3" >"$1"
}
tet='1 4 2 0 1 1 2 3 4'
# bad_mesh FILE WORDS: refused by thenar mesh (which may show its table), and by a scene with the scene's place in front.
bad_mesh() {
    run mesh "$1"
    check exits 1
    check has err "^thenar: $1$2"
    scene "s/shape: .*/shape: {mesh: $1}/"
    refuses 1 "^thenar: scene.yaml:6:19: $1$2" run scene.yaml
}
promise "the mesh that the bad ones are made from is good"
write_mesh good.msh "$points" "$tet"
run mesh good.msh
check exits 0
promise "a bad mesh is told with file, line and what is wrong"
write_mesh bad.msh "${points/1 0 0$'\n'3/nan 0 0$'\n'3}" "$tet"
bad_mesh bad.msh ':7: node 2 is at \(nan, 0, 0\), which is not finite'
write_mesh bad.msh "${points/1 0 0$'\n'3/1e999 0 0$'\n'3}" "$tet"
bad_mesh bad.msh ':7: node 2 is at \(inf, 0, 0\), which is not finite'
write_mesh bad.msh "$points" '1 4 2 0 1 1 2 3 9'
bad_mesh bad.msh ':13:17: element 1 has node 9, which is out of range'
write_mesh bad.msh "$points" '1 4 2 0 1 1 2 3 -4'
bad_mesh bad.msh ':13:17: found "-4"; expected a node tag'
write_mesh bad.msh "$points"$'\n5 1 1 1' "$tet"$'\n2 4 2 0 1 2 3 5 4'
bad_mesh bad.msh ':15: tet 2 is inverted'
run mesh bad.msh # refused, but its table shows what is wrong
check has out '^inverted tets +1$'
write_mesh bad.msh "$points"$'\n5 0.5 0.5 0' "$tet"$'\n2 4 2 0 1 1 2 3 5'
bad_mesh bad.msh ':15: tet 2 is flat'
write_mesh bad.msh "$points" "$tet"$'\n2 4 2 0 1 1 2 3 4'
bad_mesh bad.msh ':14: tet 2 is a duplicate'
write_mesh bad.msh "$points"$'\n5 1 1 1' "$tet"
bad_mesh bad.msh ':10: node 5 is unused'
: >bad.msh
bad_mesh bad.msh ': is empty'
head -c 2000 "$thenar" >bad.msh
bad_mesh bad.msh ':1:1: does not begin like a .msh file'
bad_mesh folder.msh ': is a directory; expected a file'
bad_mesh no.msh ': cannot open: No such file'
{ head -c 80 /dev/zero && printf '\4\0\0\0' && head -c 60 /dev/zero; } >cut.stl
bad_mesh cut.stl ': byte 84: truncated, or a wrong count: 4 triangles take at least 200 bytes; found 60'
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >open.obj
run mesh open.obj
check exits 1
check has err '^thenar: open.obj: the edge between vertices .*; expected a closed surface'
check has out '^not closed'
promise "a mesh in millimetres is warned of, and read"
write_mesh large.msh "${points// 1/ 100}" "$tet"
run mesh large.msh
check exits 0
check one_line
check has err '^thenar: warning: large.msh: is 100 m across; a mesh in millimetres\?'
scene 's/shape: .*/shape: {mesh: large.msh}/'
run run scene.yaml --steps 1
check exits 0
check one_line
check has err '^thenar: warning: scene.yaml: body cube is 100 m across; a mesh in millimetres\?'
run mesh large.msh --scale 0.001
check test ! -s err

# ---------------------------------------------------------------------------------------------- bad recordings
promise "a recording that is none is refused"
refuses 1 'nowhere.thenar: cannot open: No such file' export nowhere.thenar --to csv
refuses 1 'folder.msh: is not a regular file; expected a recording' export folder.msh --to csv
: >empty.thenar
refuses 1 'empty.thenar: .*the file ends inside its first bytes' export empty.thenar --to csv
head -c 5000 "$thenar" >garbage.thenar
refuses 1 'garbage.thenar: is not a recording; expected a file written by thenar run' export garbage.thenar --to csv
promise "a recording that was cut is exported up to its last whole frame, with a warning"
head -c $(($(stat -c %s results/recording.thenar) / 2)) results/recording.thenar >cut.thenar
for kind in csv vtk gltf; do
    run export cut.thenar --to $kind --out cut.$kind
    check exits 0
    check one_line
    check has err '^thenar: warning: cut.thenar: damaged after frame [0-9]+: .*it is truncated'
done
check cmp -s cut.csv <(head -n "$(wc -l <cut.csv)" frames.csv)
check test "$(wc -l <cut.csv)" -ge 8

# ---------------------------------------------------------------------------------------------- benchmarks
if [ -z "${THENAR_SANITIZED:-}" ]; then # it takes too long with a sanitizer
    promise "bench force-area tells where the force turns up, and leaves its table as JSON and CSV and a plot of it"
    run bench force-area --out force
    check exits 0
    check has out '^limited, 342 tets .*turns up'
    check has out '^limited, 1204 tets .*turns up'
    check test "$(wc -l <force/force-area.csv)" -eq 97
    check has force/force-area.json '"over_linear"'
    check equal "$(grep -c 'stroke-width="1.5"' force/force-area.svg)" 4

    promise "bench hand has both solvers in every phase, with the paper's frames a second"
    run bench hand --repeats 2 --out hand
    check exits 0
    check has out '^602 tets, 16 bones, h = 10 ms'
    for phase in free moderate fist 'tight fist'; do
        for solver in njls newton; do check has hand/hand.csv "^$phase,$solver,[0-9]+,2,"; done
    done
    check has hand/hand.json '"paper_fps": 119'
fi

# ---------------------------------------------------------------------------------------------- places to write
promise "a place that cannot be written is named"
: >file
refuses 1 '^thenar: file: is a file; expected a directory' run beam-soft --steps 1 --out file
refuses 1 '^thenar: file: is a file; expected a directory' bench linear --out file
refuses 1 '^thenar: file/x: cannot make the directory: Not a directory' run beam-soft --steps 1 --out file/x
refuses 1 '^thenar: nowhere/x.csv: cannot write: No such file' export results/recording.thenar --to csv --out nowhere/x.csv
run mesh good.msh --out nowhere/x.vtk
check exits 1
check has err '^thenar: nowhere/x.vtk: cannot write: No such file'
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked
    chmod a-w locked
    refuses 1 '^thenar: locked/.*: Permission denied' run beam-soft --steps 1 --out locked
fi
if [ -e /dev/full ]; then
    promise "a file that finds the disk full is named, and the others are complete"
    for name in summary.json steps.csv final.vtk recording.thenar; do
        rm -rf full
        mkdir full
        ln -s /dev/full full/$name
        refuses 1 "^thenar: full/$name: cannot write.*: No space left on device" run beam-soft --steps 3 --out full
        [ $name = recording.thenar ] && continue # without it the run does not start
        for other in summary.json steps.csv final.vtk recording.thenar; do
            [ $other = $name ] || check test -s full/$other
        done
    done
    for kind in csv gltf; do
        refuses 1 '^thenar: /dev/full: cannot write' export results/recording.thenar --to $kind --out /dev/full
    done
fi
# broke_off FOLDER: its recording holds some whole frames and can be exported.
broke_off() {
    run export "$1/recording.thenar" --to csv --out broke_off.csv
    check exits 0
    check has err '^thenar: warning: .*was not closed by its writer|damaged after frame'
    check test "$(wc -l <broke_off.csv)" -gt 2
    check cmp -s <(head -n 3 broke_off.csv | cut -d, -f1-13) <(head -n 3 frames.csv | cut -d, -f1-13)
}
promise "a file size limit in the middle of a run is an error like any other, and the frames before it can be read"
arguments="run beam-soft --steps 500 (ulimit -f 32)"
(
    ulimit -f 32
    timeout -k 1 20 "$thenar" run beam-soft --steps 500 --out limited >out 2>err
)
status=$?
check exits 1
check has err '^thenar: limited/recording.thenar: cannot write frame [0-9]+: File too large'
check one_line
check has limited/summary.json '"state_hash"'
broke_off limited
if unshare -rm true 2>/dev/null; then
    promise "a full disk in the middle of a run is an error, and the frames before it can be read"
    mkdir disk
    arguments="run beam-soft --steps 500 (on a disk of 64 KiB)"
    unshare -rm sh -c 'mount -t tmpfs -o size=64k none disk || exit 77
        timeout -k 1 20 "$1" run beam-soft --steps 500 --out disk/run
        status=$?
        cp -r disk/run from_disk
        exit $status' sh "$thenar" >out 2>err
    status=$?
    if [ $status -ne 77 ]; then
        check exits 1
        check has err '^thenar: disk/run/recording.thenar: cannot write frame [0-9]+: No space left on device'
        broke_off from_disk
    fi
fi

# ---------------------------------------------------------------------------------------------- trouble and signals
promise "a simulation that cannot go on exits with 3 and keeps what there was"
refuses 3 '^thenar: beam-soft: step 1 at 0.01 s failed' run beam-soft --steps 5 --set 'bodies.beam.velocity=[9e8, 0, 0]' --out stuck
check has stuck/summary.json '"step_failed": 1'
promise "what no number can follow from is refused before the first step"
refuses 1 'gravity is .1e.308, 0, 0.; expected three numbers up to 1e.06 m/s' run beam-soft --steps 3 --set 'gravity=[1e308, 0, 0]' --out vast

promise "a run tells what tactile devices do, and thenar tactile finds the same in its recording"
run run tactile-flat --steps 70 --set bodies.hand.shape.hand.triangles=6000 --send csv:sent.csv --out worn
check exits 0
check has out '^csv:sent.csv: 70 of 70 commands sent, 0 superseded by newer ones, 0 dropped, 0 reconnects$'
check has worn/summary.json '"steps_touched": [1-9]'
check has worn/steps.csv 'tactile/index_pitch,tactile/index_roll'
cable=$source_dir/scenes/devices/cable.yaml
run tactile worn/recording.thenar --device "$cable" --fingers index --out again.csv
check exits 0
check has out '^hand.index  +[0-9]+ of 71 '
column=$(head -1 worn/steps.csv | tr ',' '\n' | grep -n '^tactile/index_displacement$' | cut -d: -f1)
far=$(paste -d, <(tail -n +2 worn/steps.csv | cut -d, -f"$column") <(tail -n +3 again.csv | cut -d, -f5) |
    awk -F, '{d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d} END {print (most < 1e-7 && NR == 70) ? "same" : most}')
check equal "$far" same
run tactile worn/recording.thenar --device "$(dirname "$cable")/rrs.yaml" --out legs.csv
check exits 0
check equal "$(wc -l <legs.csv)" $((3 * 71 + 1))
promise "what is wrong with a device, a finger or a target is told"
printf 'thenar_device: 1\nkind: rrs\ngeometry: {rod: 0.001}\n' >bad-device.yaml
refuses 1 '^thenar: bad-device.yaml:3:.*the links do not close at pitch' tactile worn/recording.thenar --device bad-device.yaml
refuses 1 'there is no hand other; expected' tactile worn/recording.thenar --device "$cable" --hand other
refuses 2 '--fingers toe; expected thumb' tactile worn/recording.thenar --device "$cable" --fingers toe
refuses 2 '--device is missing' tactile worn/recording.thenar
run run beam-soft --steps 2 --out nohand
refuses 1 'there is no hand; expected a recording with hands' tactile nohand/recording.thenar --device "$cable"
refuses 1 'serial:nowhere' run tactile-flat --steps 1 --set bodies.hand.shape.hand.triangles=6000 --send serial:nowhere@1

promise "closed standard streams do no harm to the files"
scene 's/shape: .*/shape: {mesh: large.msh}/' # this one warns on stderr
arguments="run scene.yaml --steps 5 with all streams closed"
timeout -k 1 20 "$thenar" run scene.yaml --steps 5 --out closed <&- >&- 2>&-
status=$?
check exits 0
: >out
: >err
run export closed/recording.thenar --to csv --out closed.csv
check exits 0
check test ! -s err
check equal "$(wc -l <closed.csv)" 7
check has_not closed/steps.csv warning

# start FOLDER: a long run in the background (with signals as in the foreground), when it has written some frames.
start() {
    arguments="run beam-soft --steps 1000000 --out $1"
    env --default-signal=INT,TERM,HUP "$thenar" run beam-soft --steps 1000000 --out "$1" >out 2>err &
    process=$!
    for _ in $(seq 200); do
        [ "$(stat -c %s "$1/recording.thenar" 2>/dev/null || echo 0)" -gt 40000 ] && return
        sleep 0.05
    done
}
for name in INT TERM HUP; do
    promise "SIG$name ends a run after the current step with all files complete"
    start stop_$name
    kill -$name $process
    wait $process 2>/dev/null
    status=$?
    check exits $((128 + $(kill -l $name)))
    check has err '^thenar: beam-soft: interrupted after [0-9]+ of 1000000 steps$'
    steps=$(sed -n 's/.*"steps": \([0-9]*\),/\1/p' stop_$name/summary.json)
    check test "$steps" -gt 2
    check equal "$(tail -n +2 stop_$name/steps.csv | wc -l)" "$steps"
    run export stop_$name/recording.thenar --to csv --out stop.csv
    check exits 0
    check test ! -s err
    check equal "$(tail -n +3 stop.csv | wc -l)" "$steps"
    run mesh stop_$name/final.vtk
    check exits 0
done
promise "after kill -9 the recording can be read up to the last whole frame"
start killed
kill -9 $process
wait $process 2>/dev/null
check missing killed/summary.json
broke_off killed

echo "$cases checks, $failures failed"
[ $failures -eq 0 ]
