/* What is made of a recording: shown in the viewer, packed into a report, played to tactile devices, exported. */
#include "mend.h"

#include "app/view.h"
#include "io/file.h"
#include "io/recording.h"

#define FRAMES 4
#define LARGEST 100000 /* nodes and vertices of a body that is shown here */

static void show(view_source *source) {
    thenar_error error = {0};
    view_message out = {0};
    view_cursor cursor = {0};
    source->head(source, &out);
    int frames = thenar_recording_frame_count(view_recorded_recording(source));
    for (int f = 0; f < frames && f < FRAMES; f++) {
        fuzz_check(!source->order(source, &cursor, &(view_order){.kind = ORDER_WANT, .a = (uint32_t)f}));
        source->updates(source, &cursor, &out);
    }
    message_clear(&out);
    view_recorded_pack(source, (view_range){0, frames < FRAMES ? frames : FRAMES, 1}, &out, &error);
    message_free(&out);
}

static void play(thenar_recording *recording) {
    thenar_error error = {0};
    thenar_wearable_def cable = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    thenar_tactile_def worn = {.size = sizeof worn, .name = "a", .finger = THENAR_FINGER_INDEX, .device = &cable};
    thenar_tactile_options options = thenar_tactile_options_default();
    options.devices = &worn;
    options.device_count = 1;
    thenar_tactile_replay *replay;
    thenar_status status = thenar_tactile_replay_create(recording, &options, &replay, &error);
    fuzz_status(status, &error);
    for (int f = 0; status == THENAR_OK && f < thenar_recording_frame_count(recording) && f < FRAMES; f++)
        if (thenar_tactile_replay_frame(replay, f, &error) != THENAR_OK) break;
    thenar_tactile_replay_free(replay);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[32];
    thenar_error error = {0};
    view_source *source;
    file_bytes bytes = fuzz_bytes(data, size);
    mend_checksums(bytes.data, size);
    int file = fuzz_file(bytes.data, size, path);
    free(bytes.data);
    if (view_recorded_open(path, &source, &error) == THENAR_OK) {
        thenar_recording *recording = view_recorded_recording(source);
        bool small = true;
        for (int b = 0; b < thenar_recording_body_count(recording); b++) {
            const thenar_recording_body *body = thenar_recording_body_at(recording, b);
            small = small && body->node_count < LARGEST && body->vertex_count < LARGEST;
        }
        if (small) {
            show(source);
            play(recording);
            thenar_export_options options = {.size = sizeof options,
                                             .end = thenar_recording_frame_count(recording) < FRAMES ? 0 : FRAMES};
            thenar_recording_export(recording, THENAR_EXPORT_CSV, "/dev/null", &options, &error);
            thenar_recording_export(recording, THENAR_EXPORT_GLTF, "/dev/null", &options, &error);
        }
        source->free(source);
    }
    close(file);
    return 0;
}
