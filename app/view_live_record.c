/* The recording of a running simulation. Everything that viewers and devices do becomes part of the state before a step,
 * and so an input of it (io/recording_inputs.h): drags, poses of hands, handles. A recording is of one model, time step,
 * solver and contact method: as long as it lasts these stay as they are (view_live_orders.c). */
#include "app/view_live_state.h"

#include "app/run_record.h"
#include "io/recording.h"

#include <inttypes.h>
#include <stdio.h>

thenar_status live_record_begin(view_live *live, thenar_error *error) {
    if (!live->request.record) return THENAR_OK;
    return run_record_open(live->request.record, live->sim, live->tactile, live->haptic, &live->recorder, error);
}

void live_record(view_live *live, bool stepped) {
    if (!live->recorder) return;
    if (thenar_recorder_add(live->recorder, &live->record_error) == THENAR_OK) {
        live->recorded_steps += stepped;
        return;
    }
    thenar_recorder_close(live->recorder, NULL);
    live->recorder = NULL;
    char text[sizeof live->record_error.text + 64];
    snprintf(text, sizeof text, "The recording ended: %s", live->record_error.text);
    live_tell(live, text);
    fprintf(stderr, "thenar: warning: %s\n", text);
}

thenar_status live_record_end(view_live *live, thenar_error *error) {
    thenar_recorder *recorder = live->recorder;
    live->recorder = NULL;
    if (recorder) {
        uint64_t hash = recorder_hash(recorder);
        thenar_status status = thenar_recorder_close(recorder, error);
        if (status == THENAR_OK)
            printf("%s: %" PRIu64 " steps recorded\nstate_hash %016" PRIx64 "\n", live->request.record,
                   live->recorded_steps, hash);
        return status;
    }
    if (live->record_error.status != THENAR_OK && error) *error = live->record_error;
    return live->record_error.status;
}
