/* Reads JSON (RFC 8259) from untrusted text into jansson's values.
 *
 * jansson's own reader is not used: when memory runs out within a string or a number it continues without the rest, and
 * reads beyond its buffer or aborts. Its functions that create values report running out of memory.
 *
 * Limits: JSON_TEXT_DEPTH, JSON_TEXT_VALUES, and about 100 bytes of memory per byte of text. Duplicate keys are errors.
 * Strings are UTF-8 without zeros, whole numbers fit into 64 bits, and other numbers are finite. */
#ifndef IO_JSON_H
#define IO_JSON_H

#include "core/error.h"

#include <jansson.h>

#define JSON_TEXT_DEPTH 128      /* levels of nested arrays and objects */
#define JSON_TEXT_VALUES 1000000 /* values in a text */

/* What is wrong with a text, and where. */
typedef struct json_text_fault {
    thenar_status status; /* THENAR_ERROR_INPUT or THENAR_ERROR_MEMORY */
    const char *what;     /* "unterminated string", ...: a constant */
    size_t offset;        /* bytes from the start; the size of the text if more was expected */
    long line, column;    /* of the offset, from 1, in characters */
} json_text_fault;

/* A new reference, or NULL and a fault. */
json_t *json_text_read(const char *text, size_t size, json_text_fault *fault);

/* The same with a message that begins with `name`, line and column. */
thenar_status json_text_parse(const char *text, size_t size, const char *name, json_t **out, thenar_error *error);

#endif
