/* Text in the C locale, whatever locale the calling program has set, and suggestions for mistyped names. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The whole of text is one finite or non-finite number (no leading or trailing blanks, no hex): value, true. */
bool text_to_double(const char *text, double *value);

/* The whole of text is one decimal integer within [low, high]. */
bool text_to_long(const char *text, long low, long high, long *value);

/* Reads a number from the front of text as strtod does (leading blanks skipped); *end is behind it, or text if
 * there is none. */
double text_scan_double(const char *text, const char **end);

/* The candidate closest to word by edit distance, or NULL if none is close enough to suggest. */
const char *text_closest(const char *word, const char *const *candidates, size_t count);

/* Bytes of the UTF-8 character at the front of `left` bytes; 0 if there is none. */
size_t text_utf8_length(const char *text, size_t left);

/* Text is UTF-8 without control characters: fit for one line of a report, JSON and all. */
bool text_is_printable(const char *text);

/* Makes text fit for one line of a report, JSON and all: control characters and bytes that are not UTF-8 become '_'. */
void text_make_printable(char *text);

/* printf in this thread uses '.' from begin to end. Begin before writing numbers, end with what begin gave. */
typedef struct text_locale {
    void *previous;
} text_locale;
text_locale text_locale_begin(void);
void text_locale_end(text_locale saved);

#endif
