/* The tree of a YAML file through the API: nodes by path. */
#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"
#include "io/file.h"
#include "scene/config.h"

#include "thenar/scene.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct thenar_config {
    config tree;
};

/* Hands out a tree, or frees what could not be loaded. */
static thenar_status give(thenar_config *self, thenar_status status, thenar_config **out) {
    if (status == THENAR_OK)
        *out = self;
    else
        free(self);
    return status;
}

thenar_status thenar_config_load(const char *path, thenar_config **out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the pointer to the tree is NULL");
    *out = NULL;
    thenar_config *self = MEMORY_ARRAY(thenar_config, 1);
    return self ? give(self, config_load(&self->tree, path, error), out) : error_memory(error, path);
}

thenar_status thenar_config_parse(const char *text, size_t size, const char *name, thenar_config **out,
                                  thenar_error *error) {
    USAGE_STATUS(text && name && out, error, "the text, its name or the pointer to the tree are NULL");
    *out = NULL;
    thenar_config *self = MEMORY_ARRAY(thenar_config, 1);
    return self ? give(self, config_parse(&self->tree, text, size, name, error), out) : error_memory(error, name);
}

void thenar_config_free(thenar_config *self) {
    if (!self) return;
    config_free(&self->tree);
    free(self);
}

thenar_status thenar_config_set(thenar_config *self, const char *assignment, thenar_error *error) {
    USAGE_STATUS(self && assignment, error, "the tree or the assignment is NULL");
    return config_set(&self->tree, assignment, error);
}

static const config_node *item_at(const config_node *node, const char *digits, size_t length) {
    char *end;
    long index = length > 0 && length < 10 ? strtol(digits, &end, 10) : -1;
    if (index < 0 || end != digits + length) return NULL;
    const config_node *item = node->first;
    while (item && index-- > 0) item = item->next;
    return item;
}

/* The node at a path, or NULL; nulls are none. */
static const config_node *node_at(const config_node *node, const char *path) {
    while (node && *path) {
        bool bracket = *path == '[';
        if (bracket || *path == '.') path++;
        size_t length = strcspn(path, bracket ? "]" : ".[");
        const config_node *next = NULL;
        if (node->kind == CONFIG_MAPPING && !bracket) {
            for (next = node->first; next; next = next->next)
                if (strlen(next->key) == length && strncmp(next->key, path, length) == 0) break;
        } else if (node->kind == CONFIG_SEQUENCE) {
            next = item_at(node, path, length);
        }
        path += length;
        if (bracket && *path == ']') path++;
        node = next;
    }
    return node && !config_is_null(node) ? node : NULL;
}

thenar_config_kind thenar_config_kind_at(const thenar_config *self, const char *path) {
    USAGE(self && path, THENAR_CONFIG_NONE, "the tree or the path is NULL");
    const config_node *node = node_at(self->tree.root, path);
    if (!node) return THENAR_CONFIG_NONE;
    return node->kind == CONFIG_SCALAR     ? THENAR_CONFIG_SCALAR
           : node->kind == CONFIG_SEQUENCE ? THENAR_CONFIG_SEQUENCE
                                           : THENAR_CONFIG_MAPPING;
}

int thenar_config_count(const thenar_config *self, const char *path) {
    USAGE(self && path, 0, "the tree or the path is NULL");
    const config_node *node = node_at(self->tree.root, path);
    return node && node->kind != CONFIG_SCALAR && node->count <= INT_MAX ? (int)node->count : 0;
}

const char *thenar_config_key(const thenar_config *self, const char *path, int index) {
    USAGE(self && path, NULL, "the tree or the path is NULL");
    const config_node *node = node_at(self->tree.root, path);
    const config_node *item = node && node->kind == CONFIG_MAPPING && index >= 0 ? node->first : NULL;
    while (item && index-- > 0) item = item->next;
    return item ? item->key : NULL;
}

const char *thenar_config_text(const thenar_config *self, const char *path) {
    USAGE(self && path, NULL, "the tree or the path is NULL");
    const config_node *node = node_at(self->tree.root, path);
    return node && node->kind == CONFIG_SCALAR ? node->text : NULL;
}

double thenar_config_number(const thenar_config *self, const char *path) {
    double number;
    USAGE(self && path, NAN, "the tree or the path is NULL");
    const config_node *node = node_at(self->tree.root, path);
    return node && node->kind == CONFIG_SCALAR && node->plain && text_to_double(node->text, &number) ? number : NAN;
}

thenar_status thenar_config_write(const thenar_config *self, const char *path, thenar_error *error) {
    USAGE_STATUS(self, error, "the tree is NULL");
    if (!path) return config_print(self->tree.root, stdout, error);
    FILE *file;
    thenar_status status = file_create(path, &file, error);
    if (status != THENAR_OK) return status;
    status = config_print(self->tree.root, file, error);
    thenar_status closed = file_close(file, path, status == THENAR_OK ? error : NULL);
    return status == THENAR_OK ? closed : status;
}
