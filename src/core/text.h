/* Text in the C locale, whatever locale the calling program has set, and suggestions for misspelled names. */
#ifndef CORE_TEXT_H
#define CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* True if all of text is one number, finite or not (no leading or trailing blanks, no hex). */
bool text_to_double(const char *text, double *value);

/* True if all of text is one decimal integer within [low, high]. */
bool text_to_long(const char *text, long low, long high, long *value);

/* Reads a number from the start of text as strtod does (skips leading blanks). *end is the position after it, or text
 * if there is none. */
double text_scan_double(const char *text, const char **end);

/* The candidate closest to word by edit distance, or NULL if none is close enough to suggest. */
const char *text_closest(const char *word, const char *const *candidates, size_t count);

/* Bytes of the UTF-8 character at the start of `left` bytes; 0 if there is none. */
size_t text_utf8_length(const char *text, size_t left);

/* True if text is UTF-8 without control characters, so that it fits on one line of a report or JSON. */
bool text_is_printable(const char *text);

/* Makes text fit for one line of a report or JSON: control characters and invalid bytes become '_'. */
void text_make_printable(char *text);

/* Between begin and end, printf in this thread uses '.'. Pass the result of begin to end. */
typedef struct text_locale {
    void *previous;
} text_locale;
text_locale text_locale_begin(void);
void text_locale_end(text_locale saved);

#endif
