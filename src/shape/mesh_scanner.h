/* A cursor over the bytes of a mesh file: words and numbers of text with line numbers, raw values of either
 * byte order with bounds.
 *
 * Functions that return bool give false after a failure; the message is then in the error and scanner.status
 * says which kind. `what` names the thing that is read, for messages ("a node number"). scanner_integer and
 * scanner_number read a word of text or raw bytes, as scanner.binary says, so that one reader serves the text
 * and the binary variant of a format. */
#ifndef SHAPE_MESH_SCANNER_H
#define SHAPE_MESH_SCANNER_H

#include "base/error.h"
#include "base/file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCANNER_LONGEST_WORD 127

typedef enum scanner_type {
    SCANNER_INT8,
    SCANNER_UINT8,
    SCANNER_INT16,
    SCANNER_UINT16,
    SCANNER_INT32,
    SCANNER_UINT32,
    SCANNER_INT64,
    SCANNER_UINT64,
    SCANNER_FLOAT32,
    SCANNER_FLOAT64
} scanner_type;

typedef struct scanner {
    const char *path;
    const char *start, *at, *end; /* *end is zero, as file_read leaves it */
    const char *line_start;
    long line;                           /* of `at`, from 1 */
    const char *token;                   /* where the last word or value began: messages point there */
    long token_line, token_column;       /* from 1 */
    char word[SCANNER_LONGEST_WORD + 1]; /* the last word; control characters become '?', a long one ends in ... */
    bool binary;                         /* values are raw bytes now */
    bool has_binary;                     /* raw bytes were read: messages give the byte instead of the line */
    bool big_endian;
    bool continues; /* a backslash at the end of a line joins it with the next */
    thenar_status status;
    thenar_error *error;
} scanner;

scanner scanner_on(const char *path, file_bytes bytes, thenar_error *error);

/* THENAR_ERROR_INPUT at the token; returns false. */
bool scanner_fail(scanner *s, const char *format, ...) THENAR_PRINTF(2, 3);

/* THENAR_ERROR_MEMORY; returns false. */
bool scanner_no_memory(scanner *s);

/* The line of the token, or 0 where there are no lines. */
uint32_t scanner_line(const scanner *s);

size_t scanner_left(const scanner *s);

/* Nothing but blanks is left. */
bool scanner_at_end(scanner *s);

/* Nothing but blanks is left on this line. */
bool scanner_at_line_end(scanner *s);

/* Goes to the next line; the rest of this one must be blank. Raw bytes may start right there. */
bool scanner_end_line(scanner *s);
void scanner_skip_line(scanner *s);

/* Goes behind the next occurrence of text; false (and nothing moved, no message) if there is none. */
bool scanner_skip_past(scanner *s, const char *text);

/* The next word, into s->word. */
bool scanner_word(scanner *s, const char *what);

/* The next word is this one, in upper or lower case. */
bool scanner_expect(scanner *s, const char *word);
bool scanner_word_is(const scanner *s, const char *word);

/* A value of `type`; low..high is what is allowed. */
bool scanner_integer(scanner *s, scanner_type type, long low, long high, long *value, const char *what);
bool scanner_number(scanner *s, scanner_type type, double *value, const char *what);
bool scanner_position(scanner *s, scanner_type type, double position[3]);

/* The bytes that one value takes at least: its size if binary; a digit and a blank in text. */
size_t scanner_least_bytes(const scanner *s, scanner_type type);
size_t scanner_type_size(scanner_type type);

/* `count` things of at least `bytes_each` bytes fit into what is left of the file: ask before allocating. */
bool scanner_need(scanner *s, size_t count, size_t bytes_each, const char *what);

#endif
