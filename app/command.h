/* A subcommand of `thenar`: one file app/command_NAME.c that defines `const app_command command_NAME`. The build finds
 * the file by its name and puts it into the table of main.c; nothing else needs to know. */
#ifndef APP_COMMAND_H
#define APP_COMMAND_H

#include "app/options.h"
#include "core/error.h"

typedef struct app_command {
    const char *name;
    const char *summary;   /* one line for `thenar help` */
    const char *arguments; /* what stands behind the name, for the usage line */
    const char *details;   /* paragraphs for --help, or "" */
    int (*run)(const struct app_command *command, int argc, char **argv); /* argv[0] is the first argument */
} app_command;

/* What main returns. */
enum { EXIT_DONE = 0, EXIT_INPUT = 1, EXIT_USAGE = 2, EXIT_NUMERIC = 3 };

/* "thenar: TEXT" on stderr, and the exit status that goes with the error's status. */
int command_fail(const thenar_error *error);

/* "thenar NAME: TEXT" and where to find help, on stderr; EXIT_USAGE. */
int command_misused(const app_command *command, const char *format, ...) THENAR_PRINTF(2, 3);

/* All commands, by name. */
extern const app_command *const command_table[];
extern const int command_count;

/* The name of a command that a mistyped one may have meant, or NULL. */
const char *command_closest(const char *name);

/* The usage of one command on stdout. */
void command_print_help(const app_command *command, const app_option *options, int option_count);

#endif
