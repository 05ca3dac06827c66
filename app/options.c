#include "app/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unknown_option(const app_command *command, const char *name, const app_option *options, int count) {
    const char *names[64] = {"help"};
    size_t known = 1;
    for (int i = 0; i < count && known < 64; i++) names[known++] = options[i].name;
    const char *closest = closest_name(name, names, known);
    if (closest) return command_misused(command, "unknown option --%s; did you mean --%s?", name, closest);
    return command_misused(command, "unknown option --%s", name);
}

/* Stores a value; returns NULL, or what was expected. */
static const char *store(const app_option *option, const char *text, char *expected, size_t size) {
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)option->target = true;
        return NULL;
    case OPTION_TEXT:
        if (!*text) return option->value_name;
        *(const char **)option->target = text;
        return NULL;
    case OPTION_LIST: {
        option_list *list = option->target;
        if (list->count == OPTION_LIST_LIMIT) return "at most 256 of them";
        list->values[list->count++] = text;
        return NULL;
    }
    case OPTION_NUMBER: {
        double value;
        if (parse_number(text, &value) && value >= option->low && value <= option->high) {
            *(double *)option->target = value;
            return NULL;
        }
        snprintf(expected, size, "a number from %g to %g", option->low, option->high);
        return expected;
    }
    case OPTION_INTEGER: {
        if (parse_integer(text, (long)option->low, (long)option->high, option->target)) return NULL;
        snprintf(expected, size, "a whole number from %.0f to %.0f", option->low, option->high);
        return expected;
    }
    }
    return NULL;
}

static const app_option *find(const char *name, size_t length, const app_option *options, int count) {
    for (int i = 0; i < count; i++)
        if (strlen(options[i].name) == length && strncmp(options[i].name, name, length) == 0) return &options[i];
    return NULL;
}

/* Parses the option at argv[*at] and advances *at past it. */
static int parse_option(const app_command *command, int argc, char **argv, int *at, const app_option *options,
                        int option_count) {
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);
    (*at)++;
    if (length == 4 && strncmp(name, "help", 4) == 0) {
        command_print_help(command, options, option_count);
        return EXIT_DONE;
    }
    const app_option *option = find(name, length, options, option_count);
    if (!option) {
        char wrong[64];
        snprintf(wrong, sizeof wrong, "%.*s", (int)(length < 63 ? length : 63), name);
        return unknown_option(command, wrong, options, option_count);
    }
    const char *value = equals ? equals + 1 : NULL;
    if (option->kind == OPTION_FLAG && value) return command_misused(command, "--%s takes no value", option->name);
    if (option->kind != OPTION_FLAG && !value) {
        if (*at >= argc) return command_misused(command, "--%s needs a value: %s", option->name, option->value_name);
        value = argv[(*at)++];
    }
    char text[96];
    const char *expected = store(option, value, text, sizeof text);
    if (expected) return command_misused(command, "--%s %s; expected %s", option->name, value ? value : "", expected);
    return OPTIONS_PARSED;
}

int options_parse(const app_command *command, int argc, char **argv, const app_option *options, int option_count,
                  int count_min, int count_max, option_arguments *arguments) {
    arguments->count = 0;
    bool only_arguments = false;
    for (int at = 0; at < argc;) {
        /* The only short option: the output. */
        if (!only_arguments && strcmp(argv[at], "-o") == 0 && find("out", 3, options, option_count)) argv[at] = "--out";
        if (!only_arguments && strcmp(argv[at], "--") == 0) {
            only_arguments = true;
            at++;
        } else if (!only_arguments && strcmp(argv[at], "-h") == 0) {
            command_print_help(command, options, option_count);
            return EXIT_DONE;
        } else if (!only_arguments && strncmp(argv[at], "--", 2) == 0) {
            int status = parse_option(command, argc, argv, &at, options, option_count);
            if (status != OPTIONS_PARSED) return status;
        } else if (!only_arguments && argv[at][0] == '-' && argv[at][1]) {
            return command_misused(command, "unknown option %s; options start with two dashes", argv[at]);
        } else {
            if (arguments->count >= count_max) return command_misused(command, "unexpected argument %s", argv[at]);
            arguments->values[arguments->count++] = argv[at++];
        }
    }
    if (arguments->count < count_min)
        return command_misused(command, "an argument is missing; expected %s", command->arguments);
    return OPTIONS_PARSED;
}
