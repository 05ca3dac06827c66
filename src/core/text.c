#include "core/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* One C locale for the lifetime of the process; if it cannot be created, the caller's locale is used. */
static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) {
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static locale_t get_c_locale(void) {
    pthread_once(&c_locale_once, make_c_locale);
    return c_locale;
}

double text_scan_double(const char *text, const char **end) {
    locale_t locale = get_c_locale();
    char *stop = NULL;
    double value = locale ? strtod_l(text, &stop, locale) : strtod(text, &stop);
    *end = stop;
    return value;
}

bool text_to_double(const char *text, double *value) {
    if (isspace((unsigned char)*text) || strpbrk(text, "xX")) return false;
    const char *end;
    double number = text_scan_double(text, &end);
    if (end == text || *end != 0) return false;
    *value = number;
    return true;
}

bool text_to_long(const char *text, long low, long high, long *value) {
    if (isspace((unsigned char)*text)) return false;
    char *end;
    errno = 0;
    long number = strtol(text, &end, 10);
    if (end == text || *end != 0 || errno == ERANGE || number < low || number > high) return false;
    *value = number;
    return true;
}

#define LONGEST_WORD 63

/* Damerau-Levenshtein distance (insert, delete, replace, swap of neighbours) by dynamic programming. */
static size_t edit_distance(const char *a, const char *b) {
    size_t rows = strlen(a), columns = strlen(b);
    if (rows > LONGEST_WORD || columns > LONGEST_WORD) return SIZE_MAX;
    size_t table[LONGEST_WORD + 1][LONGEST_WORD + 1];
    for (size_t i = 0; i <= rows; i++) table[i][0] = i;
    for (size_t j = 0; j <= columns; j++) table[0][j] = j;
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j <= columns; j++) {
            size_t best = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (table[i - 1][j] + 1 < best) best = table[i - 1][j] + 1;
            if (table[i][j - 1] + 1 < best) best = table[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && table[i - 2][j - 2] + 1 < best)
                best = table[i - 2][j - 2] + 1;
            table[i][j] = best;
        }
    return table[rows][columns];
}

const char *text_closest(const char *word, const char *const *candidates, size_t count) {
    const char *closest = NULL;
    size_t smallest = 1 + strlen(word) / 3;
    for (size_t i = 0; i < count; i++) {
        size_t distance = edit_distance(word, candidates[i]);
        if (distance < smallest || (distance == smallest && !closest)) {
            smallest = distance;
            closest = candidates[i];
        }
    }
    return closest;
}

size_t text_utf8_length(const char *text, size_t left) {
    if (left == 0) return 0;
    unsigned char first = (unsigned char)text[0], second = left > 1 ? (unsigned char)text[1] : 0;
    if (first < 0x80) return 1;
    size_t length = first >= 0xc2 && first <= 0xdf   ? 2
                    : first >= 0xe0 && first <= 0xef ? 3
                    : first >= 0xf0 && first <= 0xf4 ? 4
                                                     : 0;
    for (size_t i = 1; i < length; i++)
        if (i >= left || ((unsigned char)text[i] & 0xc0) != 0x80) return 0;
    /* Overlong encodings, surrogates, beyond the last code point. */
    if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
        (first == 0xf4 && second > 0x8f))
        return 0;
    return length;
}

/* Bytes of the character at the start of text; 0 for a control character, including those of Latin-1, and for invalid
 * UTF-8. */
static size_t printable_length(const char *text) {
    unsigned char first = (unsigned char)text[0];
    if (first < 0x80) return first >= ' ' && first != 0x7f;
    if (first == 0xc2 && (unsigned char)text[1] < 0xa0) return 0;
    return text_utf8_length(text, 4); /* the terminating zero is never part of a character */
}

bool text_is_printable(const char *text) {
    for (size_t length; *text; text += length) {
        length = printable_length(text);
        if (length == 0) return false;
    }
    return true;
}

void text_make_printable(char *text) {
    while (*text) {
        size_t length = printable_length(text);
        if (length == 0) *text = '_';
        text += length ? length : 1;
    }
}

text_locale text_locale_begin(void) {
    locale_t locale = get_c_locale();
    return (text_locale){.previous = locale ? (void *)uselocale(locale) : NULL};
}

void text_locale_end(text_locale saved) {
    if (saved.previous) uselocale((locale_t)saved.previous);
}
