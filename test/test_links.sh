#!/bin/sh
# What the documents name exists: every relative link leads to a file, and to a heading where it has an anchor; every
# path of the project in backquotes is there. usage: test_links.sh SOURCE_DIRECTORY
set -eu
export LC_ALL=C
cd "$1"
bad=$(mktemp)
trap 'rm -f "$bad"' EXIT

# headings FILE: the anchors of its headings, as GitHub makes them. Lines in code blocks are no headings.
headings() {
    awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ /, ""); print tolower($0) }' "$1" |
        sed 's/\[\([^]]*\)\]([^)]*)/\1/g; s/[`.,:;?!()'"'"'"*\/+=<>]//g; s/ /-/g'
}

for page in README.md CONTRIBUTING.md docs/*.md docs/tutorials/*.md examples/README.md; do
    folder=$(dirname "$page")
    for link in $(awk '/^```/ { code = !code } !code' "$page" | grep -o '](\([^) ]*\)' | sed 's/^](//' | grep -v '^https\{0,1\}:' | sort -u); do
        file=${link%%#*}
        target=$page
        [ -z "$file" ] || target=$folder/$file
        [ -e "$target" ] || { echo "$page: no $link" >>"$bad" && continue; }
        case "$link" in
        *#*) headings "$target" | grep -qxF -e "${link#*#}" || echo "$page: no heading for $link" >>"$bad" ;;
        esac
    done
    # NAME, FILE and * stand for something else.
    for path in $(grep -o '`\(src\|app\|include\|test\|tools\|scenes\|examples\|bench\|web\|docs\|cmake\|man\)/[A-Za-z0-9_./-]*' "$page" |
        tr -d '`' | grep -v '[A-Z][A-Z]' | sort -u); do
        [ -e "$path" ] || echo "$page: no $path" >>"$bad"
    done
done
if [ -s "$bad" ]; then
    cat "$bad" >&2
    exit 1
fi
echo "all links and paths of the documents exist"
