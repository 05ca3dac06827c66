/* Scene files: YAML in, a compiled model out. docs/scenes.md describes the format, docs/tactile.md that of device
 * files. */
#ifndef THENAR_SCENE_H
#define THENAR_SCENE_H

#include "thenar/file.h"
#include "thenar/hand.h"
#include "thenar/model.h"
#include "thenar/status.h"
#include "thenar/tactile.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How to load a scene. */
typedef struct thenar_scene_options {
    uint32_t size;                   /**< of this struct, bytes; the default function sets it */
    int set_count;                   /**< number of overrides */
    const char *const *sets;         /**< overrides "path=value", as for --set; later ones take precedence */
    const thenar_track *track;       /**< drives the hands of the scene, as thenar_build_set_track; NULL: none */
    const thenar_file_source *files; /**< for all files that the scene names; NULL: the file system */
} thenar_scene_options;

/** Fills in the defaults of a struct of `size` bytes. */
THENAR_IO_API thenar_status thenar_scene_options_init(thenar_scene_options *options, size_t size);

/** No overrides, no track, the file system. */
static inline thenar_scene_options thenar_scene_options_default(void) {
    thenar_scene_options options;
    thenar_scene_options_init(&options, sizeof options);
    return options;
}

/** What a scene file has besides the model. */
typedef struct thenar_scene_info {
    char title[256]; /**< one line */
    double time;     /**< intended duration of a run, s: that of the track if there is one, else the scene's */
} thenar_scene_info;

/** The file of a scene. A text with a slash is a path. Any other is a name: NAME.yaml is searched in $THENAR_SCENES,
 * then in the scene folders next to the library and next to the program. If no folder has it, it is a path if it has an
 * extension or the file exists, else an error that suggests a similar name. size: of `path`, bytes. */
THENAR_IO_API thenar_status thenar_scene_find(const char *name, char *path, size_t size, thenar_error *error);

/** Calls visit(context, name, path) for each scene that thenar_scene_find finds by name: folder by folder, sorted by name,
 * without those that a scene of the same name in an earlier folder hides. The texts are valid during the call. */
THENAR_IO_API thenar_status thenar_scene_each(void (*visit)(void *context, const char *name, const char *path),
                                              void *context);

/** Loads a scene, given by path or name as for thenar_scene_find. options and info may be NULL. Errors name file, line
 * and column. */
THENAR_IO_API thenar_status thenar_scene_load(const char *path, const thenar_scene_options *options,
                                              thenar_model **model, thenar_scene_info *info, thenar_error *error);

/** The same from text in memory. name: stands for the path in messages, gives the model its name, and is what files
 * that the scene names are relative to ("scenes/mine.yaml"). */
THENAR_IO_API thenar_status thenar_scene_parse(const char *text, size_t size, const char *name,
                                               const thenar_scene_options *options, thenar_model **model,
                                               thenar_scene_info *info, thenar_error *error);

/** Reads a wearable device from a file (YAML; docs/tactile.md). size: sizeof(thenar_wearable_def). Errors name file,
 * line, column and what was expected. */
THENAR_IO_API thenar_status thenar_wearable_load(const char *path, thenar_wearable_def *def, size_t size,
                                                 thenar_error *error);

/** The same from text in memory. name: stands for the path in messages. */
THENAR_IO_API thenar_status thenar_wearable_parse(const char *text, size_t text_size, const char *name,
                                                  thenar_wearable_def *def, size_t size, thenar_error *error);

/** The tree of a YAML file with all that it includes: to read and change a scene before it is compiled. A path is keys
 * with dots between and [i] for items from 0, as "bodies.beam.material.young"; "" is the root. */
typedef struct thenar_config thenar_config;

/** What a path leads to. */
typedef enum thenar_config_kind {
    THENAR_CONFIG_NONE,     /**< nothing */
    THENAR_CONFIG_SCALAR,   /**< a text or a number */
    THENAR_CONFIG_SEQUENCE, /**< items from 0 */
    THENAR_CONFIG_MAPPING,  /**< values by key */
    THENAR_CONFIG_KIND_COUNT
} thenar_config_kind;

/** Loads a file and all that it includes. */
THENAR_IO_API thenar_status thenar_config_load(const char *path, thenar_config **config, thenar_error *error);
/** The same from text in memory; name stands for the path in messages and for includes. */
THENAR_IO_API thenar_status thenar_config_parse(const char *text, size_t size, const char *name, thenar_config **config,
                                                thenar_error *error);
/** Frees a tree; NULL is fine. */
THENAR_IO_API void thenar_config_free(thenar_config *config);
/** Sets one value: "PATH=VALUE", as --set. The value is YAML: 2e6, true, text, [0, 1, 0], {a: 1}, or ~ to remove the
 * key. The last key of the path is created if it does not exist, the ones before must exist. On an error the tree is
 * unchanged. */
THENAR_IO_API thenar_status thenar_config_set(thenar_config *config, const char *assignment, thenar_error *error);
/** What is at a path. A null is THENAR_CONFIG_NONE. */
THENAR_IO_API thenar_config_kind thenar_config_kind_at(const thenar_config *config, const char *path);
/** Number of items of a sequence or keys of a mapping at a path, else 0. */
THENAR_IO_API int thenar_config_count(const thenar_config *config, const char *path);
/** A key of the mapping at a path, in the order of the file; NULL if there is none of that index. Valid until the tree
 * is changed or freed, as all texts. */
THENAR_IO_API const char *thenar_config_key(const thenar_config *config, const char *path, int index);
/** The text of the scalar at a path, NULL if there is none. */
THENAR_IO_API const char *thenar_config_text(const thenar_config *config, const char *path);
/** The number at a path, NaN if there is none. */
THENAR_IO_API double thenar_config_number(const thenar_config *config, const char *path);
/** Writes the tree as YAML that loads as the same tree; path NULL: to standard output. */
THENAR_IO_API thenar_status thenar_config_write(const thenar_config *config, const char *path, thenar_error *error);

#ifdef __cplusplus
}
#endif

#endif
