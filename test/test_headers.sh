#!/bin/sh
# Each public header compiles by itself as strict C11 and as C++11, with every compiler that is there.
# usage: test_headers.sh SOURCE_DIRECTORY
set -eu
cd "$1"
tried=0
for header in include/thenar/*.h; do
    name=thenar/$(basename "$header")
    for compiler in gcc clang; do
        command -v $compiler >/dev/null || continue
        printf '#include "%s"\nint unused;\n' "$name" |
            $compiler -std=c11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c -
        tried=$((tried + 1))
    done
    for compiler in g++ clang++; do
        command -v $compiler >/dev/null || continue
        printf '#include "%s"\nint unused;\n' "$name" |
            $compiler -std=c++11 -pedantic-errors -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ -
        tried=$((tried + 1))
    done
done
# Nothing of the physics needs a header of files, scenes or devices.
for name in status mesh model sim hand handle tactile; do
    if grep -nE '#include "thenar/(file|scene|recording|device|haptic|output)\.h"|^THENAR_IO_API' "include/thenar/$name.h"; then
        echo "thenar/$name.h belongs to the physics library, but uses the other one" >&2
        exit 1
    fi
done
[ "$tried" -gt 0 ] || { echo "no compiler" >&2; exit 1; }
echo "$tried compilations of public headers"
