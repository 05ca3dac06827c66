/* Recordings: open, then read every mesh, and every channel, surface and contact of some frames. Checksums are put right
 * first, or nothing behind them would ever be reached. */
#include "mend.h"

#include "thenar/recording.h"

#define FRAMES 8
#define NUMBERS ((size_t)1 << 20) /* of a channel or a surface that is read here */

static void read_frame(thenar_recording *recording, int frame) {
    thenar_error error = {0};
    const thenar_contact *contacts;
    int count;
    thenar_recording_frame_time(recording, frame);
    thenar_recording_frame_step(recording, frame);
    for (int c = 0; c < thenar_recording_channel_count(recording); c++) {
        const thenar_recording_channel *channel = thenar_recording_channel_at(recording, c);
        size_t numbers = (size_t)channel->element_count * (size_t)channel->components;
        if (numbers > NUMBERS) continue;
        double *values = malloc((numbers + 1) * sizeof *values);
        fuzz_status(thenar_recording_read_channel(recording, c, frame, values, &error), &error);
        free(values);
    }
    for (int b = 0; b < thenar_recording_body_count(recording); b++) {
        const thenar_recording_body *body = thenar_recording_body_at(recording, b);
        if ((size_t)body->vertex_count > NUMBERS || (size_t)body->node_count > NUMBERS) continue;
        double *places = malloc(3 * ((size_t)body->vertex_count + (size_t)body->node_count + 1) * sizeof *places);
        fuzz_status(thenar_recording_read_surface(recording, b, frame, places, &error), &error);
        fuzz_status(thenar_recording_read_positions(recording, b, frame, places, &error), &error);
        free(places);
    }
    fuzz_status(thenar_recording_read_contacts(recording, frame, &contacts, &count, &error), &error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[32];
    file_bytes bytes = fuzz_bytes(data, size);
    mend_checksums(bytes.data, size);
    int file = fuzz_file(bytes.data, size, path);
    free(bytes.data);
    thenar_error error = {0};
    thenar_recording *recording;
    thenar_status status = thenar_recording_open(path, &recording, &error);
    fuzz_status(status, &error);
    fuzz_check((status == THENAR_OK) == (recording != NULL));
    if (recording) {
        for (int b = 0; b < thenar_recording_body_count(recording); b++) {
            const thenar_recording_mesh *mesh;
            fuzz_status(thenar_recording_read_mesh(recording, b, &mesh, &error), &error);
        }
        for (int f = 0; f < thenar_recording_frame_count(recording) && f < FRAMES; f++) read_frame(recording, f);
    }
    thenar_recording_close(recording);
    close(file);
    return 0;
}
