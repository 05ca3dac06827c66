/* What the mesh readers do when memory runs out. */
#include "failing_memory.h"

#if FAILING_MEMORY

#include "mesh_samples.h"
#include "mesh/mesh.h"

typedef struct sample_input {
    const char *name;
    file_bytes bytes;
} sample_input;

static thenar_status parse(void *context, thenar_error *error) {
    const sample_input *input = context;
    mesh_file file;
    thenar_status status = mesh_file_parse(input->name, input->bytes, &file, error);
    if (status == THENAR_OK) mesh_file_free(&file);
    return status;
}

static void running_out_of_memory_anywhere_is_reported_and_leaks_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < MESH_SAMPLE_COUNT; i++) {
        sample_bytes bytes = sample_of(&mesh_samples[i]);
        sample_input input = {mesh_samples[i].file, {.data = bytes.data, .size = bytes.count}};
        for (int once = 0; once < 2; once++) {
            failing_memory_count count = failing_memory_each(parse, &input, once);
            /* Even the smallest sample grows three arrays and makes a mesh: the failures did happen. */
            assert_true(count.failed > 5);
            assert_int_equal(count.refused, count.failed);
        }
        free(bytes.data);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(running_out_of_memory_anywhere_is_reported_and_leaks_nothing),
};

TEST_MAIN(tests)
#else
int main(void) {
    return 0;
}
#endif
