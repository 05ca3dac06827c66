# Doxygen reads the public headers through this filter. It makes the comment that opens a header the description of the
# file and of a group that holds everything in it, so that the reference has one page a header. The headers stay plain C.
FNR == 1 {
    name = FILENAME
    sub(/.*\//, "", name)
    stem = name
    sub(/\.h$/, "", stem)
    line = $0
    if (sub(/^\/\*+ */, "", line)) {
        end = (line ~ /\*\/$/)
        sub(/ *\*\/$/, "", line)
        # The title is the first sentence, or the words before a colon.
        title = line
        sub(/[:.].*/, "", title)
        printf "/** @file */ /** @defgroup %s thenar/%s: %s\n * %s%s\n", stem, name, title, line, end ? " */ /** @addtogroup " stem "\n * @{ */" : ""
        inside = !end
        next
    }
}
inside && /\*\/$/ {
    sub(/\*\/$/, "")
    printf "%s*/ /** @addtogroup %s\n * @{ */\n", $0, stem
    inside = 0
    next
}
{ print }
END { print "/** @} */" }
