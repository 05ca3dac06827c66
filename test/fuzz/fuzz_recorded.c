/* Recorded haptic devices: JSON lines. */
#include "fuzz.h"

#include "device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[32], message[256] = "";
    int file = fuzz_file(data, size, path);
    void *device = device_recorded_table.open(path, message, sizeof message);
    if (device) {
        thenar_device_info info = {0};
        thenar_device_sample sample = {0};
        device_recorded_table.describe(device, &info);
        int came = device_recorded_read_at(device, 1000000000, &sample);
        for (int i = 0; i < 3 && came > 0; i++) fuzz_check(isfinite(sample.pose[i]));
        device_recorded_table.close(device);
    } else {
        fuzz_check(message[0] != 0);
    }
    close(file);
    return 0;
}
