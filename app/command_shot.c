#include "app/chromium.h"
#include "app/command.h"
#include "app/support.h"
#include "app/run.h"
#include "app/server.h"
#include "app/view.h"

#include <ftw.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4096

typedef struct shot_request {
    const char *what, *out, *view, *colour, *theme, *clip, *track;
    double at, from, to, fps; /* s; at: NaN for the end */
    double top;               /* of the colour scale, in SI units; 0: from the data */
    long width, height, threads;
    bool wire, bones, page, no_grid, no_contacts, sequence;
    option_list sets;
} shot_request;

static int picture_count(const shot_request *request) {
    return request->sequence ? (int)floor((request->to - request->from) * request->fps + 1e-6) + 1 : 1;
}

static double picture_time(const shot_request *request, int picture) {
    return request->sequence ? request->from + picture / request->fps : request->at;
}

/* Runs a scene up to the last picture and records one frame per picture. */
static thenar_status simulate(const shot_request *request, const char *path, thenar_error *error) {
    thenar_model *model;
    thenar_scene_info info;
    thenar_status status = scene_open(request->what, &request->sets, request->track, &model, &info, error);
    if (status != THENAR_OK) return status;
    thenar_sim *sim = NULL;
    thenar_recorder *recorder = NULL;
    run_tactile *tactile = NULL;
    thenar_sim_options options = thenar_sim_options_default();
    thenar_recorder_options recorded = thenar_recorder_options_default();
    options.threads = (int)request->threads;
    status = thenar_sim_create(model, &options, &sim, error);
    if (status == THENAR_OK) status = run_tactile_create(model, NULL, &tactile, error);
    if (status == THENAR_OK) run_tactile_begin(tactile, sim);
    recorded.tactile = run_tactile_devices(tactile);
    if (status == THENAR_OK) status = thenar_recorder_create(path, sim, &recorded, &recorder, error);
    int count = picture_count(request);
    progress line = progress_start(request->what, "pictures simulated", count);
    for (int i = 0; i < count && status == THENAR_OK && !process_interrupted(); i++) {
        double time = picture_time(request, i);
        if (isnan(time)) time = info.time;
        while (thenar_sim_time(sim) < time - 0.5 * thenar_sim_dt(sim) && status == THENAR_OK &&
               !process_interrupted()) {
            if (thenar_sim_step(sim) != THENAR_OK)
                status = fail(error, THENAR_ERROR_NUMERIC, "%s: the step at %g s failed", request->what,
                              thenar_sim_time(sim));
            run_tactile_step(tactile, sim);
        }
        if (status == THENAR_OK) status = thenar_recorder_add(recorder, error);
        progress_update(&line, i + 1);
    }
    progress_end(&line);
    thenar_status closed = thenar_recorder_close(recorder, status == THENAR_OK ? error : NULL);
    run_tactile_free(tactile);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return status != THENAR_OK ? status : closed;
}

/* The frame nearest to a time. */
static int nearest_frame(thenar_recording *recording, double time) {
    int frames = thenar_recording_frame_count(recording), best = frames - 1;
    for (int f = 0; f < frames && !isnan(time); f++)
        if (fabs(thenar_recording_frame_time(recording, f) - time) <
            fabs(thenar_recording_frame_time(recording, best) - time))
            best = f;
    return best;
}

/* Writes a page with the frames of the pictures only. */
static thenar_status write_page(const shot_request *request, const char *recording_path, const char *page,
                                thenar_error *error) {
    view_source *source;
    thenar_status status = view_recorded_open(recording_path, &source, error);
    if (status != THENAR_OK) return status;
    thenar_recording *recording = view_recorded_recording(source);
    int first = nearest_frame(recording, picture_time(request, 0));
    int last = nearest_frame(recording, picture_time(request, picture_count(request) - 1));
    view_message message = {0};
    report out = {0};
    status = view_recorded_pack(source, (view_range){first, last + 1, 1}, &message, error);
    if (status == THENAR_OK) status = report_begin(&out, page, error);
    if (status == THENAR_OK) status = report_add(&out, &message, error);
    thenar_status ended = report_end(&out, status == THENAR_OK ? error : NULL);
    message_free(&message);
    source->free(source);
    return status != THENAR_OK ? status : ended;
}

/* The argument of thenar.show in the page. */
static char *describe_view(const shot_request *request, double time) {
    json_t *look = json_pack("{s:s, s:b, s:b, s:b, s:s}", "measure", request->colour, "wire", request->wire, "bones",
                             request->bones, "grid", !request->no_grid, "clip", request->clip);
    if (request->no_contacts)
        json_object_update_new(look, json_pack("{s:b, s:b, s:b}", "points", 0, "arrows", 0, "patches", 0));
    if (request->top > 0) json_object_set_new(look, "top", json_real(request->top));
    json_t *view = json_pack("{s:s, s:s, s:b, s:o}", "view", request->view, "theme", request->theme, "bare",
                             !request->page, "look", look);
    if (!isnan(time)) json_object_set_new(view, "time", json_real(time));
    char *text = view ? json_dumps(view, JSON_COMPACT) : NULL;
    json_decref(view);
    return text;
}

/* FILE.png, or FILE-0001.png and so on. */
static void picture_path(const shot_request *request, int picture, char path[PATH_SIZE + 16]) {
    const char *extension = path_extension(request->out);
    int stem = (int)strlen(request->out) - (*extension ? (int)strlen(extension) + 1 : 0);
    if (request->sequence)
        snprintf(path, PATH_SIZE + 16, "%.*s-%04d.png", stem, request->out, picture + 1);
    else
        snprintf(path, PATH_SIZE + 16, "%s", request->out);
}

static thenar_status show_time(const shot_request *request, chromium *browser, double time, thenar_error *error) {
    char *argument = describe_view(request, time), script[2048];
    snprintf(script, sizeof script, "thenar.show(%s)", argument ? argument : "");
    free(argument);
    return chromium_run(browser, script, error);
}

static thenar_status take_pictures(const shot_request *request, chromium *browser, thenar_error *error) {
    thenar_status status = chromium_wait(browser, "document.readyState === 'complete' && !!window.thenar", error);
    if (status == THENAR_OK) status = chromium_run(browser, "thenar.ready", error);
    int count = picture_count(request);
    /* The page scales force arrows by the largest force shown so far. Showing the last moment first gives all arrows
     * of a sequence that ends with a grip one scale. */
    if (status == THENAR_OK && count > 1) status = show_time(request, browser, picture_time(request, count - 1), error);
    progress line = progress_start(request->what, "pictures", count);
    for (int i = 0; i < count && status == THENAR_OK && !process_interrupted(); i++) {
        char path[PATH_SIZE + 16];
        picture_path(request, i, path);
        status = show_time(request, browser, picture_time(request, i), error);
        if (status == THENAR_OK) status = chromium_picture(browser, path, error);
        progress_update(&line, i + 1);
    }
    progress_end(&line);
    return status;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *place) {
    (void)info, (void)kind, (void)place;
    remove(path);
    return 0;
}

static thenar_status shoot(const shot_request *request, thenar_error *error) {
    const char *parent = getenv("TMPDIR");
    char folder[1024], page[1100], recording[1100];
    snprintf(folder, sizeof folder, "%.900s/thenar-shot-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(folder)) return fail_errno(error, folder, "make a folder");
    snprintf(page, sizeof page, "%s/page.html", folder);
    snprintf(recording, sizeof recording, "%s/recording.thenar", folder);
    bool recorded = view_is_recording(request->what);
    chromium *browser = NULL;
    thenar_status status = recorded ? THENAR_OK : simulate(request, recording, error);
    if (status == THENAR_OK) status = write_page(request, recorded ? request->what : recording, page, error);
    if (status == THENAR_OK)
        status = chromium_open(folder, page, (int)request->width, (int)request->height, &browser, error);
    if (status == THENAR_OK) status = take_pictures(request, browser, error);
    chromium_close(browser);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}

static bool is_one_of(const char *text, const char *const *names, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) return true;
    return false;
}
#define IS_ONE_OF(text, ...)                                                                                           \
    is_one_of(text, (const char *const[]){__VA_ARGS__}, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static int run(const app_command *command, int argc, char **argv) {
    shot_request request = {.view = "iso",
                            .colour = "none",
                            .theme = "light",
                            .clip = "",
                            .at = NAN,
                            .from = NAN,
                            .to = NAN,
                            .fps = 30,
                            .width = 960,
                            .height = 640,
                            .threads = 1};
    const app_option options[] = {
        {"at", "S", "simulated time of the picture (default: the end)", OPTION_NUMBER, &request.at, 0, 1e9},
        {"view", "NAME", "iso (default), front, back, left, right, top, bottom", OPTION_TEXT, &request.view, 0, 0},
        {"out", "FILE.png", "output file; -o for short", OPTION_TEXT, &request.out, 0, 0},
        {"from", "S", "time of the first picture of a sequence FILE-0001.png, FILE-0002.png, ...", OPTION_NUMBER,
         &request.from, 0, 1e9},
        {"to", "S", "time of the last picture of the sequence", OPTION_NUMBER, &request.to, 0, 1e9},
        {"fps", "N", "pictures per simulated second (default 30)", OPTION_NUMBER, &request.fps, 0.001, 1e5},
        {"colour", "NAME", "none (default), strain, limit, displacement, pressure", OPTION_TEXT, &request.colour, 0, 0},
        {"top", "VALUE", "upper end of the colour scale in SI units (default: from the data)", OPTION_NUMBER,
         &request.top, 1e-12, 1e12},
        {"theme", "NAME", "light (default) or dark", OPTION_TEXT, &request.theme, 0, 0},
        {"wire", NULL, "show the wireframe of the tets", OPTION_FLAG, &request.wire, 0, 0},
        {"bones", NULL, "show the bones of hands through the skin", OPTION_FLAG, &request.bones, 0, 0},
        {"clip", "AXIS", "clip at the centre, across x, y or z", OPTION_TEXT, &request.clip, 0, 0},
        {"no-grid", NULL, "hide the grid", OPTION_FLAG, &request.no_grid, 0, 0},
        {"no-contacts", NULL, "hide contact points and force arrows", OPTION_FLAG, &request.no_contacts, 0, 0},
        {"page", NULL, "show the whole page, with panel and plots", OPTION_FLAG, &request.page, 0, 0},
        {"width", "N", "pixels (default 960)", OPTION_INTEGER, &request.width, 64, 8192},
        {"height", "N", "pixels (default 640)", OPTION_INTEGER, &request.height, 64, 8192},
        {"threads", "N", "threads per step (default 1)", OPTION_INTEGER, &request.threads, 1, 256},
        {"track", "FILE", "tracked joints that drive the hands of the scene", OPTION_TEXT, &request.track, 0, 0},
        {"set", "PATH=VALUE", "override a key of the scene", OPTION_LIST, &request.sets, 0, 0},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 1, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    request.what = arguments.values[0];
    request.sequence = !isnan(request.from) || !isnan(request.to);
    if (!request.out || strcmp(path_extension(request.out), "png") != 0 || strlen(request.out) >= PATH_SIZE)
        return command_misused(command, "--out %s; expected FILE.png", request.out ? request.out : "is missing");
    if (request.sequence && !(request.to >= request.from))
        return command_misused(command, "a sequence needs --from and --to, in this order");
    if (request.sequence && picture_count(&request) > 9999)
        return command_misused(command, "%d pictures; expected at most 9999", picture_count(&request));
    if (!IS_ONE_OF(request.view, "iso", "front", "back", "left", "right", "top", "bottom"))
        return command_misused(command, "--view %s; expected iso, front, back, left, right, top or bottom",
                               request.view);
    if (!IS_ONE_OF(request.colour, "none", "strain", "limit", "displacement", "pressure"))
        return command_misused(command, "--colour %s; expected none, strain, limit, displacement or pressure",
                               request.colour);
    if (!IS_ONE_OF(request.theme, "light", "dark"))
        return command_misused(command, "--theme %s; expected light or dark", request.theme);
    if (!IS_ONE_OF(request.clip, "", "x", "y", "z"))
        return command_misused(command, "--clip %s; expected x, y or z", request.clip);
    process_watch_interrupts();
    thenar_error error;
    if (shoot(&request, &error) != THENAR_OK) return command_fail(&error);
    if (process_interrupted()) process_die_of(process_interrupted());
    printf("%s: %d picture%s\n", request.out, picture_count(&request), picture_count(&request) == 1 ? "" : "s");
    return EXIT_DONE;
}

const app_command command_shot = {
    .name = "shot",
    .summary = "pictures of a scene or a recording, without a display",
    .arguments = "SCENE|RECORDING|DIR --out FILE.png [--at S | --from S --to S --fps N] [--view NAME] [--colour NAME] "
                 "[--bones] [--track FILE]",
    .details =
        "Needs Chromium (Debian's package chromium). With --from and --to it makes a sequence of pictures, which\n"
        "'ffmpeg -framerate 30 -i FILE-%04d.png film.mp4' turns into a film.",
    .run = run};
