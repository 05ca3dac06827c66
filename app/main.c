/* The thenar command: finds the subcommand and runs it. */
#include "app/command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define COMMAND(name) extern const app_command command_##name;
#include "commands.inc"
#undef COMMAND

const app_command *const command_table[] = {
#define COMMAND(name) &command_##name,
#include "commands.inc"
#undef COMMAND
};
const int command_count = (int)(sizeof command_table / sizeof *command_table);

int command_fail(const thenar_error *error) {
    fprintf(stderr, "thenar: %s\n", error->text);
    return error->status == THENAR_ERROR_NUMERIC ? EXIT_NUMERIC : EXIT_INPUT;
}

int command_misused(const app_command *command, const char *format, ...) {
    fprintf(stderr, "thenar %s: ", command->name);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\nusage: thenar %s %s   ('thenar %s --help' for details)\n", command->name, command->arguments,
            command->name);
    return EXIT_USAGE;
}

void command_print_help(const app_command *command, const app_option *options, int option_count) {
    printf("usage: thenar %s %s\n\n%s\n", command->name, command->arguments, command->summary);
    if (*command->details) printf("\n%s\n", command->details);
    printf("\noptions:\n");
    for (int i = 0; i < option_count; i++) {
        char left[64];
        snprintf(left, sizeof left, "--%s %s", options[i].name, options[i].value_name ? options[i].value_name : "");
        printf("  %-22s %s\n", left, options[i].help);
    }
    printf("  %-22s %s\n", "--help", "show this");
}

const char *command_closest(const char *name) {
    const char *names[sizeof command_table / sizeof *command_table];
    for (int i = 0; i < command_count; i++) names[i] = command_table[i]->name;
    return closest_name(name, names, (size_t)command_count);
}

static const app_command *find_command(const char *name) {
    for (int i = 0; i < command_count; i++)
        if (strcmp(command_table[i]->name, name) == 0) return command_table[i];
    return NULL;
}

static int unknown_command(const char *name) {
    const char *closest = command_closest(name);
    fprintf(stderr,
            "thenar: unknown command %s%s%s%s\nusage: thenar COMMAND ...   ('thenar help' lists the commands)\n", name,
            closest ? "; did you mean " : "", closest ? closest : "", closest ? "?" : "");
    return EXIT_USAGE;
}

static int run_command(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : NULL;
    if (!name) {
        fprintf(stderr, "usage: thenar COMMAND ...   ('thenar help' lists the commands)\n");
        return EXIT_USAGE;
    }
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) name = "help";
    if (strcmp(name, "--version") == 0) {
        printf("thenar %s\n", thenar_version());
        return EXIT_DONE;
    }
    const app_command *command = find_command(name);
    return command ? command->run(command, argc - 2, argv + 2) : unknown_command(name);
}

/* A standard stream that the caller closed becomes /dev/null, so that no file that is opened later takes its number and
 * receives messages. A write beyond a file size limit becomes an error like a full disk. */
static void prepare_streams(void) {
    for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
        if (fcntl(stream, F_GETFD) == -1 && open("/dev/null", O_RDWR) == -1) return;
    signal(SIGXFSZ, SIG_IGN);
}

/* The exit status, EXIT_INPUT after a message if standard output could not be written. */
static int check_output(int status) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return status;
    fprintf(stderr, "thenar: standard output: cannot write: %s\n", errno ? strerror(errno) : "an earlier write failed");
    return status == EXIT_DONE ? EXIT_INPUT : status;
}

int main(int argc, char **argv) {
    prepare_streams();
    return check_output(run_command(argc, argv));
}
