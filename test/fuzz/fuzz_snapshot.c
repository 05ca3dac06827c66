/* Snapshots: any state behind a header that fits must be refused, or be one that steps can be done from. Inputs shorter than
 * the state change the beginning of it only; the first byte says whether the header is put right (an even one). */
#include "fuzz.h"

#include "core/hash.h"
#include "thenar/thenar.h"

#define HEADER 40 /* bytes: magic, model, size, dt, checksum */

static thenar_sim *make_sim(void) {
    static thenar_model *model;
    thenar_sim *sim;
    thenar_error error;
    if (!model)
        fuzz_check(thenar_scene_load(SOURCE_DIR "/test/fuzz/scene.yaml", NULL, &model, NULL, &error) == THENAR_OK);
    fuzz_check(thenar_sim_create(model, NULL, &sim, &error) == THENAR_OK);
    return sim;
}

static void check_state(const thenar_sim *sim) {
    const double *x = thenar_sim_positions(sim, 0), *v = thenar_sim_velocities(sim, 0);
    for (int i = 0; i < 3 * 8; i++) fuzz_check(isfinite(x[i]) && isfinite(v[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static thenar_sim *sim;
    static char *good, *bytes;
    static size_t whole;
    thenar_error error = {0};
    if (!sim) {
        sim = make_sim();
        for (int i = 0; i < 20; i++) thenar_sim_step(sim);
        whole = thenar_sim_snapshot_size(sim);
        good = malloc(whole);
        bytes = malloc(whole);
        fuzz_check(good && bytes);
        thenar_sim_snapshot(sim, good);
    }
    if (size < 1) return 0;
    if (data[0] % 2) {
        char *copy = malloc(size);
        memcpy(copy, data + 1, size - 1);
        fuzz_status(thenar_sim_restore(sim, copy, size - 1, &error), &error);
        free(copy);
        return 0;
    }
    size_t length = size - 1 < whole - HEADER ? size - 1 : whole - HEADER;
    memcpy(bytes, good, whole);
    memcpy(bytes + HEADER, data + 1, length);
    uint64_t checksum = hash_bytes(0, bytes + HEADER, whole - HEADER);
    memcpy(bytes + HEADER - sizeof checksum, &checksum, sizeof checksum);
    thenar_status status = thenar_sim_restore(sim, bytes, whole, &error);
    fuzz_status(status, &error);
    for (int i = 0; i < 3 && status == THENAR_OK; i++) status = thenar_sim_step(sim);
    if (status == THENAR_OK) check_state(sim);
    fuzz_check(thenar_sim_restore(sim, good, whole, &error) == THENAR_OK);
    return 0;
}
