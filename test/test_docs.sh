#!/bin/sh
# Every public function and type has a doc comment right before it. usage: test_docs.sh SOURCE_DIRECTORY
set -eu
cd "$1"
missing=$(awk '
    FNR == 1 { documented = 0; continued = 0; inside = 0 }
    /^\/\*\*/ { documented = 1 }
    /^(THENAR_API|THENAR_IO_API|static inline|typedef)/ && !continued && !documented { print FILENAME ":" FNR ": " $0 }
    /^(THENAR_API|THENAR_IO_API)/ { continued = !/;$/ }
    /^typedef (struct|enum) .*\{$/ { inside = 1 }
    /^}/ { inside = 0 }
    continued && /;$/ { continued = 0 }
    /[;}]$/ && !inside { documented = 0 }
' include/thenar/*.h)
if [ -n "$missing" ]; then
    printf 'without a doc comment:\n%s\n' "$missing" >&2
    exit 1
fi
echo "$(grep -c -hE '^THENAR_(IO_)?API' include/thenar/*.h | awk '{ n += $1 } END { print n }') public functions, all documented"
