/* The command: subcommands, their options, and the scenes that they name.
 *
 * A subcommand is one file app/command_NAME.c that defines `const app_command command_NAME`. The build finds the file by its
 * name and adds it to the table in main.c; nothing else has to change. */
#ifndef APP_COMMAND_H
#define APP_COMMAND_H

#include "app/support.h"

#include "thenar/thenar.h"

#include <stdbool.h>

/* Options of a subcommand: a table that parses and documents itself.
 *
 *     double dt = 0;
 *     const app_option options[] = {{"dt", "S", "time step", OPTION_NUMBER, &dt, 1e-6, 1}};
 *     int status = options_parse(command, argc, argv, options, 1, 0, 1, &arguments);
 *     if (status != OPTIONS_PARSED) return status;  */

typedef enum option_kind {
    OPTION_FLAG,    /* target: bool */
    OPTION_TEXT,    /* target: const char * */
    OPTION_NUMBER,  /* target: double, within low..high */
    OPTION_INTEGER, /* target: long, within low..high */
    OPTION_LIST     /* target: option_list; may be given several times */
} option_kind;

#define OPTION_LIST_LIMIT 256
typedef struct option_list {
    const char *values[OPTION_LIST_LIMIT];
    int count;
} option_list;

typedef struct app_option {
    const char *name;       /* without the dashes */
    const char *value_name; /* for the help; NULL for a flag */
    const char *help;
    option_kind kind;
    void *target; /* unchanged if the option is not given */
    double low, high;
} app_option;

/* The arguments that are not options. */
typedef struct option_arguments {
    const char *values[OPTION_LIST_LIMIT];
    int count;
} option_arguments;

typedef struct app_command {
    const char *name;
    const char *summary;                                                  /* one line for `thenar help` */
    const char *arguments;                                                /* for the usage line, after the name */
    const char *details;                                                  /* paragraphs for --help, or "" */
    int (*run)(const struct app_command *command, int argc, char **argv); /* argv[0] is the first argument */
} app_command;

/* Exit status of the program. */
enum { EXIT_DONE = 0, EXIT_INPUT = 1, EXIT_USAGE = 2, EXIT_NUMERIC = 3 };

#define OPTIONS_PARSED (-1)

/* OPTIONS_PARSED, or the exit status to return: after --help, or after a message about what is wrong. The number of
 * arguments must be in count_min..count_max. Options are written --name VALUE or --name=VALUE; everything after -- is an
 * argument. */
int options_parse(const app_command *command, int argc, char **argv, const app_option *options, int option_count,
                  int count_min, int count_max, option_arguments *arguments);

/* Prints "thenar: TEXT" to stderr and returns the exit status for the error. */
int command_fail(const thenar_error *error);

/* Prints "thenar NAME: TEXT" and the usage to stderr; EXIT_USAGE. */
int command_misused(const app_command *command, const char *format, ...) PRINTF_LIKE(2, 3);

/* All commands, sorted by name. */
extern const app_command *const command_table[];
extern const int command_count;

/* The name of the command that a mistyped one probably meant, or NULL. */
const char *command_closest(const char *name);

/* Prints the help of one command to stdout. */
void command_print_help(const app_command *command, const app_option *options, int option_count);

/* Scenes (scene.c), given by path or name. */

#define SCENE_PATH_SIZE 4096

/* As thenar_scene_find; warns on stderr if THENAR_SCENES is set to something else than a folder. */
thenar_status scene_find(const char *scene, char path[SCENE_PATH_SIZE], thenar_error *error);
void scene_check_folder(void);

/* Loads a scene and prints the warnings of its model to stderr. track: file of tracked joints for its hands, or NULL. */
thenar_status scene_open(const char *scene, const option_list *sets, const char *track, thenar_model **model,
                         thenar_scene_info *info, thenar_error *error);

#endif
