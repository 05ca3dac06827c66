/* Scenes: YAML to a model. What takes long by design, large meshes and hands, is refused here (the linker sends those
 * calls to this file): the fuzzer is after the reader. */
#include "fuzz.h"
#include "thenar/scene.h"

#include "scene/scene.h"
#include "hand/shape.h"
#include "io/file.h"
#include "thenar/mesh.h"

#define CELLS 32

static thenar_status refuse(thenar_error *error) {
    return error_set(error, THENAR_ERROR_INPUT, "too much for the fuzzer");
}

static const char *const scene_name = SOURCE_DIR "/scenes/fuzz.yaml";

thenar_status __wrap_thenar_internal_hand_shape_create(const hand_options *options, hand_shape *out,
                                                       thenar_error *error);
thenar_status __wrap_thenar_internal_hand_shape_create(const hand_options *options, hand_shape *out,
                                                       thenar_error *error) {
    (void)options;
    *out = (hand_shape){0};
    return refuse(error);
}

thenar_status __wrap_thenar_internal_finger_mesh(const finger_options *options, thenar_tet_mesh *out,
                                                 thenar_error *error);
thenar_status __wrap_thenar_internal_finger_mesh(const finger_options *options, thenar_tet_mesh *out,
                                                 thenar_error *error) {
    (void)options;
    *out = (thenar_tet_mesh){0};
    return refuse(error);
}

thenar_status __wrap_thenar_hand_shape_load(const char *path, int tets, thenar_hand_shape **out, thenar_error *error);
thenar_status __wrap_thenar_hand_shape_load(const char *path, int tets, thenar_hand_shape **out, thenar_error *error) {
    (void)path, (void)tets;
    *out = NULL;
    return refuse(error);
}

thenar_status __wrap_thenar_hand_shape_load_detail(const char *path, thenar_hand_detail detail, thenar_hand_shape **out,
                                                   thenar_error *error);
thenar_status __wrap_thenar_hand_shape_load_detail(const char *path, thenar_hand_detail detail, thenar_hand_shape **out,
                                                   thenar_error *error) {
    (void)path, (void)detail;
    *out = NULL;
    return refuse(error);
}

thenar_status __wrap_hand_gltf_load(const char *path, hand_fineness fineness, hand_shape *out, thenar_error *error);
thenar_status __wrap_hand_gltf_load(const char *path, hand_fineness fineness, hand_shape *out, thenar_error *error) {
    (void)path, (void)fineness;
    *out = (hand_shape){0};
    return refuse(error);
}

thenar_status __real_thenar_tet_mesh_box(const double low[3], const double high[3], const int cells[3],
                                         thenar_lattice lattice, thenar_tet_mesh *mesh, thenar_error *error);
thenar_status __wrap_thenar_tet_mesh_box(const double low[3], const double high[3], const int cells[3],
                                         thenar_lattice lattice, thenar_tet_mesh *mesh, thenar_error *error);
thenar_status __wrap_thenar_tet_mesh_box(const double low[3], const double high[3], const int cells[3],
                                         thenar_lattice lattice, thenar_tet_mesh *mesh, thenar_error *error) {
    *mesh = (thenar_tet_mesh){0};
    if ((double)cells[0] * cells[1] * cells[2] > CELLS) return refuse(error);
    return __real_thenar_tet_mesh_box(low, high, cells, lattice, mesh, error);
}

thenar_status __wrap_thenar_tet_mesh_from_surface(const thenar_surface *surface, const thenar_mesh_options *options,
                                                  thenar_tet_mesh *mesh, thenar_embedding *embedding,
                                                  thenar_error *error);
thenar_status __wrap_thenar_tet_mesh_from_surface(const thenar_surface *surface, const thenar_mesh_options *options,
                                                  thenar_tet_mesh *mesh, thenar_embedding *embedding,
                                                  thenar_error *error) {
    (void)surface, (void)options;
    *mesh = (thenar_tet_mesh){0};
    *embedding = (thenar_embedding){0};
    return refuse(error);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    file_bytes bytes = fuzz_bytes(data, size);
    thenar_error error = {0};
    thenar_model *model;
    thenar_status status = thenar_scene_parse(bytes.data, size, scene_name, NULL, &model, NULL, &error);
    fuzz_check(status == THENAR_ERROR_NUMERIC || (fuzz_status(status, &error), true));
    fuzz_check((status == THENAR_OK) == (model != NULL));
    thenar_model_free(model);
    free(bytes.data);
    return 0;
}
