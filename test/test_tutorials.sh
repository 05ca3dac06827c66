#!/bin/sh
# The tutorials and the page of commands work as printed. Runs what they print, in order, in a folder of its own:
#   - a block that opens with a comment "NAME: ..." is the file NAME, and equal to examples/tutorials/NAME;
#   - a block "sh" is run and succeeds; a block "bash" is for a person and is not run;
#   - every line of a block "text" is in what the last commands printed.
# Commands whose program is not installed (chromium, gnuplot, matplotlib) are left out, with a message.
# usage: test/test_tutorials.sh SOURCE_FOLDER BUILD_FOLDER      CC and CMAKE name the programs to use
set -eu
source_folder=$1
build_folder=$2
: "${CC:=cc}" "${CMAKE:=cmake}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ln -s "$build_folder" build
ln -s "$source_folder/examples" examples
ln -s "$source_folder/scenes" scenes

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# The installed copy that the C program of a tutorial is compiled against.
"$CMAKE" --install "$build_folder" --prefix "$work/installed" >install.log || { cat install.log; fail install; }
PKG_CONFIG_PATH=$(dirname "$(find "$work/installed" -name thenar.pc)")
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
mkdir bin && ln -s "$(command -v "$CC")" bin/cc
PATH="$work/bin:$PATH"

# available BLOCK: whether the programs that it runs are there; says so if not.
available() {
    missing=""
    ! grep -q 'thenar shot' "$1" || command -v "${THENAR_BROWSER:-chromium}" >/dev/null || missing=chromium
    ! grep -q '^gnuplot' "$1" || command -v gnuplot >/dev/null || missing=gnuplot
    ! grep -q '^python3 fingers.py' "$1" || python3 -c 'import matplotlib' 2>/dev/null || missing=matplotlib
    [ -z "$missing" ] || echo "   left out: no $missing here"
    [ -z "$missing" ]
}

for tutorial in tutorials/first-scene tutorials/own-object tutorials/plot-forces commands; do
    echo "-- docs/$tutorial.md"
    rm -rf blocks && mkdir blocks
    awk '/^```[a-z]/ { kind = substr($0, 4); name = sprintf("blocks/%03d.%s", ++count, kind); next }
         /^```$/ { name = ""; next }
         name { print >name }' "$source_folder/docs/$tutorial.md"
    ran=""
    for block in blocks/*; do
        file=$(sed -n '1s/^\(#\|\/\*\) \([a-z_.]*\): .*/\2/p' "$block")
        case "$block" in
        *.sh)
            ran=""
            if available "$block"; then
                sh -eu "$block" >output 2>&1 || { cat output; fail "$tutorial: $(cat "$block")"; }
                ran=yes
            fi
            ;;
        *.text)
            [ -n "$ran" ] || continue
            while IFS= read -r line; do
                grep -qF -- "$line" output || { cat output; fail "$tutorial: it does not print: $line"; }
            done <"$block"
            ;;
        *.bash) ;;
        *)
            [ -n "$file" ] || fail "$tutorial: a block without a file name: $(head -n 1 "$block")"
            cmp "$block" "examples/tutorials/$file" || fail "$tutorial: $file is not examples/tutorials/$file"
            cp "$block" "$file"
            ;;
        esac
    done
done
[ -s press.html ] && [ -s grips.html ] && [ -s both.html ] && [ -s contacts.csv ] || fail "no reports"
echo "all works as printed"
