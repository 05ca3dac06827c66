#include "io/mesh_reader.h"

#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

scanner scanner_make(const char *path, file_bytes bytes, thenar_error *error) {
    return (scanner){.path = path,
                     .start = bytes.data,
                     .at = bytes.data,
                     .end = bytes.data + bytes.size,
                     .line_start = bytes.data,
                     .token = bytes.data,
                     .line = 1,
                     .token_line = 1,
                     .token_column = 1,
                     .error = error};
}

bool scanner_fail(scanner *s, const char *format, ...) {
    char text[sizeof s->error->text];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (s->has_binary)
        s->status = error_at(s->error, s->path, 0, 0, "byte %zu: %s", (size_t)(s->token - s->start), text);
    else
        s->status = error_at(s->error, s->path, s->token_line, s->token_column, "%s", text);
    return false;
}

bool scanner_no_memory(scanner *s) {
    s->status = error_memory(s->error, s->path);
    return false;
}

uint32_t scanner_line(const scanner *s) {
    return s->has_binary ? 0 : (uint32_t)s->token_line;
}

size_t scanner_left(const scanner *s) {
    return (size_t)(s->end - s->at);
}

static void mark_token(scanner *s) {
    s->token = s->at;
    s->token_line = s->line;
    s->token_column = s->at - s->line_start + 1;
}

static bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static void count_line(scanner *s) {
    s->line++;
    s->line_start = s->at;
}

/* The length of a backslash and a line break at `at`, or 0. */
static size_t continuation(const scanner *s, const char *at) {
    if (!s->continues || *at != '\\') return 0;
    if (at[1] == '\n') return 2;
    return at[1] == '\r' && at[2] == '\n' ? 3 : 0;
}

/* Skips blanks of this line and, with `breaks`, of the following ones. */
static void skip_blanks(scanner *s, bool breaks) {
    while (s->at < s->end) {
        size_t joined = continuation(s, s->at);
        bool line_break = *s->at == '\n';
        if (!joined && (!is_blank(*s->at) || (line_break && !breaks))) return;
        s->at += joined ? joined : 1;
        if (joined || line_break) count_line(s);
    }
}

bool scanner_at_end(scanner *s) {
    skip_blanks(s, true);
    mark_token(s);
    return s->at == s->end;
}

bool scanner_at_line_end(scanner *s) {
    skip_blanks(s, false);
    mark_token(s);
    return s->at == s->end || *s->at == '\n';
}

bool scanner_end_line(scanner *s) {
    if (!scanner_at_line_end(s)) {
        if (!scanner_word(s, "the end of the line")) return false;
        return scanner_fail(s, "found \"%s\"; expected the end of the line", s->word);
    }
    if (s->at < s->end) {
        s->at++;
        count_line(s);
    }
    return true;
}

void scanner_skip_line(scanner *s) {
    while (s->at < s->end && *s->at != '\n') {
        size_t joined = continuation(s, s->at);
        s->at += joined ? joined : 1;
        if (joined) count_line(s);
    }
    if (s->at == s->end) return;
    s->at++;
    count_line(s);
}

bool scanner_skip_past(scanner *s, const char *text) {
    const char *found = memmem(s->at, scanner_left(s), text, strlen(text));
    if (!found) return false;
    const char *target = found + strlen(text);
    for (const char *newline; (newline = memchr(s->at, '\n', (size_t)(target - s->at)));) {
        s->at = newline + 1;
        count_line(s);
    }
    s->at = target;
    return true;
}

bool scanner_word(scanner *s, const char *what) {
    skip_blanks(s, true);
    mark_token(s);
    if (s->at == s->end) return scanner_fail(s, "the file ends early; expected %s", what);
    size_t length = 0;
    for (; s->at < s->end && !is_blank(*s->at) && !continuation(s, s->at); s->at++, length++)
        if (length < SCANNER_WORD_MAX) s->word[length] = (unsigned char)*s->at < 32 || *s->at == 127 ? '?' : *s->at;
    if (length > SCANNER_WORD_MAX) {
        length = SCANNER_WORD_MAX;
        memcpy(s->word + length - 3, "...", 3);
    }
    s->word[length] = 0;
    return true;
}

bool scanner_word_is(const scanner *s, const char *word) {
    return strcasecmp(s->word, word) == 0;
}

bool scanner_expect(scanner *s, const char *word) {
    if (!scanner_word(s, word)) return false;
    return scanner_word_is(s, word) || scanner_fail(s, "found \"%s\"; expected \"%s\"", s->word, word);
}

static size_t type_size(scanner_type type) {
    static const unsigned char sizes[] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
    return sizes[type];
}

size_t scanner_min_bytes(const scanner *s, scanner_type type) {
    return s->binary ? type_size(type) : 2;
}

bool scanner_need(scanner *s, size_t count, size_t bytes_each, const char *what) {
    size_t left = scanner_left(s);
    /* Text may end without a blank after its last number. */
    if (!s->binary) left++;
    if (bytes_each == 0 || count <= left / bytes_each) return true;
    mark_token(s);
    return scanner_fail(s, "truncated, or a wrong count: %zu %s take at least %.15g bytes; found %zu", count, what,
                        (double)count * (double)bytes_each, scanner_left(s));
}

static bool raw_bits(scanner *s, scanner_type type, uint64_t *bits, const char *what) {
    size_t size = type_size(type);
    mark_token(s);
    s->has_binary = true;
    if (scanner_left(s) < size)
        return scanner_fail(s, "truncated: %s takes %zu bytes; found %zu", what, size, scanner_left(s));
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) value = value << 8 | (unsigned char)s->at[s->big_endian ? i : size - 1 - i];
    s->at += size;
    *bits = value;
    return true;
}

static bool raw_integer(scanner *s, scanner_type type, int64_t *value, const char *what) {
    uint64_t bits = 0;
    if (!raw_bits(s, type, &bits, what)) return false;
    *value = type == SCANNER_INT8                         ? (int8_t)bits
             : type == SCANNER_INT16                      ? (int16_t)bits
             : type == SCANNER_INT32                      ? (int32_t)bits
             : type == SCANNER_UINT64 && bits > INT64_MAX ? INT64_MAX
                                                          : (int64_t)bits;
    return true;
}

bool scanner_integer(scanner *s, scanner_type type, long low, long high, long *value, const char *what) {
    assert(type < SCANNER_FLOAT32);
    if (!s->binary) {
        if (!scanner_word(s, what)) return false;
        if (text_to_long(s->word, low, high, value)) return true;
        return scanner_fail(s, "found \"%s\"; expected %s, %ld..%ld", s->word, what, low, high);
    }
    int64_t raw;
    if (!raw_integer(s, type, &raw, what)) return false;
    if (raw < low || raw > high)
        return scanner_fail(s, "found %lld; expected %s, %ld..%ld", (long long)raw, what, low, high);
    *value = (long)raw;
    return true;
}

bool scanner_number(scanner *s, scanner_type type, double *value, const char *what) {
    if (!s->binary) {
        if (!scanner_word(s, what)) return false;
        return text_to_double(s->word, value) || scanner_fail(s, "found \"%s\"; expected %s", s->word, what);
    }
    if (type < SCANNER_FLOAT32) {
        int64_t integer;
        if (!raw_integer(s, type, &integer, what)) return false;
        *value = (double)integer;
        return true;
    }
    uint64_t bits = 0;
    if (!raw_bits(s, type, &bits, what)) return false;
    if (type == SCANNER_FLOAT32) {
        uint32_t word = (uint32_t)bits;
        float single;
        memcpy(&single, &word, sizeof single);
        *value = (double)single;
    } else {
        memcpy(value, &bits, sizeof *value);
    }
    return true;
}

bool scanner_position(scanner *s, scanner_type type, double position[3]) {
    return scanner_number(s, type, &position[0], "a coordinate") &&
           scanner_number(s, type, &position[1], "a coordinate") &&
           scanner_number(s, type, &position[2], "a coordinate");
}
