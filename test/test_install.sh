#!/bin/sh
# What a user of the installed library relies on. Installs into a temporary prefix, then looks at it and uses it from
# outside of the source tree.
# usage: test/test_install.sh SOURCE_FOLDER BUILD_FOLDER      CC and CMAKE name the programs to use
set -eu
source_folder=$1
build_folder=$2
: "${CC:=cc}" "${CMAKE:=cmake}"
case "$CC" in
*clang) CXX="$CC++" ;;
*) CXX=g++ ;;
esac
strict="-Wall -Wextra -pedantic -Werror"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH LD_LIBRARY_PATH THENAR_SCENES

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

promise() {
    echo "-- $*"
}

# expect TEXT COMMAND...: the command succeeds and prints TEXT somewhere.
expect() {
    text=$1
    shift
    "$@" >"$work/output" 2>&1 || { cat "$work/output"; fail "$*"; }
    grep -qF -- "$text" "$work/output" || { cat "$work/output"; fail "$*: no \"$text\" in what it prints"; }
}

# The library, then moved: nothing may depend on the prefix it was installed to.
"$CMAKE" --install "$build_folder" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; fail install; }
prefix="$work/moved"
mv "$work/first" "$prefix"
library_folder=$(dirname "$(find "$prefix" -name libthenar.so)")
static_library="$library_folder/libthenar.a"
export PKG_CONFIG_PATH="$library_folder/pkgconfig"
cd "$work"

promise "what is installed names no folder of the machine it was built on"
# A path begins where no other goes on: a tree in /thenar is not meant by include/thenar.
paths=$(printf '%s|' "$source_folder" "$build_folder" "$work/first" | sed 's/[.+]/\\&/g; s/|$//')
if LC_ALL=C grep -raEl "(^|[^A-Za-z0-9_.}/-])($paths)(/|[^A-Za-z0-9_.-]|\$)" "$prefix"; then fail "these do"; fi
for file in "$prefix/bin/thenar" "$library_folder/libthenar.so"; do
    if readelf -d "$file" | grep -E 'RPATH|RUNPATH'; then fail "$file has a run path"; fi
done

promise "the manual page and the licence come along"
find "$prefix" -name thenar.1 | grep -q /man1/ || fail "no manual page"
[ -e "$prefix/share/doc/thenar/LICENSE" ] || fail "no licence"

promise "only thenar_ symbols are exported"
exported=$(nm -D --defined-only "$library_folder/libthenar.so" | awk '{print $NF}')
echo "$exported" | grep -q '^thenar_sim_step$' || fail "thenar_sim_step is not exported"
if echo "$exported" | grep -v '^thenar_'; then fail "the shared library exports these"; fi
if nm -g --defined-only "$static_library" | awk 'NF == 3 {print $NF}' | grep -v '^thenar_'; then
    fail "the static library exports these"
fi

promise "every function of the headers is exported, and nothing else"
declared=$(cat "$prefix"/include/thenar/*.h | tr '\n' ' ' | grep -o 'THENAR_API [^(]*(' | grep -o 'thenar_[a-z0-9_]*($' |
    tr -d '(' | sort -u)
[ "$declared" = "$(echo "$exported" | sort -u)" ] || {
    echo "$declared" >declared
    echo "$exported" | sort -u >exported
    diff declared exported || fail "headers (<) and library (>) differ"
}

promise "header, pkg-config, CMake, library and command agree on the version"
version=$(sed -n 's/^#define THENAR_VERSION "\(.*\)"/\1/p' "$prefix/include/thenar/status.h")
cat >version.c <<'END'
#include <stdio.h>
#include <string.h>
#include <thenar/status.h>
int main(void) {
    char parts[64];
    snprintf(parts, sizeof parts, "%d.%d.%d", THENAR_VERSION_MAJOR, THENAR_VERSION_MINOR, THENAR_VERSION_PATCH);
    if (strcmp(parts, THENAR_VERSION) != 0) return printf("%s is not %s\n", parts, THENAR_VERSION), 1;
    return puts(thenar_version()) < 0;
}
END
# shellcheck disable=SC2046,SC2086  # flags are lists of words
"$CC" $strict version.c -o version $(pkg-config --cflags --libs thenar)
expect "$version" env LD_LIBRARY_PATH="$library_folder" ./version
expect "$version" pkg-config --modversion thenar
expect "\"$version\"" grep 'set(PACKAGE_VERSION ' "$library_folder/cmake/thenar/thenarConfigVersion.cmake"
expect "thenar $version" "$prefix/bin/thenar" --version
[ -e "$library_folder/libthenar.so.$version" ] || fail "no libthenar.so.$version"

promise "every header compiles alone, as C and as C++"
for header in "$prefix"/include/thenar/*.h; do
    echo "#include <thenar/$(basename "$header")>" >alone.c
    # shellcheck disable=SC2086
    "$CC" $strict -std=c11 -I"$prefix/include" -fsyntax-only alone.c || fail "$header as C"
    command -v "$CXX" >/dev/null || continue
    # shellcheck disable=SC2086
    "$CXX" $strict -std=c++11 -I"$prefix/include" -fsyntax-only -x c++ alone.c || fail "$header as C++"
done

# check_examples FOLDER: the programs in it run and print what they should.
check_examples() {
    expect "2.00 s  tip at -0." "$1/first" "$scenes/beam-soft.yaml"
    expect "all states agree" "$1/many_threads" "$scenes/beam-soft.yaml"
    expect "the same future twice" "$1/snapshot" "$scenes/beam-soft.yaml"
    expect "0.050 s  0.08" "$1/read_recording" out/recording.thenar beam
    expect "sum 0.627840 N, weight 0.627840 N" "$1/contact"
    expect "1.0 s: 3 points touch" "$1/hand"
    expect " ticks, period p50 " "$1/haptic"
    expect "1.0 s: platform at +0.84 mm" "$1/tactile" "$scenes/tactile-flat.yaml"
    expect "reaction 6.569600 N, weight and load 6.569600 N" "$1/build_in_code"
    # A bar under its load and half its weight: (5/0.0016 + 1000 9.81 0.1/2) 0.1/200e3 = 1.81 mm, more at a corner.
    expect "the top sank 1.8" "$1/build_in_code"
}

promise "the installed command finds its scenes and their meshes from any folder"
expect "beam-soft" "$prefix/bin/thenar" list
expect "state_hash" "$prefix/bin/thenar" run beam-soft --steps 5 --out out
if [ -e "$source_folder/assets/meshes/bunny.obj" ]; then
    expect "state_hash" "$prefix/bin/thenar" run bunny-soft --steps 1
fi
scenes=$(pkg-config --variable=scenes thenar)

examples="$source_folder/examples"
programs=$(cd "$examples" && echo *.c | sed 's/\.c//g')
promise "the examples work with pkg-config: $programs"
mkdir shared static
for program in $programs; do
    # shellcheck disable=SC2046,SC2086
    "$CC" $strict -std=c11 "$examples/$program.c" -o "shared/$program" -pthread $(pkg-config --cflags --libs thenar)
done
(export LD_LIBRARY_PATH="$library_folder" && check_examples shared)

promise "the program in README compiles and runs"
awk '/^```/ {inside = ($0 == "```c"); next} inside' "$source_folder/README.md" >readme.c
# shellcheck disable=SC2046,SC2086
"$CC" $strict -std=c11 readme.c -o readme $(pkg-config --cflags --libs thenar)
ln -s "$scenes" scenes # it names scenes/beam-soft.yaml
expect "1.00 s: corner at y = -0.6" env LD_LIBRARY_PATH="$library_folder" ./readme

promise "the examples work with the static library, in a program with an arena_take of its own"
echo 'int arena_take(void); int arena_take(void) { return 0; }' >own.c
for program in $programs; do
    # shellcheck disable=SC2046,SC2086
    "$CC" $strict -std=c11 "$examples/$program.c" own.c -o "static/$program" $(pkg-config --cflags thenar) \
        $(pkg-config --static --libs thenar | sed 's/-lthenar/-l:libthenar.a/')
    if readelf -d "static/$program" | grep libthenar; then fail "$program links the shared library"; fi
done
check_examples static

promise "the examples work with find_package, shared and static"
cat >>CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.20)
project(outside LANGUAGES C)
add_subdirectory($examples examples)
find_package(thenar ${version%.*} REQUIRED)
if(NOT EXISTS \${thenar_SCENES}/beam-soft.yaml)
    message(FATAL_ERROR "thenar_SCENES is \${thenar_SCENES}")
endif()
add_executable(first_static $examples/first.c)
target_link_libraries(first_static PRIVATE thenar::static)
END
expect "" "$CMAKE" -G Ninja -S . -B cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC"
expect "" "$CMAKE" --build cmake
check_examples cmake/examples
expect " ticks, period p50 " cmake/examples/haptic "plugin:$work/cmake/examples/device_plugin.so" 0.2
expect "2.00 s  tip at -0." cmake/first_static "$scenes/beam-soft.yaml"

promise "a C++ program links the library"
if command -v "$CXX" >/dev/null; then
    cat >program.cpp <<'END'
#include <thenar/thenar.h>
#include <cstdio>
int main() {
    thenar_surface surface;
    thenar_error error;
    if (thenar_surface_sphere(1.0, 4, &surface, &error) != THENAR_OK) return 1;
    std::printf("%d triangles\n", surface.triangle_count);
    thenar_surface_free(&surface);
}
END
    # shellcheck disable=SC2046,SC2086
    "$CXX" $strict -std=c++11 program.cpp -o program $(pkg-config --cflags --libs thenar)
    expect "320 triangles" env LD_LIBRARY_PATH="$library_folder" ./program
else
    echo "   left out: no $CXX here"
fi

promise "the README's first program works as printed, in a home of its own"
mkdir home readme
(
    cd readme
    ln -s "$build_folder" build
    awk '/^```c$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source_folder/README.md" >first.c
    awk '/^```sh$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source_folder/README.md" >commands
    awk '/^```text$/ { inside = 1; next } /^```$/ { inside = 0 } inside' "$source_folder/README.md" >printed
    [ -s first.c ] && [ -s commands ] && [ -s printed ] || fail "the README has no first program"
    mkdir bin && ln -s "$(command -v "$CC")" bin/cc
    unset PKG_CONFIG_PATH
    HOME="$work/home" PATH="$PWD/bin:$PATH" sh -eu commands >output 2>&1 || { cat output; fail "the README's commands"; }
    grep -v '^-- ' output | diff printed - || fail "the first program prints something else"
)
echo "all promises hold"
