/* Messages of the service behind a haptic device's WebSocket: JSON. */
#include "fuzz.h"

#include "device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    file_bytes bytes = fuzz_bytes(data, size);
    thenar_device_sample sample;
    char id[INVERSE_ID], text[512];
    if (inverse_read(bytes.data, size, &sample, id)) {
        for (int i = 0; i < 3; i++) fuzz_check(isfinite(sample.pose[i]));
        fuzz_check(inverse_write(id, sample.velocity, text, sizeof text) <= sizeof text);
    }
    fuzz_check(strlen(id) < INVERSE_ID);
    free(bytes.data);
    return 0;
}
