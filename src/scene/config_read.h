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
#ifndef SCENE_CONFIG_READ_H
#define SCENE_CONFIG_READ_H

#include "math/vec3.h"
#include "scene/config.h"

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
