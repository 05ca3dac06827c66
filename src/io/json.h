/* JSON (RFC 8259) from untrusted text, as jansson's values.
 *
 * jansson has a reader of its own, which is not used: where memory runs out within a text or a number it goes on without
 * the rest, and reads behind its buffer or aborts. Its functions that make values say so and can be relied on.
 *
 * Bounds: JSON_TEXT_DEPTH, JSON_TEXT_VALUES; memory of at most some 100 bytes a byte of text. Keys are there once, texts
 * are UTF-8 and have no zero in them, whole numbers fit into 64 bits, others are finite. */
#ifndef IO_JSON_H
#define IO_JSON_H

#include "core/error.h"

#include <jansson.h>

#define JSON_TEXT_DEPTH 128      /* of lists and objects in each other */
#define JSON_TEXT_VALUES 1000000 /* of a text */

/* What is wrong with a text, and where. */
typedef struct json_text_fault {
    thenar_status status; /* THENAR_ERROR_INPUT or THENAR_ERROR_MEMORY */
    const char *what;     /* "text without an end", ...: a constant */
    size_t offset;        /* bytes from the start; the size of the text if more was expected */
    long line, column;    /* of that, from 1, in characters */
} json_text_fault;

/* A new reference, or NULL and what is wrong. */
json_t *json_text_read(const char *text, size_t size, json_text_fault *fault);

/* The same with a message that begins with the place in `name`. */
thenar_status json_text_parse(const char *text, size_t size, const char *name, json_t **out, thenar_error *error);

#endif
