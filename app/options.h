/* Command line options of a subcommand: a table that parses and documents itself.
 *
 *     double dt = 0;
 *     const app_option options[] = {{"dt", "S", "time step", OPTION_NUMBER, &dt, 1e-6, 1}};
 *     int status = options_parse(command, argc, argv, options, 1, &arguments);
 *     if (status != OPTIONS_PARSED) return status;  */
#ifndef APP_OPTIONS_H
#define APP_OPTIONS_H

#include <stdbool.h>

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
    void *target; /* left alone when the option is not given */
    double low, high;
} app_option;

/* What is not an option. */
typedef struct option_arguments {
    const char *values[OPTION_LIST_LIMIT];
    int count;
} option_arguments;

#define OPTIONS_PARSED (-1)

struct app_command;

/* OPTIONS_PARSED, or the exit status to return: after --help, or after a message about what is wrong. The number of
 * arguments must lie in fewest..most. Options are written --name VALUE or --name=VALUE; behind -- all are arguments. */
int options_parse(const struct app_command *command, int argc, char **argv, const app_option *options, int option_count,
                  int fewest, int max, option_arguments *arguments);

#endif
