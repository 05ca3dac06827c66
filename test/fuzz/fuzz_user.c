/* Scripts of simulated persons: JSON. */
#include "fuzz.h"

#include "device/device.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    file_bytes bytes = fuzz_bytes(data, size);
    thenar_error error = {0};
    user_model model;
    thenar_status status = user_model_parse(bytes.data, size, "fuzz", &model, &error);
    fuzz_status(status, &error);
    if (status == THENAR_OK) {
        static const double wrench[6] = {1, 0, -1, 0.01, 0, 0};
        user_state state = user_begin(&model);
        thenar_device_sample sample;
        user_advance(&model, &state, wrench, 0.01);
        user_sample(&state, 1, &sample);
        for (int i = 0; i < 3; i++) fuzz_check(!isnan(sample.pose[i]));
    }
    user_model_free(&model);
    free(bytes.data);
    return 0;
}
