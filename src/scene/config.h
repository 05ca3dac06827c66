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

#include "base/error.h"
#include "base/pool.h"

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
    pool memory;        /* everything that the tree consists of */
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

#endif
