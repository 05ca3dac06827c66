/* Tracks: motions of hands, JSON lines. */
#include "fuzz.h"

#include "hand/retarget.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    file_bytes bytes = fuzz_bytes(data, size);
    thenar_error error = {0};
    track read;
    thenar_status status = track_parse(bytes.data, size, "fuzz", &read, &error);
    fuzz_status(status, &error);
    if (status == THENAR_OK) {
        double start = track_start(&read), stop = track_stop(&read);
        fuzz_check(isfinite(start) && isfinite(stop) && start <= stop);
        for (int left = 0; left < 2; left++)
            for (int i = -1; i <= 5; i++) {
                tracked_hand hand;
                track_sample(&read, left == 1, start + (stop - start) * i / 4, &hand);
                for (int j = 0; j < HAND_JOINTS; j++)
                    fuzz_check(!isinf(hand.position[j].x) && !isinf(hand.orientation[j].w));
            }
    }
    track_free(&read);
    free(bytes.data);
    return 0;
}
