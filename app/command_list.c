#include "app/command.h"
#include "app/support.h"

#include <string.h>

/* Whether the name stands for another file, in a folder that is looked at earlier. */
static bool is_hidden(const char *name, const char *path) {
    char found[SCENE_PATH_SIZE];
    thenar_error error;
    return scene_find(name, found, &error) == THENAR_OK && strcmp(found, path) != 0;
}

/* The title alone is read: a scene whose mesh is missing can still be listed. */
static void add_scene(void *context, const char *name, const char *path) {
    if (is_hidden(name, path)) return;
    table *scenes = context;
    thenar_config *tree = NULL;
    const char *title = "";
    if (thenar_config_load(path, &tree, NULL) == THENAR_OK)
        title = thenar_config_text(tree, "title");
    else
        title = "(cannot be read: thenar check tells why)";
    table_add_row(scenes);
    table_text(scenes, "scene", "%s", name);
    table_text(scenes, "title", "%s", title ? title : "");
    thenar_config_free(tree);
}

static int run(const app_command *command, int argc, char **argv) {
    option_arguments arguments;
    int status = options_parse(command, argc, argv, NULL, 0, 0, 0, &arguments);
    if (status != OPTIONS_PARSED) return status;
    char folders[SCENE_FOLDERS][SCENE_PATH_SIZE];
    int count = scene_folders(folders);
    table scenes = {0};
    table_add_column(&scenes, "scene", "scene", 0);
    table_add_column(&scenes, "title", "title", 0);
    for (int i = 0; i < count; i++) scene_each(folders[i], add_scene, &scenes);
    if (scenes.row_count == 0)
        fprintf(stderr, "thenar: warning: no scenes beside the program; expected a folder of them in THENAR_SCENES\n");
    table_print(&scenes, stdout);
    table_free(&scenes);
    return EXIT_DONE;
}

const app_command command_list = {.name = "list",
                                  .summary = "list the scenes",
                                  .arguments = "",
                                  .details = "Scenes are found in $THENAR_SCENES and beside the program; a "
                                             "path to a scene file works everywhere too.",
                                  .run = run};
