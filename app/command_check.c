#include "app/command.h"
#include "app/support.h"

/* Prints the scene after includes and overrides. */
static thenar_status print_merged(const char *scene, const option_list *sets, thenar_error *error) {
    char path[SCENE_PATH_SIZE];
    thenar_config *tree = NULL;
    thenar_status status = scene_find(scene, path, error);
    if (status == THENAR_OK) status = thenar_config_load(path, &tree, error);
    for (int i = 0; i < sets->count && status == THENAR_OK; i++)
        status = thenar_config_set(tree, sets->values[i], error);
    if (status == THENAR_OK) status = thenar_config_write(tree, NULL, error);
    thenar_config_free(tree);
    return status;
}

static void print_bodies(const thenar_model *model) {
    table bodies = {0};
    table_add_column(&bodies, "body", "body", 0);
    table_add_column(&bodies, "kind", "kind", 0);
    table_add_column(&bodies, "nodes", "nodes", 0);
    table_add_column(&bodies, "tets", "tets", 0);
    table_add_column(&bodies, "triangles", "surface triangles", 0);
    table_add_column(&bodies, "mass", "mass kg", 4);
    for (int i = 0; i < thenar_model_body_count(model); i++) {
        bool rigid = thenar_model_body_kind(model, i) == THENAR_BODY_RIGID;
        table_add_row(&bodies);
        table_text(&bodies, "body", "%s", thenar_model_body_name(model, i));
        table_text(&bodies, "kind", "%s",
                   rigid ? thenar_motion_name((thenar_motion)thenar_model_motion(model, i)) : "soft");
        table_number(&bodies, "nodes", rigid ? 0 : thenar_model_mesh(model, i)->node_count);
        table_number(&bodies, "tets", rigid ? 0 : thenar_model_mesh(model, i)->tet_count);
        table_number(&bodies, "triangles", thenar_model_surface(model, i)->triangle_count);
        table_number(&bodies, "mass", thenar_model_mass(model, i));
    }
    table_print(&bodies, stdout);
    table_free(&bodies);
}

static int run(const app_command *command, int argc, char **argv) {
    const char *track = NULL;
    option_list sets = {0};
    bool print = false;
    const app_option options[] = {
        {"track", "FILE", "tracked joints for its hands, checked too", OPTION_TEXT, &track, 0, 0},
        {"set", "PATH=VALUE", "override a key of the scene; may be given several times", OPTION_LIST, &sets, 0, 0},
        {"print", NULL, "print the scene after includes and overrides", OPTION_FLAG, &print, 0, 0},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 1, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    thenar_error error;
    thenar_model *model;
    thenar_scene_info info;
    if (print && print_merged(arguments.values[0], &sets, &error) != THENAR_OK) return command_fail(&error);
    if (scene_open(arguments.values[0], &sets, track, &model, &info, &error) != THENAR_OK) return command_fail(&error);
    if (!print) {
        printf("%s: %s\n", thenar_model_name(model), info.title);
        print_bodies(model);
        printf("good: %g s in steps of %g s\n", info.time, thenar_model_dt(model));
    }
    thenar_model_free(model);
    return EXIT_DONE;
}

const app_command command_check = {
    .name = "check",
    .summary = "validate a scene without running it",
    .arguments = "SCENE [--track FILE] [--set PATH=VALUE]... [--print]",
    .details = "Reads and compiles the scene, and prints its bodies, or what is wrong and where.",
    .run = run};
