/* The tree of a YAML file. Scenes and device descriptions are read through it.
 *
 *     config tree = {0};
 *     status = config_load(&tree, "scenes/beam.yaml", &error);             the file and what it includes
 *     status = config_set(&tree, "bodies.beam.material.young=2e6", &error);   --set, after loading
 *     ... read it with the functions at the end of this header ...
 *     config_free(&tree);
 *
 * Every node knows its file, line and column, also in an included file. Two features of YAML are left out on
 * purpose: tags (!!str) and merge keys (<<). An alias gives an independent copy of its anchor's value.
 *
 * Includes. A file whose top level has `include: other.yaml`, or a list of files, starts from those files, in order,
 * and merges its own keys into them: mappings merge key by key, any other value replaces the one of the same key, and
 * null (or ~) removes the key. File names are relative to the file that includes them.
 *
 * A null that removes nothing stays in the tree. Reads treat it as a key that is absent, but an unknown key is an
 * error even if it is null.
 *
 * The limits below keep a small file from taking much time or memory. */
#ifndef SCENE_CONFIG_H
#define SCENE_CONFIG_H

#include "core/error.h"
#include "core/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define CONFIG_BYTE_LIMIT ((size_t)16 << 20) /* of a file and its includes together */
#define CONFIG_NODE_LIMIT 1000000            /* of a whole tree */
#define CONFIG_ALIAS_LIMIT 100000            /* nodes that aliases may add to a whole tree */
#define CONFIG_ANCHOR_LIMIT 1000             /* of a file */
#define CONFIG_DIRECTIVE_LIMIT 64     /* lines of a file that begin with %: libyaml compares each with all others */
#define CONFIG_DEPTH_LIMIT 64         /* of nested nodes; the root has depth 1 */
#define CONFIG_INCLUDE_DEPTH_LIMIT 16 /* of nested includes */
#define CONFIG_INCLUDE_LIMIT 256      /* total number of included files */

typedef enum config_kind { CONFIG_SCALAR, CONFIG_SEQUENCE, CONFIG_MAPPING } config_kind;

typedef struct config_node config_node;
struct config_node {
    config_kind kind;
    bool plain;         /* a scalar without quotes: only these can be a number, true, false or null */
    int line, column;   /* of the value, from 1; 0 if it comes from --set */
    const char *file;   /* of key and value: a path, or "--set bodies.beam.material.young" */
    const char *text;   /* of a scalar, without its quotes */
    config_node *first; /* item of a sequence or value of a mapping, in the order of the file */
    config_node *last;
    size_t count;      /* number of items or values */
    config_node *next; /* in the parent sequence or mapping */
    const char *key;   /* in the parent mapping, NULL in a sequence */
    int key_line, key_column;
    struct config_index *index; /* hash table of a large mapping, for config_find */
};

typedef struct config {
    config_node *root;
    memory_pool memory; /* of all nodes and texts */
    size_t node_count;  /* created so far, for CONFIG_NODE_LIMIT */
    size_t alias_count; /* of those, created by aliases */
    size_t byte_count;  /* read */
    int include_count;
} config;

/* Loads a file and its includes. *tree must be zeroed or freed; after an error it is empty. */
thenar_status config_load(config *tree, const char *path, thenar_error *error);

/* As config_load, from text in memory. name stands for the file in messages and for includes. */
thenar_status config_parse(config *tree, const char *text, size_t size, const char *name, thenar_error *error);

/* Sets one value: "PATH=VALUE". PATH is keys separated by dots, and [i] or .i for items from 0. VALUE is YAML, as
 * 2e6, true, text, [0, 1, 0], {a: 1}, or ~ to remove the key. It replaces the existing value, also a mapping. The last
 * key is created if it does not exist; the keys before it must exist. On error the tree is unchanged. */
thenar_status config_set(config *tree, const char *assignment, thenar_error *error);

/* Writes the tree as YAML that loads as the same tree (every spelling of null becomes null). A failed write is reported
 * by ferror or file_close. */
thenar_status config_print(const config_node *node, FILE *out, thenar_error *error);

void config_free(config *tree);

/* The value of a key, or NULL if the mapping does not have it. */
config_node *config_find(const config_node *mapping, const char *key);

/* An unquoted null or ~, or an empty value. */
bool config_is_null(const config_node *node);

/* The kind of a node for messages: "a mapping", "a sequence", "text", "a number", ... */
const char *config_kind_name(const config_node *node);

/* Building and changing a tree; only for the files that implement this header. */

/* A new node without a parent, counted against CONFIG_NODE_LIMIT; *out is NULL on error. */
thenar_status config_make(config *tree, config_kind kind, const char *file, int line, int column, config_node **out,
                          thenar_error *error);

/* A deep copy for an alias at line:column, also counted against CONFIG_ALIAS_LIMIT. depth: of the copy's root. The
 * copied nodes keep the file and line of the originals, since that is where a wrong value must be corrected. */
thenar_status config_copy(config *tree, const config_node *source, int depth, int line, int column, config_node **out,
                          thenar_error *error);

/* Appends a node to a sequence, or to a mapping that does not have its key yet. */
void config_append(config *tree, config_node *parent, config_node *child);

/* Replaces `node` by `value`, which keeps the place and the key of the node; value must not be used again. */
void config_replace(config_node *node, const config_node *value);

/* Removes a child of a mapping. */
void config_remove(config *tree, config_node *mapping, config_node *child);

/* Parses one YAML document without following includes. depth: of the root. placed false (a value of --set): all lines and
 * columns are 0. `file` must live as long as the tree. */
thenar_status config_parse_document(config *tree, const char *text, size_t size, const char *file, bool placed,
                                    int depth, config_node **out, thenar_error *error);

/* error_at for a node's value. */
#define config_error(error, node, ...) error_at((error), (node)->file, (node)->line, (node)->column, __VA_ARGS__)

/* Writes "young, poisson, density"; "..." replaces the names that do not fit. */
void config_join(const char *const *names, size_t count, char *text, size_t size);

/* What to write instead of an unknown word: " did you mean 'young'? (known: young, poisson)" or " expected WHAT (known:
 * young, poisson)". The second function suggests keys of a mapping; NULL has none. */
typedef struct config_suggestion {
    char text[640];
} config_suggestion;
config_suggestion config_suggest(const char *word, const char *what, const char *const *names, size_t count);
config_suggestion config_suggest_key(const char *word, const char *what, const config_node *mapping);

/* Text from a file for a one-line message: shortened, control characters replaced by '?'. */
typedef struct config_quoted {
    char text[64];
} config_quoted;
config_quoted config_quote(const char *text);

/* `path` relative to the directory of `file`; unchanged if file is NULL or path is absolute. free() it. NULL: out of
 * memory. */
char *config_resolve(const char *file, const char *path);

/* The value of a scalar without quotes: a number, a boolean, null, or text. With quotes it is always text.
 *
 * Numbers are decimal: 2e6, .5, 1., +1, -0.25. The octal, hexadecimal and sexagesimal numbers and the 1_000 of YAML
 * 1.1 surprise most readers; here they are text. .inf, -.inf and .nan are numbers, which a read refuses unless its
 * range allows them. A number too large for a double is text. */

bool config_to_number(const config_node *node, double *value);

/* A decimal integer without point or exponent that fits into a long. */
bool config_to_integer(const config_node *node, long *value);

/* true or false, in lower case, capitalized or in upper case. */
bool config_to_bool(const config_node *node, bool *value);

/* Reading a tree with checks:
 *
 *     config_reader reader = {.error = error};
 *     config_map material;
 *     config_open(&reader, node, "material", &material);
 *     config_number(&material, "young", CONFIG_REQUIRED, config_positive("Pa"), &young);
 *     config_number(&material, "poisson", CONFIG_OPTIONAL, config_between(0, 0.49, ""), &poisson);
 *     config_close(&material);
 *     return reader.status;
 *
 * The first error goes to reader.error with its position in the file and sets reader.status; all later reads do
 * nothing. So no read needs an `if`. Values start with their defaults; a key that is absent or null, and an error,
 * leave them unchanged. Each read returns whether it stored a value.
 *
 * Every mapping that is opened must be closed with config_close. It reports keys that were never read ("unknown key
 * 'yuong' in bodies.beam.material; did you mean 'young'? (known: young, poisson)"), then required keys that are
 * missing. It does so last, because a missing key usually is a misspelled one.
 *
 * Texts belong to the tree. Keys, names and units that are passed in must outlive the map. */

#define CONFIG_KNOWN_LIMIT 64 /* maximum number of different keys that are read from one mapping */
#define CONFIG_PATH_SIZE 256  /* of paths in messages; longer ones are truncated */

typedef struct config_reader {
    thenar_error *error;  /* where the message goes, or NULL */
    thenar_status status; /* THENAR_OK until the first error */
} config_reader;

typedef enum config_need { CONFIG_OPTIONAL, CONFIG_REQUIRED } config_need;

/* A mapping that is being read. After an error, or if it is absent, node is NULL and reads do nothing. */
typedef struct config_map {
    config_reader *reader;
    const config_node *node;
    char path[CONFIG_PATH_SIZE]; /* "bodies.beam.material" */
    bool is_root; /* path is a name for the whole file, as "scene", and no prefix of the paths of its children */
    const char *known[CONFIG_KNOWN_LIMIT];
    size_t known_count;
    const char *missing; /* the first required key that is missing */
} config_map;

/* A sequence, or a mapping with arbitrary keys (bodies by name), that is being read item by item. */
typedef struct config_list {
    config_reader *reader;
    const config_node *node; /* NULL: absent, or an error */
    const config_node *item; /* the current one, see config_next */
    const char *key;         /* of the item in a mapping */
    size_t index;            /* of the item, from 0 */
    size_t count;            /* number of items */
    char path[CONFIG_PATH_SIZE];
} config_list;

/* The allowed range of a number; see the functions below. */
typedef struct config_range {
    double low, high; /* -INFINITY, INFINITY: no bound */
    bool above_low;   /* > low rather than >= low */
    bool below_high;  /* < high rather than <= high */
    bool infinite;    /* .inf and -.inf are allowed within the bounds; .nan never is */
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

/* Opens the root of a tree, or any node. name: for messages. */
void config_open(config_reader *reader, const config_node *node, const char *name, config_map *map);
void config_close(config_map *map);

bool config_number(config_map *map, const char *key, config_need need, config_range range, double *value);
bool config_integer(config_map *map, const char *key, config_need need, long low, long high, int *value);
bool config_bool(config_map *map, const char *key, config_need need, bool *value);
/* Any scalar but null, with or without quotes. */
bool config_text(config_map *map, const char *key, config_need need, const char **value);
/* The index of the text in names. */
bool config_choice(config_map *map, const char *key, config_need need, const char *const *names, size_t count,
                   int *value);
/* A file name, relative to the file that contains it (for --set, to the current directory). free() the value; it is only
 * stored if the call returns true. */
bool config_file(config_map *map, const char *key, config_need need, char **value);
/* A sequence of exactly count numbers, all in the range. */
bool config_numbers(config_map *map, const char *key, config_need need, config_range range, size_t count,
                    double *values);
bool config_vec3(config_map *map, const char *key, config_need need, config_range range, double value[3]);

/* A mapping inside the mapping. Close it too. */
bool config_child(config_map *map, const char *key, config_need need, config_map *child);
/* A sequence inside the mapping. */
bool config_sequence(config_map *map, const char *key, config_need need, config_list *list);
/* A mapping with arbitrary keys inside the mapping. */
bool config_entries(config_map *map, const char *key, config_need need, config_list *list);

/* Whether the mapping has the key and it is not null. The key counts as read. */
bool config_has(config_map *map, const char *key);
/* The node of a key, where its kind decides how to read it (a number or a sequence); NULL if absent. */
const config_node *config_peek(config_map *map, const char *key);

/* Exactly one of the keys must be there: its index, or -1 after the error "no WHAT; expected KEYS" or "several
 * WHATs in one; expected KEYS". */
int config_one_of(config_map *map, const char *what, const char *const *keys, int count);

/* Goes to the first or next item; false at the end or after an error. In a mapping with arbitrary keys, nulls are
 * skipped: they are removed keys.
 *     config_entries(&scene, "bodies", CONFIG_REQUIRED, &bodies);
 *     while (config_next(&bodies)) { config_item_map(&bodies, &body); ... config_close(&body); }  */
bool config_next(config_list *list);
bool config_item_map(config_list *list, config_map *map);
bool config_item_choice(config_list *list, const char *const *names, size_t count, int *value);
bool config_item_vec3(config_list *list, config_range range, double value[3]);

/* Errors of the caller's own checks: at the value of a key (at the mapping if the key is absent or NULL), or at an item. */
void config_fail(config_map *map, const char *key, const char *format, ...) THENAR_PRINTF(3, 4);
void config_item_fail(config_list *list, const char *format, ...) THENAR_PRINTF(2, 3);

/* Reports an error of another function at the position of config_fail and keeps its status, so that running out of memory
 * is not reported as bad input. THENAR_OK does nothing. */
void config_adopt(config_map *map, const char *key, thenar_status status, const char *message);
void config_out_of_memory(config_map *map);

#endif
