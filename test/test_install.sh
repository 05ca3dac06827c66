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

# The copy, then moved: nothing may depend on the prefix it was installed to.
"$CMAKE" --install "$build_folder" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; fail install; }
prefix="$work/moved"
mv "$work/first" "$prefix"
library_folder=$(dirname "$(find "$prefix" -name libthenar.so)")
export PKG_CONFIG_PATH="$library_folder/pkgconfig"
cd "$work"

promise "what is installed names no folder of the machine it was built on"
# A path begins where no other goes on: a tree in /thenar is not meant by include/thenar.
paths=$(printf '%s|' "$source_folder" "$build_folder" "$work/first" | sed 's/[.+]/\\&/g; s/|$//')
if LC_ALL=C grep -raEl "(^|[^A-Za-z0-9_.}/-])($paths)(/|[^A-Za-z0-9_.-]|\$)" "$prefix"; then fail "these do"; fi

promise "libthenar links AMD, METIS and the C library; only libthenar_io has a run path, to its own folder"
needed=$(readelf -d "$library_folder/libthenar.so" | sed -n 's/.*(NEEDED).*\[\(lib\)\{0,1\}\([a-z-]*\).*/\2/p' | sort | tr '\n' ' ')
for library in $needed; do
    case $library in amd | metis | suitesparseconfig | m | c | pthread | ld-linux-x | ld-linux-aarch) ;; *) fail "libthenar links $library" ;; esac
done
for file in "$prefix/bin/thenar" "$library_folder/libthenar.so"; do
    if readelf -d "$file" | grep -E 'RPATH|RUNPATH'; then fail "$file has a run path"; fi
done
readelf -d "$library_folder/libthenar_io.so" | grep -E 'RPATH|RUNPATH' | grep -qF '[$ORIGIN]' || fail "libthenar_io has no run path \$ORIGIN"

promise "the manual page and the licence come along"
find "$prefix" -name thenar.1 | grep -q /man1/ || fail "no manual page"
[ -e "$prefix/share/doc/thenar/LICENSE" ] || fail "no licence"

promise "only thenar_ symbols are exported"
exported=$(for library in thenar thenar_io; do nm -D --defined-only "$library_folder/lib$library.so"; done | awk '{print $NF}' | sort)
echo "$exported" | grep -q '^thenar_sim_step$' || fail "thenar_sim_step is not exported"
if echo "$exported" | grep -v '^thenar_'; then fail "the shared libraries export these"; fi
if echo "$exported" | uniq -d | grep .; then fail "both libraries export these"; fi
for library in thenar thenar_io; do
    if nm -g --defined-only "$library_folder/lib$library.a" | awk 'NF == 3 {print $NF}' | grep -v '^thenar_'; then
        fail "lib$library.a exports these"
    fi
done

promise "every function of the headers is exported, and nothing else but thenar_internal_ names"
declared=$(cat "$prefix"/include/thenar/*.h | tr '\n' ' ' | grep -oE 'THENAR_(IO_)?API [^(]*\(' | grep -o 'thenar_[a-z0-9_]*($' |
    tr -d '(' | sort -u)
exported=$(echo "$exported" | grep -v '^thenar_internal_')
[ "$declared" = "$exported" ] || {
    echo "$declared" >declared
    echo "$exported" >exported
    diff declared exported || fail "headers (<) and libraries (>) differ"
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
expect "$version" ./version
expect "$version" pkg-config --modversion thenar
expect "$version" pkg-config --modversion thenar-io
expect "\"$version\"" grep 'set(PACKAGE_VERSION ' "$library_folder/cmake/thenar/thenarConfigVersion.cmake"
expect "thenar $version" "$prefix/bin/thenar" --version
for library in thenar thenar_io; do
    [ -e "$library_folder/lib$library.so.$version" ] || fail "no lib$library.so.$version"
done

promise "every header compiles alone, as C and as C++"
for header in "$prefix"/include/thenar/*.h; do
    echo "#include <thenar/$(basename "$header")>" >alone.c
    # shellcheck disable=SC2086
    "$CC" $strict -std=c11 -I"$prefix/include" -fsyntax-only alone.c || fail "$header as C"
    command -v "$CXX" >/dev/null || continue
    # shellcheck disable=SC2086
    "$CXX" $strict -std=c++11 -I"$prefix/include" -fsyntax-only -x c++ alone.c || fail "$header as C++"
done

# check_some FOLDER: one program with files and one without, once all have been run: their sources are the same.
check_some() {
    expect "2.00 s  tip at -0." "$1/first" beam-soft
    expect "sum 0.627840 N, weight 0.627840 N" "$1/contact"
}

# check_examples FOLDER: the programs in it run and print what they should. Scenes are found by name.
check_examples() {
    expect "2.00 s  tip at -0." "$1/first" beam-soft
    expect "all states agree" "$1/many_threads" beam-soft
    expect "the same future twice" "$1/snapshot" beam-soft
    expect "0.050 s  0.08" "$1/read_recording" out/recording.thenar beam
    expect "sum 0.627840 N, weight 0.627840 N" "$1/contact"
    expect "1.0 s: 4 points touch" "$1/hand"
    # In equilibrium the table carries what the wrist is held with.
    expect "pushes with 50.32 N on 137 mm^2 of skin, the wrist is held with 50.32 N" "$1/physics_only"
    expect " ticks, period p50 " "$1/haptic"
    expect "1.0 s: platform at +0.84 mm" "$1/tactile" tactile-flat
    expect "reaction 6.569600 N, weight and load 6.569600 N" "$1/build_in_code"
    # A bar under its load and half its weight: (5/0.0016 + 1000 9.81 0.1/2) 0.1/200e3 = 1.81 mm, more at a corner.
    expect "the top sank 1.8" "$1/build_in_code"
    for program in $physics_programs; do
        if ldd "$1/$program" | grep -E 'thenar_io|ssl|crypto|websockets|jansson|yaml|zstd|liblo'; then fail "$program loads these"; fi
    done
}

examples="$source_folder/examples"
physics_programs="build_in_code contact hand physics_only"
io_programs="first many_threads snapshot read_recording haptic tactile"
[ "$(cd "$examples" && ls ./*.c | wc -l)" = "$(echo $physics_programs $io_programs | wc -w)" ] || fail "an example is not tested"

# compile FOLDER STATIC_OR_SHARED [SOURCE]: the examples with pkg-config.
compile() {
    mkdir -p "$1"
    for program in $physics_programs $io_programs; do
        case " $physics_programs " in *" $program "*) module=thenar ;; *) module=thenar-io ;; esac
        case $2 in
        shared) libraries=$(pkg-config --libs $module) ;;
        static) libraries=$(pkg-config --static --libs $module | sed -E 's/-l(thenar(_io)?)( |$)/-l:lib\1.a\3/g') ;;
        esac
        # shellcheck disable=SC2046,SC2086
        "$CC" $strict -std=c11 "$examples/$program.c" ${3:-} -o "$1/$program" -pthread $(pkg-config --cflags $module) $libraries
    done
}

# check_scenes: the command and the libraries find their scenes.
check_scenes() {
    expect "beam-soft" "$prefix/bin/thenar" list
    expect "state_hash" "$prefix/bin/thenar" run beam-soft --steps 5 --out out
    if [ -e "$source_folder/assets/meshes/bunny.obj" ]; then
        expect "state_hash" "$prefix/bin/thenar" run bunny-soft --steps 1
    fi
    [ -e "$(pkg-config --variable=scenes thenar-io)/beam-soft.yaml" ] || fail "the variable scenes of thenar-io"
}

promise "the command finds its scenes and their meshes from any folder"
check_scenes

promise "the examples work with pkg-config"
compile shared shared
check_examples shared

promise "the plugins compile with the lines in their comments, and the command loads them"
for name in device_plugin tactile_plugin; do
    cp "$prefix/share/doc/thenar/examples/plugin/$name.c" .
    line=$(sed -n 's/^ \* *cc \(-shared .*\)$/\1/p' "$name.c")
    [ -n "$line" ] || fail "no compile line in $name.c"
    eval "\"$CC\" $line" || fail "cc $line"
done
expect "state_hash" "$prefix/bin/thenar" run haptic-wall --steps 5 --device plugin:./device_plugin.so
expect "state_hash" "$prefix/bin/thenar" run tactile-flat --steps 5 --send plugin:./tactile_plugin.so,commands.txt
[ -s commands.txt ] || fail "tactile_plugin has written no commands"

promise "the examples work with find_package"
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.16)
project(outside LANGUAGES C)
find_package(thenar ${version%.*} REQUIRED COMPONENTS physics io)
if(NOT EXISTS \${thenar_SCENES}/beam-soft.yaml)
    message(FATAL_ERROR "thenar_SCENES is \${thenar_SCENES}")
endif()
find_package(thenar 99 QUIET)
if(thenar_FOUND)
    message(FATAL_ERROR "version 99 is found")
endif()
find_package(thenar QUIET COMPONENTS audio)
if(thenar_FOUND)
    message(FATAL_ERROR "a component that does not exist is found")
endif()
add_subdirectory($examples examples)
find_package(thenar REQUIRED)
add_executable(first_static $examples/first.c)
target_link_libraries(first_static PRIVATE thenar::io_static)
add_executable(contact_static $examples/contact.c)
target_link_libraries(contact_static PRIVATE thenar::static)
END
expect "" "$CMAKE" -G Ninja -S . -B cmake -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC"
expect "" "$CMAKE" --build cmake
check_some cmake/examples
expect " ticks, period p50 " cmake/examples/haptic "plugin:$work/cmake/examples/device_plugin.so" 0.2
expect "2.00 s  tip at -0." cmake/first_static "$prefix/share/thenar/scenes/beam-soft.yaml"
expect "sum 0.627840 N" cmake/contact_static

promise "the examples work with the static libraries, in a program with an arena_take of its own"
echo 'int arena_take(void); int arena_take(void) { return 0; }' >own.c
compile static static own.c
for program in $physics_programs $io_programs; do
    if readelf -d "static/$program" | grep libthenar; then fail "$program links a shared library"; fi
done
(export THENAR_SCENES="$prefix/share/thenar/scenes" && check_some static)

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
    expect "320 triangles" ./program
else
    echo "   left out: no $CXX here"
fi

promise "programs and scenes work after the copy has been moved once more"
mv "$prefix" "$work/elsewhere"
prefix="$work/elsewhere"
library_folder="$prefix${library_folder#"$work/moved"}"
export PKG_CONFIG_PATH="$library_folder/pkgconfig"
check_scenes
# shellcheck disable=SC2046
"$CC" "$examples/first.c" -o moved_first $(pkg-config --cflags --libs thenar-io)
expect "2.00 s  tip at -0." ./moved_first beam-soft
expect "" "$CMAKE" -G Ninja -S . -B cmake_moved -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$CC"
expect "" "$CMAKE" --build cmake_moved --target first contact_static
expect "2.00 s  tip at -0." cmake_moved/examples/first beam-soft

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
