#include "app/command.h"
#include "app/support.h"
#include "bench/bench.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define BENCH(name) extern const bench_entry bench_##name;
#include "benches.inc"
#undef BENCH

static const bench_entry *const benches[] = {
#define BENCH(name) &bench_##name,
#include "benches.inc"
#undef BENCH
};
static const int bench_count = (int)(sizeof benches / sizeof *benches);

static void print_benches(void) {
    table list = {0};
    table_add_column(&list, "bench", "bench", 0);
    table_add_column(&list, "summary", "what it measures", 0);
    for (int i = 0; i < bench_count; i++) {
        table_add_row(&list);
        table_text(&list, "bench", "%s", benches[i]->name);
        table_text(&list, "summary", "%s", benches[i]->summary);
    }
    table_print(&list, stdout);
    table_free(&list);
}

static thenar_status write_results(const bench_entry *bench, const table *results, const char *folder,
                                   thenar_error *error) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.json", folder, bench->name);
    thenar_status status = table_write_json(results, bench->name, path, error);
    snprintf(path, sizeof path, "%s/%s.csv", folder, bench->name);
    if (status == THENAR_OK) status = table_write_csv(results, path, error);
    snprintf(path, sizeof path, "%s/%s.svg", folder, bench->name);
    if (status == THENAR_OK && bench->plot) status = plot_write(bench->plot, results, path, error);
    if (status == THENAR_OK)
        printf("written to %s/%s.json, .csv%s\n", folder, bench->name, bench->plot ? " and .svg" : "");
    return status;
}

static thenar_status run_bench(const bench_entry *bench, const bench_request *request, const char *folder,
                               thenar_error *error) {
    /* Fails before the measurement if the folder cannot be made. */
    if (folder && make_directory(folder, error) != THENAR_OK) return error->status;
    table results = {0};
    thenar_status status = bench->run(request, &results, error);
    if (status == THENAR_OK) table_print(&results, stdout);
    if (status == THENAR_OK && folder) status = write_results(bench, &results, folder, error);
    table_free(&results);
    return status;
}

#ifdef THENAR_VIEWER
extern const app_command command_report;

/* Makes a page of all results in the folder. */
static int write_report(const char *folder) {
    return command_report.run(&command_report, 1, (char *[]){(char *)(uintptr_t)folder});
}
#endif

static int unknown_bench(const app_command *command, const char *name) {
    const char *names[sizeof benches / sizeof *benches];
    for (int i = 0; i < bench_count; i++) names[i] = benches[i]->name;
    const char *closest = closest_name(name, names, (size_t)bench_count);
    if (closest) return command_misused(command, "there is no benchmark %s; did you mean %s?", name, closest);
    return command_misused(command, "there is no benchmark %s; 'thenar bench' lists them", name);
}

static int run(const app_command *command, int argc, char **argv) {
    const char *folder = NULL, *track = NULL;
    long repeats = 0;
    double noise = 0;
    bool report = false;
    const app_option options[] = {
        {"out", "DIR", "also write DIR/NAME.json and .csv, and .svg if there is a plot", OPTION_TEXT, &folder, 0, 0},
        {"repeats", "N", "number of measurements per median (default: chosen by the benchmark)", OPTION_INTEGER,
         &repeats, 1, 1e6},
        {"track", "FILE", "for the benchmark track: the tracked hand (default: a made-up motion)", OPTION_TEXT, &track,
         0, 0},
        {"noise", "MM", "for the benchmark track: noise added to each joint, mm rms (default 1)", OPTION_NUMBER, &noise,
         0, 100},
#ifdef THENAR_VIEWER
        {"report", NULL, "also make a page of all results in DIR (default out/bench): DIR/report.html", OPTION_FLAG,
         &report, 0, 0},
#endif
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 0, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    if (report && !folder) folder = "out/bench";
    if (arguments.count == 0) {
        print_benches();
        return EXIT_DONE;
    }
    bench_request request = {.repeats = (int)repeats, .track = track, .noise = noise};
    thenar_error error;
    for (int i = 0; i < bench_count; i++) {
        if (strcmp(benches[i]->name, arguments.values[0]) != 0) continue;
        if (run_bench(benches[i], &request, folder, &error) != THENAR_OK) return command_fail(&error);
#ifdef THENAR_VIEWER
        if (report) return write_report(folder);
#endif
        return EXIT_DONE;
    }
    return unknown_bench(command, arguments.values[0]);
}

const app_command command_bench = {
    .name = "bench",
    .summary = "run a benchmark, or list them",
    .arguments = "[NAME] [--out DIR] [--repeats N] [--report] [--track FILE] [--noise MM]",
    .details = "Prints a table and, with --out, writes it as JSON with a description of the machine, as CSV,\n"
               "and as SVG if there is a plot.",
    .run = run};
