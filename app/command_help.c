#include "app/command.h"

#include <stdio.h>
#include <string.h>

static int run(const app_command *command, int argc, char **argv) {
    option_arguments arguments;
    int status = options_parse(command, argc, argv, NULL, 0, 0, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    for (int i = 0; arguments.count == 1 && i < command_count; i++) {
        char *help[] = {"--help"};
        if (strcmp(command_table[i]->name, arguments.values[0]) == 0)
            return command_table[i]->run(command_table[i], 1, help);
    }
    if (arguments.count == 1) {
        const char *closest = command_closest(arguments.values[0]);
        if (closest)
            return command_misused(command, "there is no command %s; did you mean %s?", arguments.values[0], closest);
        return command_misused(command, "there is no command %s", arguments.values[0]);
    }
    printf("thenar %s: soft hands that touch things\n\nusage: thenar COMMAND ...\n\ncommands:\n", thenar_version());
    for (int i = 0; i < command_count; i++) printf("  %-8s %s\n", command_table[i]->name, command_table[i]->summary);
    printf("\n'thenar COMMAND --help' explains one. Exit status: 0 success, 1 bad input, 2 wrong usage,\n"
           "3 the simulation could not go on, 130 interrupted.\n");
    return EXIT_DONE;
}

const app_command command_help = {.name = "help",
                                  .summary = "list the commands, or explain one",
                                  .arguments = "[COMMAND]",
                                  .details = "",
                                  .run = run};
