/* The tree: its nodes, loading files with their includes, and access by path (--set and thenar_config). */
#include "scene/config.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/text.h"
#include "io/file.h"

#include "thenar/scene.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Nodes, which live in the pool of their tree ---- */

/* A hash table with open addressing of the children of a large mapping, at most half full. It only makes config_find
 * fast: without it, also when there is no memory for it, config_find searches the children one by one. */
struct config_index {
    size_t capacity; /* a power of two */
    config_node *slots[];
};

#define MAX_KEYS 256  /* for a suggestion */
#define INDEX_FROM 16 /* children; a linear search is faster for fewer */

/* Skips children without a key: config_merge is about to remove them. */
static config_node **index_slot(struct config_index *index, const char *key) {
    size_t at = (size_t)hash_bytes(0, key, strlen(key)) & (index->capacity - 1);
    while (index->slots[at] && (!index->slots[at]->key || strcmp(index->slots[at]->key, key) != 0))
        at = (at + 1) & (index->capacity - 1);
    return &index->slots[at];
}

static void index_rebuild(config *tree, config_node *mapping) {
    mapping->index = NULL;
    if (mapping->count < INDEX_FROM) return;
    size_t capacity = 4 * INDEX_FROM;
    while (capacity < 4 * mapping->count) capacity *= 2;
    struct config_index *index = pool_take(&tree->memory, sizeof *index + capacity * sizeof index->slots[0]);
    if (!index) return;
    index->capacity = capacity;
    for (config_node *child = mapping->first; child; child = child->next)
        if (child->key) *index_slot(index, child->key) = child;
    mapping->index = index;
}

config_node *config_find(const config_node *mapping, const char *key) {
    if (mapping->kind != CONFIG_MAPPING) return NULL;
    if (mapping->index) return *index_slot(mapping->index, key);
    for (config_node *child = mapping->first; child; child = child->next)
        if (child->key && strcmp(child->key, key) == 0) return child;
    return NULL;
}

thenar_status config_make(config *tree, config_kind kind, const char *file, int line, int column, config_node **out,
                          thenar_error *error) {
    *out = NULL;
    if (tree->node_count >= CONFIG_NODE_LIMIT)
        return error_at(error, file, line, column, "too many values; expected at most %d", CONFIG_NODE_LIMIT);
    config_node *node = POOL_NEW(&tree->memory, config_node);
    if (!node) return error_memory(error, file);
    tree->node_count++;
    *node = (config_node){.kind = kind, .file = file, .line = line, .column = column};
    *out = node;
    return THENAR_OK;
}

thenar_status config_copy(config *tree, const config_node *source, int depth, int line, int column, config_node **out,
                          thenar_error *error) {
    *out = NULL;
    if (depth > CONFIG_DEPTH_LIMIT)
        return error_at(error, source->file, line, column, "nested too deeply; expected at most %d levels",
                        CONFIG_DEPTH_LIMIT);
    if (tree->alias_count >= CONFIG_ALIAS_LIMIT)
        return error_at(error, source->file, line, column, "aliases add too many values; expected at most %d",
                        CONFIG_ALIAS_LIMIT);
    tree->alias_count++;
    config_node *copy;
    thenar_status status = config_make(tree, source->kind, source->file, source->line, source->column, &copy, error);
    if (status != THENAR_OK) return status;
    copy->plain = source->plain;
    copy->text = source->text;
    for (const config_node *child = source->first; child; child = child->next) {
        config_node *child_copy;
        status = config_copy(tree, child, depth + 1, line, column, &child_copy, error);
        if (status != THENAR_OK) return status;
        child_copy->key = child->key;
        child_copy->key_line = child->key_line;
        child_copy->key_column = child->key_column;
        config_append(tree, copy, child_copy);
    }
    *out = copy;
    return THENAR_OK;
}

static void link_last(config_node *parent, config_node *child) {
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
}

void config_append(config *tree, config_node *parent, config_node *child) {
    assert((parent->kind == CONFIG_MAPPING) == (child->key != NULL));
    link_last(parent, child);
    if (parent->kind != CONFIG_MAPPING) return;
    if (parent->index && 2 * parent->count <= parent->index->capacity)
        *index_slot(parent->index, child->key) = child;
    else
        index_rebuild(tree, parent);
}

void config_replace(config_node *node, const config_node *value) {
    config_node *next = node->next;
    const char *key = node->key;
    *node = *value;
    node->next = next;
    node->key = key;
}

/* Removes the children of a mapping that have no key any more. */
static void remove_keyless(config *tree, config_node *mapping) {
    config_node *child = mapping->first;
    mapping->first = mapping->last = NULL;
    mapping->count = 0;
    for (config_node *next; child; child = next) {
        next = child->next;
        if (child->key) link_last(mapping, child);
    }
    index_rebuild(tree, mapping);
}

void config_remove(config *tree, config_node *mapping, config_node *child) {
    child->key = NULL;
    remove_keyless(tree, mapping);
}

/* Merges mapping `over` into mapping `base` (config.h); `over` must not be used again. */
static void config_merge(config *tree, config_node *base, config_node *over) {
    bool removed = false;
    config_node *next;
    for (config_node *child = over->first; child; child = next) {
        next = child->next;
        config_node *below = config_find(base, child->key);
        if (!below) {
            config_append(tree, base, child);
        } else if (config_is_null(child)) {
            below->key = NULL;
            removed = true;
        } else if (below->kind == CONFIG_MAPPING && child->kind == CONFIG_MAPPING) {
            config_merge(tree, below, child);
        } else {
            config_replace(below, child);
        }
    }
    if (removed) remove_keyless(tree, base);
}

void config_join(const char *const *names, size_t count, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < count; i++) {
        config_quoted name = config_quote(names[i]);
        if (used + strlen(name.text) + sizeof ", , ..." > size) {
            snprintf(text + used, size - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", name.text);
    }
}

config_suggestion config_suggest(const char *word, const char *what, const char *const *names, size_t count) {
    config_suggestion made;
    const char *closest = text_closest(word, names, count);
    char known[512];
    config_join(names, count, known, sizeof known);
    snprintf(made.text, sizeof made.text, "%s%s%s (known: %s)", closest ? " did you mean '" : " expected ",
             closest ? config_quote(closest).text : what, closest ? "'?" : "", known);
    return made;
}

config_suggestion config_suggest_key(const char *word, const char *what, const config_node *mapping) {
    const char *keys[MAX_KEYS];
    size_t count = 0;
    for (const config_node *child = mapping ? mapping->first : NULL; child && count < MAX_KEYS; child = child->next)
        if (child->key) keys[count++] = child->key;
    return config_suggest(word, what, keys, count);
}

config_quoted config_quote(const char *text) {
    config_quoted quoted;
    size_t used = 0;
    const size_t max = sizeof quoted.text - sizeof "...";
    for (; text[used] && used < max; used++) {
        unsigned char c = (unsigned char)text[used];
        quoted.text[used] = c < ' ' || c == 127 ? '?' : text[used];
    }
    if (text[used]) {
        /* Do not cut a UTF-8 character in two. */
        while (used > 0 && ((unsigned char)text[used] & 0xC0) == 0x80) used--;
        memcpy(quoted.text + used, "...", 3);
        used += 3;
    }
    quoted.text[used] = 0;
    return quoted;
}

char *config_resolve(const char *file, const char *path) {
    const char *slash = file && path[0] != '/' ? strrchr(file, '/') : NULL;
    size_t directory = slash ? (size_t)(slash - file) + 1 : 0;
    size_t length = strlen(path);
    char *resolved = memory_array(directory + length + 1, 1);
    if (!resolved) return NULL;
    if (directory > 0) memcpy(resolved, file, directory);
    memcpy(resolved + directory, path, length);
    return resolved;
}

/* ---- Files and their includes ---- */

/* The files that are being loaded, each included by its parent. */
typedef struct include_chain {
    const struct include_chain *parent;
    const char *file;     /* for messages */
    const char *identity; /* absolute path without links, to find a file that includes itself */
    int depth;
} include_chain;

static void chain_text(const include_chain *chain, char *text, size_t size) {
    if (chain->parent) {
        chain_text(chain->parent, text, size);
        size_t used = strlen(text);
        snprintf(text + used, size - used, " includes ");
    } else {
        *text = 0;
    }
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", chain->file);
}

static thenar_status load_file(config *tree, const include_chain *parent, const config_node *place, const char *path,
                               config_node **out, thenar_error *error);

static thenar_status include_one(config *tree, const include_chain *chain, const config_node *name, config_node **base,
                                 thenar_error *error) {
    if (name->kind != CONFIG_SCALAR || config_is_null(name))
        return config_error(error, name, "include is %s; expected a file name or a list of file names",
                            config_kind_name(name));
    if (++tree->include_count > CONFIG_INCLUDE_LIMIT)
        return config_error(error, name, "too many included files; expected at most %d", CONFIG_INCLUDE_LIMIT);
    for (const char *at = name->text; *at; at++)
        if ((unsigned char)*at < ' ')
            return config_error(error, name, "include has a control character in it; expected a file name");
    char *path = config_resolve(name->file, name->text);
    if (!path) return error_memory(error, name->file);
    config_node *included;
    thenar_status status = load_file(tree, chain, name, path, &included, error);
    free(path);
    if (status != THENAR_OK) return status;
    if (*base)
        config_merge(tree, *base, included);
    else
        *base = included;
    return THENAR_OK;
}

/* Merges the tree of a file into those of its includes. */
static thenar_status follow_includes(config *tree, const include_chain *chain, config_node **root,
                                     thenar_error *error) {
    config_node *include = config_find(*root, "include");
    if (!include) return THENAR_OK;
    config_node *base = NULL;
    thenar_status status = THENAR_OK;
    if (include->kind == CONFIG_SEQUENCE) {
        for (const config_node *name = include->first; name && status == THENAR_OK; name = name->next)
            status = include_one(tree, chain, name, &base, error);
    } else if (!config_is_null(include)) {
        status = include_one(tree, chain, include, &base, error);
    }
    if (status != THENAR_OK) return status;
    config_remove(tree, *root, include);
    if (!base) return THENAR_OK;
    config_merge(tree, base, *root);
    *root = base;
    return THENAR_OK;
}

static thenar_status parse_text(config *tree, const include_chain *chain, const char *text, size_t size,
                                config_node **out, thenar_error *error) {
    const char *file = pool_string(&tree->memory, chain->file, strlen(chain->file));
    if (!file) return error_memory(error, chain->file);
    thenar_status status = config_parse_document(tree, text, size, file, true, 1, out, error);
    if (status != THENAR_OK) return status;
    if (config_is_null(*out)) return config_error(error, *out, "an empty document; expected YAML");
    if (chain->parent && (*out)->kind != CONFIG_MAPPING)
        return config_error(error, *out, "an included file is %s; expected a mapping", config_kind_name(*out));
    return follow_includes(tree, chain, out, error);
}

static thenar_status check_chain(const include_chain *chain, const config_node *place, thenar_error *error) {
    char text[640];
    if (chain->depth > CONFIG_INCLUDE_DEPTH_LIMIT)
        return config_error(error, place, "includes are nested too deeply; expected at most %d levels",
                            CONFIG_INCLUDE_DEPTH_LIMIT);
    for (const include_chain *above = chain->parent; above; above = above->parent) {
        if (strcmp(above->identity, chain->identity) != 0) continue;
        chain_text(chain, text, sizeof text);
        return config_error(error, place, "a file includes itself: %s", text);
    }
    return THENAR_OK;
}

/* place: the node with the file name in the including file; NULL for the first file. */
static thenar_status load_file(config *tree, const include_chain *parent, const config_node *place, const char *path,
                               config_node **out, thenar_error *error) {
    char *identity = realpath(path, NULL);
    /* If the file does not exist, reading it below reports that. */
    include_chain chain = {.parent = parent,
                           .file = path,
                           .identity = identity ? identity : path,
                           .depth = parent ? parent->depth + 1 : 0};
    file_bytes bytes = {0};
    thenar_status status = place ? check_chain(&chain, place, error) : THENAR_OK;
    if (status == THENAR_OK) {
        status = file_read(path, CONFIG_BYTE_LIMIT - tree->byte_count, &bytes, error);
        if (status != THENAR_OK && place)
            error_prefix(error, "%s:%d:%d: include", place->file, place->line, place->column);
    }
    if (status == THENAR_OK) {
        tree->byte_count += bytes.size;
        status = parse_text(tree, &chain, bytes.data, bytes.size, out, error);
    }
    free(bytes.data);
    free(identity);
    return status;
}

static thenar_status finish(config *tree, thenar_status status) {
    if (status != THENAR_OK) config_free(tree);
    return status;
}

thenar_status config_load(config *tree, const char *path, thenar_error *error) {
    *tree = (config){0};
    return finish(tree, load_file(tree, NULL, NULL, path, &tree->root, error));
}

thenar_status config_parse(config *tree, const char *text, size_t size, const char *name, thenar_error *error) {
    *tree = (config){0};
    if (size > CONFIG_BYTE_LIMIT)
        return error_at(error, name, 0, 0, "has %zu bytes; expected at most %zu", size, CONFIG_BYTE_LIMIT);
    tree->byte_count = size;
    char *identity = realpath(name, NULL);
    include_chain chain = {.file = name, .identity = identity ? identity : name};
    thenar_status status = parse_text(tree, &chain, text, size, &tree->root, error);
    free(identity);
    return finish(tree, status);
}

void config_free(config *tree) {
    pool_free(&tree->memory);
    *tree = (config){0};
}

/* ---- Access by path ---- */

#define PATH_SIZE 1024

/* Copies the next step of a path to `name`: a key, or the digits of an index. False: the path is malformed. */
static bool path_step(const char **path, char *name) {
    const char *at = *path;
    bool bracket = *at == '[';
    if (bracket) at++;
    size_t length = strcspn(at, bracket ? "]" : ".[");
    memcpy(name, at, length);
    name[length] = 0;
    at += length;
    if (length == 0 || (bracket && *at++ != ']')) return false;
    *path = *at == '.' ? at + 1 : at;
    return *at == '.' ? at[1] != 0 && at[1] != '[' : *at == 0 || *at == '[';
}

/* The child under a key of a mapping or at an index of a sequence, or NULL. */
static config_node *child_of(const config_node *node, const char *name) {
    long index;
    if (node->kind == CONFIG_MAPPING) return config_find(node, name);
    if (node->count == 0 || !text_to_long(name, 0, (long)node->count - 1, &index)) return NULL;
    config_node *child = node->first;
    while (index-- > 0) child = child->next;
    return child;
}

/* The state of config_set while it follows a path from the root. */
typedef struct walk {
    const char *place; /* "--set PATH", for messages */
    const char *path;
    const char *at;    /* the rest of the path */
    int behind;        /* characters of the path before that step */
    int depth;         /* of the node that the step leads to */
    config_node *node; /* in which the step is looked up */
    thenar_error *error;
    char name[PATH_SIZE]; /* the current step: a key or the digits of an index */
} walk;

#define walk_error(w, ...) error_at((w)->error, (w)->place, 0, 0, __VA_ARGS__)

/* Copies the next step to w->name. */
static thenar_status read_step(walk *w) {
    const char *at = w->at;
    if (!path_step(&at, w->name))
        return walk_error(w, "cannot read the path; expected keys separated by dots and [i] for items, as "
                             "bodies.beam.position[2]");
    if (strcmp(w->name, "<<") == 0) /* as in a file: a printed tree could not be read again */
        return walk_error(w, "merge key '<<' is not supported; expected the keys themselves");
    w->behind = (int)(w->at - w->path);
    w->at = at;
    if (++w->depth > CONFIG_DEPTH_LIMIT)
        return walk_error(w, "too many keys; expected at most %d levels", CONFIG_DEPTH_LIMIT);
    return THENAR_OK;
}

/* "bodies.beam": the path of the node in which the step is looked up, for messages. */
static config_quoted where(const walk *w) {
    if (w->behind == 0) return config_quote("the top level");
    char text[80];
    int length = w->path[w->behind - 1] == '.' ? w->behind - 1 : w->behind;
    snprintf(text, sizeof text, "%.*s", length, w->path);
    return config_quote(text);
}

/* The child that the step leads to; NULL if a mapping does not have the key. */
static thenar_status look_up(const walk *w, config_node **child) {
    *child = child_of(w->node, w->name);
    if (*child || w->node->kind == CONFIG_MAPPING) return THENAR_OK;
    if (w->node->kind == CONFIG_SCALAR)
        return walk_error(w, "%s is %s; expected a mapping or a sequence that '%s' can be in", where(w).text,
                          config_kind_name(w->node), config_quote(w->name).text);
    if (w->node->count == 0) return walk_error(w, "%s is an empty sequence; expected one with items", where(w).text);
    return walk_error(w, "no item '%s' in %s; expected 0 to %zu", config_quote(w->name).text, where(w).text,
                      w->node->count - 1);
}

/* Follows the path to its last step, which leads to *child or NULL. */
static thenar_status walk_to_last(walk *w, config_node **child) {
    for (;;) {
        thenar_status status = read_step(w);
        if (status == THENAR_OK) status = look_up(w, child);
        if (status != THENAR_OK || *w->at == 0) return status;
        if (!*child)
            return walk_error(w, "no key '%s' in %s;%s", config_quote(w->name).text, where(w).text,
                              config_suggest_key(w->name, "a known key", w->node).text);
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
        return walk_error(w, "no value after '='; expected YAML, as 5, ~ to remove the key, or '' for empty text");
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
    if (strlen(assignment) > CONFIG_BYTE_LIMIT)
        return error_set(error, THENAR_ERROR_INPUT, "--set: the value is too long; expected at most %zu bytes",
                         CONFIG_BYTE_LIMIT);
    int length = (int)(equals - assignment);
    if (length >= PATH_SIZE)
        return error_set(error, THENAR_ERROR_INPUT, "--set %s: the path is too long; expected less than %d bytes",
                         config_quote(assignment).text, PATH_SIZE);
    char path[PATH_SIZE];
    char *place = pool_take(&tree->memory, sizeof "--set " + (size_t)length);
    if (!place) return error_memory(error, "--set");
    snprintf(path, sizeof path, "%.*s", length, assignment);
    sprintf(place, "--set %s", path);
    walk w = {.place = place, .path = path, .at = path, .depth = 1, .node = tree->root, .error = error};
    return set_value(tree, &w, equals + 1);
}

struct thenar_config {
    config tree;
};

/* text NULL: reads the file. */
static thenar_status load(const char *path, const char *text, size_t size, thenar_config **out, thenar_error *error) {
    *out = NULL;
    thenar_config *self = MEMORY_ARRAY(thenar_config, 1);
    if (!self) return error_memory(error, path);
    thenar_status status =
        text ? config_parse(&self->tree, text, size, path, error) : config_load(&self->tree, path, error);
    if (status == THENAR_OK)
        *out = self;
    else
        free(self);
    return status;
}

thenar_status thenar_config_load(const char *path, thenar_config **out, thenar_error *error) {
    USAGE_STATUS(path && out, error, "the path or the pointer to the tree is NULL");
    return load(path, NULL, 0, out, error);
}

thenar_status thenar_config_parse(const char *text, size_t size, const char *name, thenar_config **out,
                                  thenar_error *error) {
    USAGE_STATUS(text && name && out, error, "the text, its name or the pointer to the tree is NULL");
    return load(name, text, size, out, error);
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

/* The node at a path; NULL if there is none or it is null. */
static const config_node *node_at(const config_node *node, const char *path) {
    char name[PATH_SIZE];
    if (strlen(path) >= sizeof name) return NULL;
    while (node && *path) node = path_step(&path, name) ? child_of(node, name) : NULL;
    return node && !config_is_null(node) ? node : NULL;
}

thenar_config_kind thenar_config_kind_at(const thenar_config *self, const char *path) {
    USAGE(self && path, THENAR_CONFIG_NONE, "the tree or the path is NULL");
    const config_node *node = node_at(self->tree.root, path);
    if (!node) return THENAR_CONFIG_NONE;
    static const thenar_config_kind kinds[] = {THENAR_CONFIG_SCALAR, THENAR_CONFIG_SEQUENCE, THENAR_CONFIG_MAPPING};
    return kinds[node->kind];
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
    return node && config_to_number(node, &number) ? number : NAN;
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
