/* --set PATH=VALUE: find the place in the tree, parse the value, put it there. */
#include "scene/config.h"

#include "base/memory.h"
#include "base/text.h"
#include "scene/config_tree.h"

#include <stdlib.h>
#include <string.h>

/* A walk along a path from the root of the tree. */
typedef struct walk {
    const char *place; /* "--set PATH", for messages */
    const char *path;
    const char *at;    /* what is left of the path */
    char *name;        /* the step that the walk is at: a key or the digits of an index */
    int behind;        /* characters of the path before that step */
    int depth;         /* of the node that the step leads to */
    config_node *node; /* what the step is looked up in */
    thenar_error *error;
} walk;

#define walk_error(w, ...) error_at((w)->error, (w)->place, 0, 0, __VA_ARGS__)

/* Reads the next step of the path into name. */
static thenar_status read_step(walk *w) {
    const char *at = w->at;
    bool bracket = *at == '[';
    if (bracket) at++;
    size_t length = strcspn(at, bracket ? "]" : ".[");
    memcpy(w->name, at, length);
    w->name[length] = 0;
    at += length;
    bool good = length > 0 && (!bracket || *at == ']');
    if (good && bracket) at++;
    if (good && *at == '.')
        good = *++at != 0 && *at != '[';
    else if (good)
        good = *at == 0 || *at == '[';
    if (!good)
        return walk_error(w, "cannot read the path; expected keys with dots between and [i] for items, as "
                             "bodies.beam.position[2]");
    if (strcmp(w->name, "<<") == 0) /* as in a file: it could not be printed and read again */
        return walk_error(w, "merge key '<<' is not supported; expected the keys themselves");
    w->behind = (int)(w->at - w->path);
    w->at = at;
    if (++w->depth > CONFIG_DEPTH_LIMIT)
        return walk_error(w, "too many keys; expected at most %d levels", CONFIG_DEPTH_LIMIT);
    return THENAR_OK;
}

/* "bodies.beam" for messages about what the step was looked up in. */
static config_quoted where(const walk *w) {
    if (w->behind == 0) return config_quote("the top level");
    char text[80];
    int length = w->path[w->behind - 1] == '.' ? w->behind - 1 : w->behind;
    snprintf(text, sizeof text, "%.*s", length, w->path);
    return config_quote(text);
}

static thenar_status no_such_key(const walk *w) {
    const char *candidates[CONFIG_CANDIDATES];
    size_t count = config_candidates(w->node, candidates);
    const char *closest = text_closest(w->name, candidates, count);
    config_quoted name = config_quote(w->name);
    if (closest)
        return walk_error(w, "no key '%s' in %s; did you mean '%s'?", name.text, where(w).text,
                          config_quote(closest).text);
    char known[512];
    config_join(candidates, count, known, sizeof known);
    return walk_error(w, "no key '%s' in %s; expected one of: %s", name.text, where(w).text, known);
}

/* What the step leads to: *child is NULL if a mapping does not have the key. */
static thenar_status look_up(const walk *w, config_node **child) {
    *child = NULL;
    if (w->node->kind == CONFIG_MAPPING) {
        *child = config_find(w->node, w->name);
        return THENAR_OK;
    }
    if (w->node->kind == CONFIG_SCALAR)
        return walk_error(w, "%s is %s; expected a mapping or a sequence that '%s' can be in", where(w).text,
                          config_kind_name(w->node), config_quote(w->name).text);
    if (w->node->count == 0) return walk_error(w, "%s is an empty sequence; expected one with items", where(w).text);
    long index;
    if (!text_to_long(w->name, 0, (long)w->node->count - 1, &index))
        return walk_error(w, "no item '%s' in %s; expected 0 to %zu", config_quote(w->name).text, where(w).text,
                          w->node->count - 1);
    *child = w->node->first;
    while (index-- > 0) *child = (*child)->next;
    return THENAR_OK;
}

/* Follows the path up to its last step; *child is what that leads to, or NULL. */
static thenar_status walk_to_last(walk *w, config_node **child) {
    for (;;) {
        thenar_status status = read_step(w);
        if (status == THENAR_OK) status = look_up(w, child);
        if (status != THENAR_OK || *w->at == 0) return status;
        if (!*child) return no_such_key(w);
        w->node = *child;
    }
}

static thenar_status put(config *tree, walk *w, config_node *child, config_node *value) {
    if (child && w->node->kind == CONFIG_MAPPING && config_is_null(value)) {
        config_remove(tree, w->node, child);
    } else if (child) {
        config_replace(child, value);
    } else {
        value->key = pool_string(&tree->memory, w->name, strlen(w->name));
        if (!value->key) return error_memory(w->error, w->place);
        config_append(tree, w->node, value);
    }
    return THENAR_OK;
}

static thenar_status set_value(config *tree, walk *w, const char *value_text) {
    if (*value_text == 0)
        return walk_error(w, "no value after '='; expected YAML, as 5, ~ to take the key away, or '' for no text");
    config_node *child, *value;
    thenar_status status = walk_to_last(w, &child);
    if (status == THENAR_OK)
        status =
            config_parse_document(tree, value_text, strlen(value_text), w->place, false, w->depth, &value, w->error);
    return status == THENAR_OK ? put(tree, w, child, value) : status;
}

thenar_status config_set(config *tree, const char *assignment, thenar_error *error) {
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return error_set(error, THENAR_ERROR_INPUT, "--set %s: expected PATH=VALUE, as bodies.beam.material.young=2e6",
                         config_quote(assignment).text);
    if (strlen(equals) > CONFIG_BYTE_LIMIT)
        return error_set(error, THENAR_ERROR_INPUT, "--set: the value is too long; expected at most %zu bytes",
                         CONFIG_BYTE_LIMIT);
    size_t length = (size_t)(equals - assignment);
    char *place = pool_take(&tree->memory, sizeof "--set " + length);
    char *path = memory_array(length + 1, 1);
    char *name = memory_array(length + 1, 1);
    thenar_status status;
    if (place && path && name) {
        memcpy(path, assignment, length);
        snprintf(place, sizeof "--set " + length, "--set %s", path);
        walk w = {
            .place = place, .path = path, .at = path, .name = name, .depth = 1, .node = tree->root, .error = error};
        status = set_value(tree, &w, equals + 1);
    } else {
        status = error_memory(error, "--set");
    }
    free(path);
    free(name);
    return status;
}
