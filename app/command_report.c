#include "app/command.h"
#include "app/support.h"
#include "app/server.h"
#include "app/view.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_SIZE 4096

typedef struct report_request {
    double rate; /* frames per second of simulated time */
    double size; /* of all replays before compression, bytes */
    long every;  /* 0: computed from rate and size */
} report_request;

#define CONTACT_WEIGHT 160 /* bytes per contact: 64, but they compress worse than positions */

/* Mean number of contacts per frame, estimated from some frames. */
static double mean_contacts(thenar_recording *recording) {
    double sum = 0;
    enum { LOOKS = 8 };
    for (int i = 0; i < LOOKS; i++) {
        const thenar_contact *contacts;
        int count;
        thenar_error ignored;
        int frame = (int)((int64_t)(thenar_recording_frame_count(recording) - 1) * i / (LOOKS - 1));
        if (thenar_recording_read_contacts(recording, frame, &contacts, &count, &ignored) == THENAR_OK) sum += count;
    }
    return sum / LOOKS;
}

/* The stride of frames that keeps within the requested rate and size. */
static int choose_every(const report_request *request, thenar_recording *recording) {
    if (request->every > 0) return (int)request->every;
    int frames = thenar_recording_frame_count(recording);
    double length = thenar_recording_frame_time(recording, frames - 1) - thenar_recording_frame_time(recording, 0);
    double bytes = CONTACT_WEIGHT * mean_contacts(recording);
    for (int b = 0; b < thenar_recording_body_count(recording); b++)
        bytes += 64 + 6.0 * thenar_recording_body_at(recording, b)->node_count;
    double by_rate = length > 0 ? frames / (length * request->rate) : 1, by_size = frames * bytes / request->size;
    return (int)fmax(1, fmax(round(by_rate), ceil(by_size)));
}

static thenar_status add_run(const report_request *request, const char *path, report *page, thenar_error *error) {
    view_source *source;
    thenar_status status = view_recorded_open(path, &source, error);
    if (status != THENAR_OK) return status;
    thenar_recording *recording = view_recorded_recording(source);
    view_range range = {0, thenar_recording_frame_count(recording), choose_every(request, recording)};
    view_message message = {0};
    status = view_recorded_pack(source, range, &message, error);
    if (status == THENAR_OK) status = report_add(page, &message, error);
    message_free(&message);
    source->free(source);
    return status;
}

static int is_json(const struct dirent *entry) {
    return strcmp(path_extension(entry->d_name), "json") == 0;
}

/* The results of benchmarks in a folder: every JSON file with a key "bench". */
static void collect_benches(const char *folder, view_message *message, int *count) {
    struct dirent **entries;
    int entry_count = scandir(folder, &entries, is_json, alphasort);
    for (int i = 0; i < entry_count; i++) {
        char path[PATH_SIZE + 300];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        json_t *root = json_file_read(path);
        if (json_is_string(json_object_get(root, "bench")) && json_is_array(json_object_get(root, "rows"))) {
            message_json(message, SECTION_BENCH, json_incref(root));
            (*count)++;
        }
        json_decref(root);
        free(entries[i]);
    }
    if (entry_count >= 0) free(entries);
}

static bool has_file(const char *folder, const char *name) {
    char path[PATH_SIZE + 300];
    struct stat info;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &info) == 0;
}

static thenar_status write_report(const report_request *request, const option_arguments *arguments, const char *out,
                                  thenar_error *error) {
    report page = {0};
    view_message benches = {0};
    int bench_count = 0, run_count = 0;
    thenar_status status = report_begin(&page, out, error);
    for (int i = 0; i < arguments->count && status == THENAR_OK; i++) {
        const char *path = arguments->values[i];
        int before = bench_count;
        if (is_directory(path)) collect_benches(path, &benches, &bench_count);
        if (is_directory(path) && bench_count > before && !has_file(path, "recording.thenar")) continue;
        status = add_run(request, path, &page, error);
        run_count++;
    }
    if (status == THENAR_OK && bench_count > 0) status = report_add(&page, &benches, error);
    message_free(&benches);
    thenar_status ended = report_end(&page, status == THENAR_OK ? error : NULL);
    if (status == THENAR_OK) status = ended;
    if (status != THENAR_OK)
        remove(out);
    else
        printf("%s: %d run%s, %d benchmark%s\n", out, run_count, run_count == 1 ? "" : "s", bench_count,
               bench_count == 1 ? "" : "s");
    return status;
}

/* In the folder of the first run. */
static void default_path(const char *first, char out[PATH_SIZE + 32]) {
    if (is_directory(first)) {
        snprintf(out, PATH_SIZE + 32, "%s/report.html", first);
        return;
    }
    const char *slash = strrchr(first, '/');
    snprintf(out, PATH_SIZE + 32, "%.*sreport.html", slash ? (int)(slash + 1 - first) : 0, first);
}

static int run(const app_command *command, int argc, char **argv) {
    report_request request = {.rate = 60};
    const char *out = NULL;
    double megabytes = 12;
    const app_option options[] = {
        {"out", "FILE", "output file (default report.html next to the first run)", OPTION_TEXT, &out, 0, 0},
        {"every", "N", "every N-th frame (default: chosen by --fps and --size)", OPTION_INTEGER, &request.every, 1,
         1e9},
        {"fps", "N", "maximum number of frames per simulated second (default 60)", OPTION_NUMBER, &request.rate, 0.001,
         1e6},
        {"size", "MB", "maximum size of the replays before compression (default 12)", OPTION_NUMBER, &megabytes, 0.1,
         2000},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 1, 64, &arguments);
    if (status != OPTIONS_PARSED) return status;
    request.size = 1e6 * megabytes / arguments.count;
    char path[PATH_SIZE + 32];
    if (strlen(arguments.values[0]) >= PATH_SIZE) return command_misused(command, "the path is too long");
    default_path(arguments.values[0], path);
    thenar_error error;
    return write_report(&request, &arguments, out ? out : path, &error) == THENAR_OK ? EXIT_DONE : command_fail(&error);
}

const app_command command_report = {
    .name = "report",
    .summary = "one self-contained HTML page of runs and benchmarks",
    .arguments = "DIR|RECORDING... [--out FILE] [--every N] [--fps N] [--size MB]",
    .details =
        "DIR is what 'thenar run --out' or 'thenar bench --out' wrote. The page has the replay in 3D, the plots\n"
        "and the table of each run, and the tables of the benchmarks; it opens from disk, without a network.\n"
        "Any two runs can be compared side by side; the first two are if they have the same bodies.",
    .run = run};
