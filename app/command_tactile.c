/* Commands of a tactile device from a recording; the recorded run may have had another device, or none. */
#include "app/run.h"

#include "thenar/scene.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEGREE (3.14159265358979323846 / 180)
#define MAX_DEVICES 64

typedef struct tactile_request {
    const char *recording, *device, *fingers, *hand, *out;
    double turn; /* degrees; NaN: as recorded, or 0 */
} tactile_request;

/* The devices on the fingers, with the memory of their names. */
typedef struct device_list {
    thenar_tactile_def defs[MAX_DEVICES];
    thenar_wearable_def device;
    int count;
    char names[MAX_DEVICES][160];
    char hands[MAX_DEVICES][128];
} device_list;

/* The mount angle of the device on a finger in the recorded run. */
static double recorded_turn(const json_t *metadata, const char *hand, const char *finger) {
    const json_t *devices = json_object_get(json_object_get(metadata, "tactile"), "devices");
    for (size_t i = 0; i < json_array_size(devices); i++) {
        const json_t *device = json_array_get(devices, i);
        const char *its_hand = json_string_value(json_object_get(device, "hand"));
        const char *its_finger = json_string_value(json_object_get(device, "finger"));
        if (its_hand && its_finger && strcmp(its_hand, hand) == 0 && strcmp(its_finger, finger) == 0)
            return json_number_value(json_object_get(device, "turn"));
    }
    return 0;
}

/* Whether the list begins with this name. */
static bool is_name(const char *list, const char *name) {
    size_t length = strlen(name);
    return strncmp(list, name, length) == 0 && (list[length] == ',' || list[length] == 0);
}

static const char *next_name(const char *list) {
    const char *comma = strchr(list, ',');
    return comma ? comma + 1 : NULL;
}

static bool has_finger(const char *list, const char *finger) {
    for (; list; list = next_name(list))
        if (is_name(list, finger)) return true;
    return false;
}

/* Whether all names in the list are fingers. */
static bool fingers_are_known(const char *list) {
    for (; list; list = next_name(list)) {
        bool known = false;
        for (int f = 0; f < THENAR_FINGER_COUNT; f++)
            known = known || is_name(list, thenar_finger_name((thenar_finger)f));
        if (!known) return false;
    }
    return true;
}

static thenar_status choose(const tactile_request *request, const json_t *metadata, device_list *list,
                            thenar_error *error) {
    thenar_status status = thenar_wearable_load(request->device, &list->device, sizeof list->device, error);
    if (status != THENAR_OK) return status;
    const json_t *hands = json_object_get(metadata, "hands");
    for (size_t h = 0; h < json_array_size(hands); h++) {
        const char *hand = json_string_value(json_object_get(json_array_get(hands, h), "name"));
        if (!hand || (request->hand && strcmp(request->hand, hand) != 0)) continue;
        for (int f = 0; f < THENAR_FINGER_COUNT && list->count < MAX_DEVICES; f++) {
            const char *finger = thenar_finger_name((thenar_finger)f);
            if (!has_finger(request->fingers, finger)) continue;
            int i = list->count++;
            snprintf(list->hands[i], sizeof list->hands[i], "%s", hand);
            snprintf(list->names[i], sizeof list->names[i], "%.120s.%s", hand, finger);
            double turn = isnan(request->turn) ? recorded_turn(metadata, hand, finger) : request->turn * DEGREE;
            thenar_tactile_def *def = &list->defs[i];
            *def = thenar_tactile_def_default();
            def->name = list->names[i];
            def->hand = list->hands[i];
            def->finger = (thenar_finger)f;
            def->mount_angle = turn;
            def->device = &list->device;
        }
    }
    if (list->count > 0) return THENAR_OK;
    return fail(error, THENAR_ERROR_INPUT, "%s: there is no hand%s%s; expected a recording with hands",
                request->recording, request->hand ? " " : "", request->hand ? request->hand : "");
}

static void write_rows(thenar_csv *csv, const thenar_tactile *tactile, run_tactile_range *ranges) {
    for (int d = 0; d < thenar_tactile_device_count(tactile); d++) {
        const thenar_tactile_def *def = thenar_tactile_device(tactile, d);
        const thenar_tactile_command *c = thenar_tactile_command_of(tactile, d);
        int values = thenar_wearable_value_count(def->device);
        run_tactile_widen(&ranges[d], c);
        thenar_csv_number(csv, c->time);
        thenar_csv_text(csv, def->name);
        for (int k = 0; k < 3; k++) thenar_csv_number(csv, c->platform[k]);
        thenar_csv_number(csv, c->press);
        thenar_csv_integer(csv, c->touching);
        for (int v = 0; v < THENAR_WEARABLE_VALUES; v++)
            if (v < values)
                thenar_csv_number(csv, c->value[v]);
            else
                thenar_csv_empty(csv);
        thenar_csv_end_row(csv);
    }
}

static void print_ranges(const thenar_tactile *tactile, const run_tactile_range *ranges, int frames) {
    table t = {0};
    table_add_column(&t, "device", "device", 0);
    table_add_column(&t, "frames", "frames in contact", 0);
    table_add_column(&t, "pitch_low", "pitch deg", 2);
    table_add_column(&t, "pitch_high", "to", 2);
    table_add_column(&t, "roll_low", "roll deg", 2);
    table_add_column(&t, "roll_high", "to", 2);
    table_add_column(&t, "low", "displacement mm", 3);
    table_add_column(&t, "high", "to", 3);
    table_add_column(&t, "press", "deepest press mm", 3);
    for (int d = 0; d < thenar_tactile_device_count(tactile); d++) {
        const run_tactile_range *r = &ranges[d];
        table_add_row(&t);
        table_text(&t, "device", "%s", thenar_tactile_device(tactile, d)->name);
        table_text(&t, "frames", "%ld of %d", r->touched, frames);
        if (r->touched == 0) continue;
        table_number(&t, "pitch_low", r->low[0] / DEGREE);
        table_number(&t, "pitch_high", r->high[0] / DEGREE);
        table_number(&t, "roll_low", r->low[1] / DEGREE);
        table_number(&t, "roll_high", r->high[1] / DEGREE);
        table_number(&t, "low", r->low[2] * 1e3);
        table_number(&t, "high", r->high[2] * 1e3);
        table_number(&t, "press", r->press * 1e3);
    }
    table_print(&t, stdout);
    table_free(&t);
}

static thenar_status replay_all(const tactile_request *request, thenar_recording *recording,
                                thenar_tactile_replay *replay, thenar_error *error) {
    static const char *const columns[] = {"time",  "device",   "pitch",   "roll",    "displacement",
                                          "press", "touching", "value_1", "value_2", "value_3"};
    thenar_csv *csv;
    run_tactile_range ranges[MAX_DEVICES] = {{{0}, {0}, 0, 0}};
    thenar_tactile *tactile = thenar_tactile_replay_devices(replay);
    int frames = thenar_recording_frame_count(recording);
    thenar_status status = thenar_csv_open(request->out, &csv, error);
    if (status != THENAR_OK) return status;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) thenar_csv_text(csv, columns[i]);
    thenar_csv_end_row(csv);
    progress line = progress_start(request->recording, "frames", frames);
    for (int f = 0; f < frames && status == THENAR_OK; f++) {
        status = thenar_tactile_replay_frame(replay, f, error);
        if (status == THENAR_OK) write_rows(csv, tactile, ranges);
        progress_update(&line, f + 1);
    }
    progress_end(&line);
    thenar_status closed = thenar_csv_close(csv, status == THENAR_OK ? error : NULL);
    if (status == THENAR_OK) status = closed;
    if (status == THENAR_OK) print_ranges(tactile, ranges, frames);
    return status;
}

static thenar_status work(const tactile_request *request, thenar_error *error) {
    thenar_recording *recording;
    thenar_status status = thenar_recording_open(request->recording, &recording, error);
    if (status != THENAR_OK) return status;
    if (thenar_recording_damage(recording))
        fprintf(stderr, "thenar: warning: %s\n", thenar_recording_damage(recording));
    json_t *metadata = json_of_text(thenar_recording_get_info(recording).metadata);
    device_list *list = calloc(1, sizeof *list);
    thenar_tactile_options options = thenar_tactile_options_default();
    thenar_tactile_replay *replay = NULL;
    status = list ? choose(request, metadata, list, error) : fail_memory(error, request->recording);
    if (status == THENAR_OK) {
        options.devices = list->defs;
        options.device_count = list->count;
        status = thenar_tactile_replay_create(recording, &options, &replay, error);
    }
    if (status == THENAR_OK) status = replay_all(request, recording, replay, error);
    thenar_tactile_replay_free(replay);
    free(list);
    json_decref(metadata);
    thenar_recording_close(recording);
    return status;
}

static int run(const app_command *command, int argc, char **argv) {
    tactile_request request = {.fingers = "thumb,index,middle", .out = "tactile.csv", .turn = NAN};
    const app_option options[] = {
        {"device", "FILE", "description of the device (docs/tactile.md)", OPTION_TEXT, &request.device, 0, 0},
        {"fingers", "LIST", "fingers that wear it (default thumb,index,middle)", OPTION_TEXT, &request.fingers, 0, 0},
        {"hand", "NAME", "only this hand", OPTION_TEXT, &request.hand, 0, 0},
        {"turn", "DEGREES", "mount angle about the fingers (default as recorded)", OPTION_NUMBER, &request.turn, -90,
         90},
        {"out", "FILE", "output file (default tactile.csv)", OPTION_TEXT, &request.out, 0, 0},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, sizeof options / sizeof *options, 1, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    request.recording = arguments.values[0];
    if (!request.device) return command_misused(command, "--device is missing; expected a file that describes one");
    if (!fingers_are_known(request.fingers))
        return command_misused(command,
                               "--fingers %s; expected thumb, index, middle, ring or little, separated by commas",
                               request.fingers);
    if (is_same_file(request.recording, request.out))
        return command_misused(command, "--out %s is the recording itself; expected another file", request.out);
    thenar_error error;
    if (work(&request, &error) != THENAR_OK) return command_fail(&error);
    printf("%s\n", request.out);
    return EXIT_DONE;
}

const app_command command_tactile = {
    .name = "tactile",
    .summary = "compute the commands of a tactile device from a recording",
    .arguments = "RECORDING --device FILE [--fingers LIST] [--hand NAME] [--turn DEGREES] [--out FILE]",
    .details =
        "The recorded run need not have had this device, or any: every recording of a hand has pads, contacts and\n"
        "bones. Writes a row per frame and device: pose (rad, m), press (m), and the values of its actuators.",
    .run = run};
