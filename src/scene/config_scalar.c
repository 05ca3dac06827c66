#include "scene/config_scalar.h"

#include "base/text.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static bool is_one_of(const config_node *node, const char *a, const char *b, const char *c) {
    return strcmp(node->text, a) == 0 || strcmp(node->text, b) == 0 || strcmp(node->text, c) == 0;
}

static bool is_plain(const config_node *node) {
    return node->kind == CONFIG_SCALAR && node->plain;
}

bool config_is_null(const config_node *node) {
    return is_plain(node) && (is_one_of(node, "", "~", "null") || is_one_of(node, "Null", "NULL", "~"));
}

bool config_to_number(const config_node *node, double *value) {
    if (!is_plain(node)) return false;
    const char *sign_skipped = node->text + (*node->text == '-' || *node->text == '+');
    if (strcmp(sign_skipped, ".inf") == 0) {
        *value = *node->text == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (is_one_of(node, ".nan", ".NaN", ".NAN")) {
        *value = NAN;
        return true;
    }
    double number;
    /* The characters keep out what strtod knows beyond YAML: inf, nan, infinity. */
    if (node->text[strspn(node->text, "0123456789+-.eE")] != 0 || !text_to_double(node->text, &number)) return false;
    if (!isfinite(number)) return false;
    *value = number;
    return true;
}

bool config_to_integer(const config_node *node, long *value) {
    return is_plain(node) && text_to_long(node->text, LONG_MIN, LONG_MAX, value);
}

bool config_to_bool(const config_node *node, bool *value) {
    if (!is_plain(node)) return false;
    bool is_true = is_one_of(node, "true", "True", "TRUE");
    if (!is_true && !is_one_of(node, "false", "False", "FALSE")) return false;
    *value = is_true;
    return true;
}

const char *config_kind_name(const config_node *node) {
    double number;
    bool truth;
    if (node->kind == CONFIG_MAPPING) return "a mapping";
    if (node->kind == CONFIG_SEQUENCE) return "a sequence";
    if (config_is_null(node)) return "null";
    if (config_to_number(node, &number)) return "a number";
    if (config_to_bool(node, &truth)) return "a truth value";
    return "text";
}
