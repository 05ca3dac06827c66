/* Loading: a file, the files that it includes, and how they are laid over each other. */
#include "scene/config.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "io/file.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Nodes: making, finding, joining, laying over each other. All of them live in the pool of their tree. */

/* Open addressing over the children of a large mapping, at most half full. It is only there to make
 * config_find fast: where memory for it runs out, or it was dropped, the children are searched one by one. */
struct config_index {
    size_t capacity; /* a power of two */
    config_node *slots[];
};

#define INDEX_FROM 16 /* children; fewer are faster to search one by one */

/* A child without a key is one that config_merge is about to sweep out. */
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

void config_append(config *tree, config_node *parent, config_node *child) {
    assert((parent->kind == CONFIG_MAPPING) == (child->key != NULL));
    child->next = NULL;
    if (parent->last)
        parent->last->next = child;
    else
        parent->first = child;
    parent->last = child;
    parent->count++;
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

/* Takes out the children of a mapping that have lost their keys. */
static void sweep(config *tree, config_node *mapping) {
    config_node *child = mapping->first;
    mapping->first = mapping->last = NULL;
    mapping->count = 0;
    for (config_node *next; child; child = next) {
        next = child->next;
        if (!child->key) continue;
        child->next = NULL;
        if (mapping->last)
            mapping->last->next = child;
        else
            mapping->first = child;
        mapping->last = child;
        mapping->count++;
    }
    index_rebuild(tree, mapping);
}

void config_remove(config *tree, config_node *mapping, config_node *child) {
    child->key = NULL;
    sweep(tree, mapping);
}

/* Lays mapping `over` over mapping `base`, as config.h says; over is used up. */
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
    if (removed) sweep(tree, base);
}

size_t config_candidates(const config_node *mapping, const char *candidates[CONFIG_CANDIDATES]) {
    size_t count = 0;
    for (const config_node *child = mapping->first; child && count < CONFIG_CANDIDATES; child = child->next)
        if (child->key) candidates[count++] = child->key;
    return count;
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

/* The files that are being loaded, each included by the one before it. */
typedef struct include_chain {
    const struct include_chain *parent;
    const char *file;     /* as it is shown */
    const char *identity; /* absolute and without links, to be compared */
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

/* Lays a file's tree over the files that it includes. */
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

/* place: the file name in the file that includes this one, NULL for the first file. */
static thenar_status load_file(config *tree, const include_chain *parent, const config_node *place, const char *path,
                               config_node **out, thenar_error *error) {
    char *identity = realpath(path, NULL);
    /* Where there is no such file, reading it says so. */
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
