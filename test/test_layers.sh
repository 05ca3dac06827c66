#!/bin/bash
# The modules of src/ depend on each other in one direction, and programs use the public headers.
# usage: test_layers.sh SOURCE_DIRECTORY
#
# The checks: a module includes only itself and modules before it in `order`; app/ includes no internal header (the compiler
# refuses it too, cmake/command.cmake); every quoted include names a file that exists; every header has an include guard
# named after its path.
set -u
export LC_ALL=C
cd "${1:?usage: test_layers.sh SOURCE_DIRECTORY}" || exit 1

# The physics library first, then the library of files and devices: files (io) know nothing of devices, devices nothing
# of the haptic loop that drives them, and scenes put all of them together.
order="core sparse mesh geometry body hand contact solver world tactile io device haptic scene"
# Includes against the order that are still to be removed, as FILE:MODULE.
exceptions=""

failures=0
files=0
fail() {
    failures=$((failures + 1))
    printf '%s\n' "$*" >&2
}
rank() { # MODULE: its place in the order, 0 if it has none
    local place=0 module
    for module in $order; do
        place=$((place + 1))
        [ "$module" = "$1" ] && echo "$place" && return
    done
    echo 0
}
includes() { # FILE: its quoted includes
    sed -n 's/^#include "\(.*\)"$/\1/p' "$1"
}
contains() { # WORD WORDS...
    local word=$1 other
    shift
    for other in "$@"; do [ "$word" = "$other" ] && return 0; done
    return 1
}

for directory in src/*/; do
    module=$(basename "$directory")
    [ "$(rank "$module")" -gt 0 ] || fail "src/$module: no place in the order of modules ($0)"
done

while read -r file; do
    files=$((files + 1))
    module=${file#src/}
    module=${module%%/*}
    own=$(rank "$module")
    for header in $(includes "$file"); do
        case $header in thenar/*) path=include/$header ;; *) path=src/$header ;; esac
        [ -f "$path" ] || { fail "$file: includes $header, which does not exist" && continue; }
        case $header in thenar/*) continue ;; esac
        # shellcheck disable=SC2086
        contains "$file:${header%%/*}" $exceptions && continue
        [ "$(rank "${header%%/*}")" -le "$own" ] ||
            fail "$file: module $module includes $header, of a module above it"
    done
done < <(find src -name '*.[ch]' | sort)

for file in app/*.[ch]; do
    files=$((files + 1))
    for header in $(includes "$file"); do
        [ "$(rank "${header%%/*}")" -eq 0 ] || fail "$file: includes the internal header $header"
    done
done

for file in $(find src include app bench -name '*.h' | sort); do
    name=$(printf '%s' "${file#*/}" | tr 'a-z/.' 'A-Z__')
    case $file in app/* | bench/*) name=$(printf '%s' "$file" | tr 'a-z/.' 'A-Z__') ;; esac
    grep -q "^#ifndef $name\$" "$file" && grep -q "^#define $name\$" "$file" ||
        fail "$file: no include guard $name"
done

[ "$failures" -eq 0 ] || { echo "$failures faults" >&2 && exit 1; }
echo "$files files, every include in order"
