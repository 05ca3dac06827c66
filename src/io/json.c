#include "io/file.h"

#include "core/memory.h"
#include "core/text.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *text;
    size_t size, at;
    int depth;
    size_t values;
    ARRAY(char) word; /* the string or number that is being read */
    json_text_fault *fault;
} reader;

/* Both record the error and return false. */
static bool fail(reader *r, const char *what) {
    *r->fault = (json_text_fault){.status = THENAR_ERROR_INPUT, .what = what, .offset = r->at};
    return false;
}

static bool no_memory(reader *r) {
    *r->fault = (json_text_fault){.status = THENAR_ERROR_MEMORY, .what = "out of memory", .offset = r->at};
    return false;
}

/* The next byte, or -1 at the end. */
static int peek(const reader *r) {
    return r->at < r->size ? (unsigned char)r->text[r->at] : -1;
}

static int peek_after_blanks(reader *r) {
    while (r->at < r->size && strchr(" \t\r\n", r->text[r->at]) && r->text[r->at]) r->at++;
    return peek(r);
}

static bool push(reader *r, char byte) {
    return ARRAY_PUSH(&r->word, byte) || no_memory(r);
}

/* The four digits after \u. */
static bool read_unit(reader *r, unsigned *unit) {
    *unit = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        int c = peek(r);
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return fail(r, "invalid escape; expected four hexadecimal digits");
        *unit = *unit << 4 | (unsigned)digit;
    }
    return true;
}

static bool push_character(reader *r, unsigned c) {
    if (c < 0x80) return push(r, (char)c);
    if (c < 0x800) return push(r, (char)(0xc0 | c >> 6)) && push(r, (char)(0x80 | (c & 63)));
    if (c < 0x10000)
        return push(r, (char)(0xe0 | c >> 12)) && push(r, (char)(0x80 | (c >> 6 & 63))) &&
               push(r, (char)(0x80 | (c & 63)));
    return push(r, (char)(0xf0 | c >> 18)) && push(r, (char)(0x80 | (c >> 12 & 63))) &&
           push(r, (char)(0x80 | (c >> 6 & 63))) && push(r, (char)(0x80 | (c & 63)));
}

/* After \u: a character, or the two surrogates of one. */
static bool read_unicode(reader *r) {
    unsigned c, low;
    if (!read_unit(r, &c)) return false;
    if (c == 0) return fail(r, "string contains a zero character");
    if (c >= 0xdc00 && c <= 0xdfff) return fail(r, "low surrogate without a high one");
    if (c < 0xd800 || c > 0xdbff) return push_character(r, c);
    for (int i = 0; i < 2; i++, r->at++)
        if (peek(r) != "\\u"[i]) return fail(r, "high surrogate without a low one");
    if (!read_unit(r, &low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return fail(r, "high surrogate without a low one");
    return push_character(r, 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00));
}

static bool read_escape(reader *r) {
    static const char names[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    r->at++;
    int c = peek(r);
    const char *name = c > 0 ? strchr(names, c) : NULL;
    if (c != 'u' && !name) return fail(r, "invalid escape");
    r->at++;
    return c == 'u' ? read_unicode(r) : push(r, meanings[name - names]);
}

/* A character beyond ASCII. */
static bool read_character(reader *r) {
    size_t length = text_utf8_length(r->text + r->at, r->size - r->at);
    if (length == 0) {
        /* A truncated character is an error at the end of the text, like any other truncation. */
        size_t after = 1;
        while (r->at + after < r->size && ((unsigned char)r->text[r->at + after] & 0xc0) == 0x80) after++;
        if (r->at + after == r->size && after < 4 && peek(r) >= 0xc2) r->at = r->size;
        return fail(r, "invalid UTF-8");
    }
    for (; length > 0; length--)
        if (!push(r, r->text[r->at++])) return false;
    return true;
}

/* Reads a string, from its opening quote on, into `word`, terminated by a zero that is not counted. */
static bool read_text(reader *r) {
    r->word.count = 0;
    for (r->at++;;) {
        int c = peek(r);
        bool read = true;
        if (c < 0) return fail(r, "unterminated string");
        if (c < ' ') return fail(r, "control character in a string");
        if (c == '"') break;
        if (c == '\\')
            read = read_escape(r);
        else if (c >= 0x80)
            read = read_character(r);
        else
            read = push(r, r->text[r->at++]);
        if (!read) return false;
    }
    r->at++;
    if (!push(r, 0)) return false;
    r->word.count--;
    return true;
}

static bool read_digits(reader *r) {
    if (!(peek(r) >= '0' && peek(r) <= '9')) return fail(r, "invalid number; expected a digit");
    while (peek(r) >= '0' && peek(r) <= '9')
        if (!push(r, r->text[r->at++])) return false;
    return true;
}

/* Reads a number into `word`. *whole: it has neither a point nor an exponent. */
static bool read_number_text(reader *r, bool *whole) {
    *whole = true;
    r->word.count = 0;
    if (peek(r) == '-' && !push(r, r->text[r->at++])) return false;
    if (peek(r) == '0') {
        if (!push(r, r->text[r->at++])) return false;
    } else if (!read_digits(r)) {
        return false;
    }
    if (peek(r) == '.') {
        *whole = false;
        if (!push(r, r->text[r->at++]) || !read_digits(r)) return false;
    }
    if (peek(r) == 'e' || peek(r) == 'E') {
        *whole = false;
        if (!push(r, r->text[r->at++])) return false;
        if ((peek(r) == '+' || peek(r) == '-') && !push(r, r->text[r->at++])) return false;
        if (!read_digits(r)) return false;
    }
    return push(r, 0);
}

static json_t *read_number(reader *r) {
    size_t begin = r->at;
    bool whole;
    if (!read_number_text(r, &whole)) return NULL;
    long integer = 0;
    double number = 0;
    bool fits = whole ? text_to_long(r->word.data, LONG_MIN, LONG_MAX, &integer)
                      : text_to_double(r->word.data, &number) && isfinite(number);
    if (!fits) {
        r->at = begin;
        fail(r, "number out of range");
        return NULL;
    }
    json_t *value = whole ? json_integer(integer) : json_real(number);
    if (!value) no_memory(r);
    return value;
}

static bool read_word(reader *r, const char *word) {
    for (; *word; word++, r->at++)
        if (peek(r) != *word) return fail(r, "unknown word; expected true, false or null");
    return true;
}

static json_t *read_value(reader *r);

static bool read_item(reader *r, json_t *list) {
    json_t *item = read_value(r);
    return item && (json_array_append_new(list, item) == 0 || no_memory(r));
}

/* A key, a colon and a value. */
static bool read_member(reader *r, json_t *object) {
    if (peek_after_blanks(r) != '"') return fail(r, "expected a key in quotes");
    size_t begin = r->at;
    if (!read_text(r)) return false;
    if (json_object_get(object, r->word.data)) {
        r->at = begin;
        return fail(r, "duplicate key");
    }
    /* Reading the value overwrites `word`. */
    char *key = memory_copy(r->word.data, r->word.count + 1);
    if (!key) return no_memory(r);
    json_t *value = NULL;
    if (peek_after_blanks(r) == ':') {
        r->at++;
        value = read_value(r);
    } else {
        fail(r, "expected : after the key");
    }
    bool kept = value && json_object_set_new_nocheck(object, key, value) == 0;
    if (value && !kept) no_memory(r);
    free(key);
    return kept;
}

/* Reads the items of an array or the members of an object from the opening bracket on. */
static bool read_contents(reader *r, json_t *container, bool is_object) {
    char end = is_object ? '}' : ']';
    r->at++;
    if (peek_after_blanks(r) == end) {
        r->at++;
        return true;
    }
    for (;;) {
        if (!(is_object ? read_member : read_item)(r, container)) return false;
        int c = peek_after_blanks(r);
        if (c != ',' && c != end)
            return fail(r, is_object ? "unterminated object; expected , or }" : "unterminated array; expected , or ]");
        r->at++;
        if (c == end) return true;
    }
}

static json_t *read_container(reader *r, bool is_object) {
    json_t *container = is_object ? json_object() : json_array();
    if (container ? read_contents(r, container, is_object) : no_memory(r)) return container;
    json_decref(container);
    return NULL;
}

static json_t *read_string(reader *r) {
    if (!read_text(r)) return NULL;
    json_t *value = json_stringn_nocheck(r->word.data, r->word.count);
    if (!value) no_memory(r);
    return value;
}

static json_t *read_value(reader *r) {
    int c = peek_after_blanks(r);
    json_t *value = NULL;
    if (++r->values > JSON_TEXT_VALUES) {
        fail(r, "too many values; expected at most a million");
    } else if (c == '{' || c == '[') {
        if (++r->depth > JSON_TEXT_DEPTH)
            fail(r, "nested too deep; expected at most 128 levels");
        else
            value = read_container(r, c == '{');
        r->depth--;
    } else if (c == '"') {
        value = read_string(r);
    } else if (c == '-' || (c >= '0' && c <= '9')) {
        value = read_number(r);
    } else if (c == 't') {
        value = read_word(r, "true") ? json_true() : NULL;
    } else if (c == 'f') {
        value = read_word(r, "false") ? json_false() : NULL;
    } else if (c == 'n') {
        value = read_word(r, "null") ? json_null() : NULL;
    } else {
        fail(r, c < 0                  ? "unexpected end; expected a value"
                : c == 'N' || c == 'I' ? "NaN and Infinity are not JSON"
                                       : "expected a JSON value");
    }
    return value;
}

static void find_line(const char *text, json_text_fault *fault) {
    fault->line = fault->column = 1;
    for (size_t i = 0; i < fault->offset; i++) {
        bool ends = text[i] == '\n';
        fault->line += ends;
        if (ends)
            fault->column = 1;
        else
            fault->column += ((unsigned char)text[i] & 0xc0) != 0x80;
    }
}

json_t *json_text_read(const char *text, size_t size, json_text_fault *fault) {
    reader r = {.text = text, .size = size, .fault = fault};
    *fault = (json_text_fault){0};
    json_t *root = read_value(&r);
    if (root && peek_after_blanks(&r) >= 0) {
        fail(&r, "text after the value; expected the end");
        json_decref(root);
        root = NULL;
    }
    free(r.word.data);
    if (!root) find_line(text, fault);
    return root;
}

thenar_status json_text_parse(const char *text, size_t size, const char *name, json_t **out, thenar_error *error) {
    json_text_fault fault;
    *out = json_text_read(text, size, &fault);
    if (*out) return THENAR_OK;
    if (fault.status == THENAR_ERROR_MEMORY) return error_memory(error, name);
    return error_at(error, name, fault.line, fault.column, "%s", fault.what);
}
