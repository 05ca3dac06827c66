/* Loading: a file, the files that it includes, and how they are laid over each other. */
#include "scene/config.h"

#include "base/file.h"
#include "scene/config_tree.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

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
