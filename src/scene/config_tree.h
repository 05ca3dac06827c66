/* Building and changing a config tree; for the files that implement config.h. */
#ifndef SCENE_CONFIG_TREE_H
#define SCENE_CONFIG_TREE_H

#include "scene/config.h"

/* A new node in no sequence or mapping yet, counted against CONFIG_NODE_LIMIT; *out is NULL on error. */
thenar_status config_make(config *tree, config_kind kind, const char *file, int line, int column, config_node **out,
                          thenar_error *error);

/* A deep copy for an alias at line:column, counted against CONFIG_ALIAS_LIMIT too. The copy's root will have
 * `depth`; its nodes keep the places of the originals, where a wrong value can be mended. */
thenar_status config_copy(config *tree, const config_node *source, int depth, int line, int column, config_node **out,
                          thenar_error *error);

/* Puts a node at the end of a sequence, or of a mapping if its key is set (and not in there yet). */
void config_append(config *tree, config_node *parent, config_node *child);

/* Makes `node` what `value` is, at its place in its parent and under the same key; value is used up. */
void config_replace(config_node *node, const config_node *value);

/* Takes a key out of a mapping that has it. */
void config_remove(config *tree, config_node *mapping, config_node *child);

/* Lays mapping `over` over mapping `base`, as config.h says; over is used up. */
void config_merge(config *tree, config_node *base, config_node *over);

/* One YAML document to nodes, includes not followed; the root will have `depth`. With placed false (a value
 * of --set) all lines and columns are 0. `file` must live as long as the tree. */
thenar_status config_parse_document(config *tree, const char *text, size_t size, const char *file, bool placed,
                                    int depth, config_node **out, thenar_error *error);

/* error_at for a node's value. */
#define config_error(error, node, ...) error_at((error), (node)->file, (node)->line, (node)->column, __VA_ARGS__)

/* The keys of a mapping as candidates for text_closest, at most CONFIG_CANDIDATES of them. Returns how many.
 */
#define CONFIG_CANDIDATES 256
size_t config_candidates(const config_node *mapping, const char *candidates[CONFIG_CANDIDATES]);

/* "young, poisson, density" into text; "..." stands for those that it has no room for. */
void config_join(const char *const *names, size_t count, char *text, size_t size);

/* Text from a file made fit to stand in a one-line message: shortened, control characters as '?'. */
typedef struct config_quoted {
    char text[64];
} config_quoted;
config_quoted config_quote(const char *text);

/* `path` seen from the directory of `file`, or as it is if file is NULL or path absolute. free() it; NULL
 * when memory runs out. */
char *config_resolve(const char *file, const char *path);

#endif
