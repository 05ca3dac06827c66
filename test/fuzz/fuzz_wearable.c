/* Descriptions of tactile devices: YAML. */
#include "fuzz.h"

#include "tactile/tactile.h"

#include "thenar/scene.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    file_bytes bytes = fuzz_bytes(data, size);
    thenar_error error = {0};
    thenar_wearable_def def = {0};
    thenar_status status = thenar_wearable_parse(bytes.data, size, "fuzz", &def, sizeof def, &error);
    fuzz_status(status, &error);
    if (status == THENAR_OK) {
        double low[3], high[3], pose[3], angles[3] = {0};
        fuzz_check(thenar_wearable_check(&def, &error) == THENAR_OK);
        wearable_bounds(&def, low, high);
        wearable_home(&def, pose);
        for (int i = 0; i < 8; i++) wearable_approach(&def, i % 2 ? low : high, 0.01, 1, pose, angles);
        for (int i = 0; i < 3; i++) fuzz_check(isfinite(pose[i]) && isfinite(angles[i]));
    }
    free(bytes.data);
    return 0;
}
