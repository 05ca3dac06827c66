/* The tree that a YAML file comes to: scene files and device descriptions are read through it.
 *
 *     config tree = {0};
 *     status = config_load(&tree, "scenes/beam.yaml", &error);             the file and what it includes
 *     status = config_set(&tree, "bodies.beam.material.young=2e6", &error);   --set, after loading
 *     ... read it with config_read.h ...
 *     config_free(&tree);
 *
 * Every node knows the file, line and column that it came from, whichever file that was. Two things are left
 * out of YAML on purpose, tags (!!str) and merge keys (<<); an anchor and its aliases work and give
 * independent copies.
 *
 * Including. A file whose top level has `include: other.yaml`, or a list of files, starts from those files,
 * in order, and lays its own keys over them: mappings merge key by key, anything else replaces what was
 * there, and null (or ~) takes the key away. File names are relative to the file that includes them.
 *
 * A null that takes nothing away stays in the tree; config_read.h takes it for a key that was not given, but
 * still refuses it if nobody knows the key.
 *
 * Bounds, so that no small file can take much time or memory: */
#ifndef SCENE_CONFIG_H
#define SCENE_CONFIG_H

#include "core/error.h"
#include "core/memory.h"
#include "core/vec3.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CONFIG_BYTE_LIMIT ((size_t)16 << 20) /* of a file and all that it includes together */
#define CONFIG_NODE_LIMIT 1000000            /* of a whole tree */
#define CONFIG_ALIAS_LIMIT 100000            /* nodes that aliases may add to a whole tree */
#define CONFIG_ANCHOR_LIMIT 1000             /* of a file */
#define CONFIG_DIRECTIVE_LIMIT 64            /* lines of a file that begin with %: libyaml compares all with all */
#define CONFIG_DEPTH_LIMIT 64                /* of nodes inside nodes; the root has depth 1 */
#define CONFIG_INCLUDE_DEPTH_LIMIT 16        /* of files that include files */
#define CONFIG_INCLUDE_LIMIT 256             /* included files in all */

typedef enum config_kind { CONFIG_SCALAR, CONFIG_SEQUENCE, CONFIG_MAPPING } config_kind;

typedef struct config_node config_node;
struct config_node {
    config_kind kind;
    bool plain;         /* a scalar without quotes: only such a one can be a number, true, false or null */
    int line, column;   /* of the value, from 1; 0 if it came from --set */
    const char *file;   /* of key and value: a path, or "--set bodies.beam.material.young" */
    const char *text;   /* of a scalar, without its quotes */
    config_node *first; /* of the items of a sequence or the values of a mapping, in order of the file */
    config_node *last;
    size_t count;      /* of the items or values */
    config_node *next; /* in the sequence or mapping that this node is in */
    const char *key;   /* in the mapping that this node is in, NULL elsewhere */
    int key_line, key_column;
    struct config_index *index; /* finds keys in a large mapping; config_find uses it */
};

typedef struct config {
    config_node *root;
    memory_pool memory; /* everything that the tree consists of */
    size_t node_count;  /* ever made, for CONFIG_NODE_LIMIT */
    size_t alias_count; /* of those made by aliases */
    size_t byte_count;  /* read */
    int include_count;
} config;

/* Loads a file with all that it includes. *tree must be zeroed or freed; on error it is empty again. */
thenar_status config_load(config *tree, const char *path, thenar_error *error);

/* As config_load, from text in memory; name stands for the file in messages and
 * for includes. */
thenar_status config_parse(config *tree, const char *text, size_t size, const char *name, thenar_error *error);

/* Sets one value: "PATH=VALUE". PATH is keys with dots between and [i] or .i for items from 0; VALUE is YAML,
 * as 2e6, true, text, [0, 1, 0], {a: 1}, or ~ to take the key away. It replaces what is there, mappings too.
 * The last key is made if it is not there, the ones before must be. On error the tree is as it was. */
thenar_status config_set(config *tree, const char *assignment, thenar_error *error);

/* Writes the tree as YAML that loads as the same tree (with null for each way to write null). A failed write
 * is left to ferror or file_close. */
thenar_status config_print(const config_node *node, FILE *out, thenar_error *error);

void config_free(config *tree);

/* The value of a key, or NULL if the mapping does not have it. */
config_node *config_find(const config_node *mapping, const char *key);

/* An unquoted null or ~, or nothing at all where a value could be. */
bool config_is_null(const config_node *node);

/* What a node is, for messages: "a mapping", "a sequence", "text", "a number", ... */
const char *config_kind_name(const config_node *node);

/* Building and changing a config tree; for the files that implement config.h. */

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

/* What a scalar without quotes means: a number, a truth value, null, or just text. With quotes it is always
 * text.
 *
 * Numbers are decimal: 2e6, .5, 1., +1, -0.25. Octal, hexadecimal, sexagesimal and 1_000 are YAML 1.1's, read
 * by few and misread by most; here they are text. .inf, -.inf and .nan are numbers, to be refused by who does
 * not want them; a number too large for a double is not one. */

bool config_to_number(const config_node *node, double *value);

/* A decimal integer without point or exponent that a long holds. */
bool config_to_integer(const config_node *node, long *value);

/* true or false, in lower case, capitalized or in upper case. */
bool config_to_bool(const config_node *node, bool *value);

/* Checked reading of a config tree: a scene compiler reads like a table.
 *
 *     config_reader reader = {.error = error};
 *     config_map material;
 *     config_open(&reader, node, "material", &material);
 *     config_number(&material, "young", CONFIG_REQUIRED, config_positive("Pa"), &young);
 *     config_number(&material, "poisson", CONFIG_OPTIONAL, config_between(0, 0.49, ""), &poisson);
 *     config_close(&material);
 *     return reader.status;
 *
 * The first error wins: it goes to reader.error with its place in the file, reader.status is set, and every
 * read after it does nothing. So no read needs an `if`. Values start with their defaults; a key that is
 * absent (or null) leaves its value alone, and so does an error. Each read returns whether it stored a value.
 *
 * config_close ends the reading of a mapping and must not be left out: it refuses keys that were never asked
 * for
 * ("unknown key 'yuong' in bodies.beam.material; did you mean 'young'? (known: young, poisson)") and then
 * required keys that are absent. Missing keys wait until then because most of them are mistyped ones.
 *
 * Texts that come out of a tree belong to it. Keys, names and units passed in must outlive the map. */

#define CONFIG_KNOWN_LIMIT 64 /* keys that one mapping can be asked for */
#define CONFIG_PATH_SIZE 256  /* of paths in messages; longer ones are cut */

typedef struct config_reader {
    thenar_error *error;  /* where the message goes, or NULL */
    thenar_status status; /* THENAR_OK until the first error */
} config_reader;

typedef enum config_need { CONFIG_OPTIONAL, CONFIG_REQUIRED } config_need;

/* A mapping that is being read. After an error, or if it is optional and absent, node is NULL and reads do
 * nothing. */
typedef struct config_map {
    config_reader *reader;
    const config_node *node;
    const char *key;             /* under which it stands in the mapping that it is in, NULL elsewhere: a body's name */
    char path[CONFIG_PATH_SIZE]; /* "bodies.beam.material" */
    bool is_root;                /* path is a word for the whole, as "scene", that paths to its children leave out */
    const char *known[CONFIG_KNOWN_LIMIT];
    size_t known_count;
    const char *missing; /* the first required key that was absent */
} config_map;

/* A sequence, or a mapping with free keys (bodies by name), that is being read one by one. */
typedef struct config_list {
    config_reader *reader;
    const config_node *node; /* NULL: absent or an error, as in a map */
    const config_node *item; /* the one that config_next stopped at */
    const char *key;         /* of the item in a mapping with free keys */
    size_t index;            /* of the item, from 0 */
    size_t count;            /* items in all */
    char path[CONFIG_PATH_SIZE];
} config_list;

/* What a number may be. Make one with the functions below or write it out. */
typedef struct config_range {
    double low, high; /* -INFINITY, INFINITY: no bound */
    bool above_low;   /* > low rather than >= low */
    bool below_high;  /* < high rather than <= high */
    bool infinite;    /* .inf and -.inf are welcome where the bounds allow them; .nan never is */
    const char *unit; /* for messages: "Pa"; NULL or "" for none */
} config_range;

static inline config_range config_any(const char *unit) {
    return (config_range){.low = -INFINITY, .high = INFINITY, .unit = unit};
}
/* > 0 */
static inline config_range config_positive(const char *unit) {
    return (config_range){.low = 0, .high = INFINITY, .above_low = true, .unit = unit};
}
/* >= 0 */
static inline config_range config_not_negative(const char *unit) {
    return (config_range){.low = 0, .high = INFINITY, .unit = unit};
}
/* >= low and <= high */
static inline config_range config_between(double low, double high, const char *unit) {
    return (config_range){.low = low, .high = high, .unit = unit};
}

/* Opens a tree's root, or any node; name is what messages call it. */
void config_open(config_reader *reader, const config_node *node, const char *name, config_map *map);
void config_close(config_map *map);

bool config_number(config_map *map, const char *key, config_need need, config_range range, double *value);
bool config_integer(config_map *map, const char *key, config_need need, long low, long high, int *value);
bool config_bool(config_map *map, const char *key, config_need need, bool *value);
/* Any scalar but null, with or without quotes. */
bool config_text(config_map *map, const char *key, config_need need, const char **value);
/* The index of the text among names. */
bool config_choice(config_map *map, const char *key, config_need need, const char *const *names, size_t count,
                   int *value);
/* A file name seen from the file that it is written in (from the current directory if it came from --set).
 * free() the value; it is only stored if the call returns true. */
bool config_file(config_map *map, const char *key, config_need need, char **value);
/* A sequence of exactly count numbers, all in the range. */
bool config_numbers(config_map *map, const char *key, config_need need, config_range range, size_t count,
                    double *values);
bool config_vec3(config_map *map, const char *key, config_need need, config_range range, vec3 *value);
/* A rotation as [x, y, z, w], scaled to unit length; all zeros is an error. */
bool config_quat(config_map *map, const char *key, config_need need, quat *value);

/* A mapping inside the mapping. Close it too. */
bool config_child(config_map *map, const char *key, config_need need, config_map *child);
/* A sequence inside the mapping. */
bool config_sequence(config_map *map, const char *key, config_need need, config_list *list);
/* A mapping with free keys inside the mapping. */
bool config_entries(config_map *map, const char *key, config_need need, config_list *list);

/* The key is there and not null. Counts as asking for it; helps where the key decides what to read. */
bool config_has(config_map *map, const char *key);
/* Where what a key holds matters before it is read (a number or a sequence of them); NULL if absent. */
const config_node *config_peek(config_map *map, const char *key);

/* Goes to the first or next item; false at the end or after an error. In a mapping with free keys, nulls are
 * passed over: they stand for keys that were taken away. config_entries(&scene, "bodies", CONFIG_REQUIRED,
 * &bodies); while (config_next(&bodies)) { config_item_map(&bodies, &body); ... config_close(&body); }  */
bool config_next(config_list *list);
bool config_item_map(config_list *list, config_map *map);
bool config_item_integer(config_list *list, long low, long high, int *value);
bool config_item_choice(config_list *list, const char *const *names, size_t count, int *value);
bool config_item_vec3(config_list *list, config_range range, vec3 *value);
bool config_item_sequence(config_list *list, config_list *inner);

/* The caller's own checks: an error at a key's value (at the mapping if the key is absent or NULL) or at an
 * item. */
void config_fail(config_map *map, const char *key, const char *format, ...) THENAR_PRINTF(3, 4);
void config_item_fail(config_list *list, const char *format, ...) THENAR_PRINTF(2, 3);

/* Makes an error of another module the reader's: its message at the place of config_fail, its status kept, so that
 * running out of memory is not taken for bad input. THENAR_OK does nothing. */
void config_adopt(config_map *map, const char *key, thenar_status status, const char *message);
void config_out_of_memory(config_map *map);

#endif
