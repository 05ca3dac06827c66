/* Where scenes are: a path, or a name that is looked up in the scene folders. */
#ifndef APP_SCENE_FIND_H
#define APP_SCENE_FIND_H

#include "core/error.h"

#define SCENE_PATH_SIZE 4096
#define SCENE_FOLDERS 4

/* The folders that hold scenes, in order: $THENAR_SCENES, and those beside the program (the source tree's when it was
 * built there, share/thenar/scenes when it was installed); each once. Returns how many. */
int scene_folders(char folders[SCENE_FOLDERS][SCENE_PATH_SIZE]);

/* The file of a scene given as a path (with a slash or an extension) or a name: the first folder that has it wins. A
 * name that is not there gets a suggestion. */
thenar_status scene_find(const char *scene, char path[SCENE_PATH_SIZE], thenar_error *error);

/* Calls visit(context, name, path) for every scene of a folder, by name. */
void scene_each(const char *folder, void (*visit)(void *context, const char *name, const char *path), void *context);

#endif
