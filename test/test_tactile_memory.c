/* Tactile devices when memory runs out: an error, nothing leaked. */
#include "failing_memory.h"

#include "hand_world.h"

#if FAILING_MEMORY

static thenar_status create(void *model, thenar_error *error) {
    thenar_tactile_def worn[2] = {{.name = "one", .finger = THENAR_FINGER_INDEX},
                                  {.name = "two", .finger = THENAR_FINGER_LITTLE}};
    worn[0].device = worn[1].device = thenar_wearable_def_default(THENAR_WEARABLE_RRS);
    thenar_tactile_options options = thenar_tactile_options_default();
    options.devices = worn;
    options.device_count = 2;
    thenar_tactile *tactile;
    thenar_status status = thenar_tactile_create(model, &options, &tactile, error);
    assert_true((status == THENAR_OK) == (tactile != NULL));
    thenar_tactile_free(tactile);
    return status;
}

static void devices_without_memory_are_refused_and_leak_nothing(void **state) {
    (void)state;
    thenar_hand_def def = hand_world_def();
    thenar_model *model = hand_world_model(&def);
    for (int once = 0; once < 2; once++) {
        failing_memory_count count = failing_memory_each(create, model, once);
        assert_true(count.failed > 30 && count.refused == count.failed);
    }
    thenar_model_free(model);
}

static thenar_status load(void *path, thenar_error *error) {
    thenar_wearable_def def;
    return thenar_wearable_load(path, &def, error);
}

static void a_device_file_without_memory_is_refused(void **state) {
    (void)state;
    failing_memory_count count = failing_memory_each(load, SOURCE_DIR "/scenes/devices/cable.yaml", false);
    assert_true(count.failed > 5 && count.refused == count.failed);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(devices_without_memory_are_refused_and_leak_nothing),
    cmocka_unit_test(a_device_file_without_memory_is_refused),
};
TEST_MAIN(tests)

#else
int main(void) {
    return 0;
}
#endif
