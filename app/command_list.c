#include "app/command.h"
#include "app/support.h"

/* Reads only the title, so that a scene whose mesh is missing is listed too. */
static void add_scene(void *context, const char *name, const char *path) {
    table *scenes = context;
    thenar_config *tree = NULL;
    bool is_read = thenar_config_load(path, &tree, NULL) == THENAR_OK;
    const char *title = is_read ? thenar_config_text(tree, "title") : "(cannot be read: see thenar check)";
    table_add_row(scenes);
    table_text(scenes, "scene", "%s", name);
    table_text(scenes, "title", "%s", title ? title : "");
    thenar_config_free(tree);
}

static int run(const app_command *command, int argc, char **argv) {
    option_arguments arguments;
    int status = options_parse(command, argc, argv, NULL, 0, 0, 0, &arguments);
    if (status != OPTIONS_PARSED) return status;
    table scenes = {0};
    table_add_column(&scenes, "scene", "scene", 0);
    table_add_column(&scenes, "title", "title", 0);
    scene_check_folder();
    thenar_scene_each(add_scene, &scenes);
    if (scenes.row_count == 0)
        fprintf(stderr,
                "thenar: warning: no scenes next to the program; expected a folder of scenes in THENAR_SCENES\n");
    table_print(&scenes, stdout);
    table_free(&scenes);
    return EXIT_DONE;
}

const app_command command_list = {.name = "list",
                                  .summary = "list the scenes",
                                  .arguments = "",
                                  .details = "Searches $THENAR_SCENES, then the folders next to the program. Commands\n"
                                             "that take the name of a scene also take the path of a scene file.",
                                  .run = run};
