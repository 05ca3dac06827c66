/* Small soft bodies for tests, built through the public API. */
#ifndef TEST_SOFT_TOOLS_H
#define TEST_SOFT_TOOLS_H

#include "test.h"

#include "random.h"
#include "core/vec3.h"

#include "thenar/thenar.h"

/* A box with a corner at the origin. */
static inline thenar_tet_mesh tools_box(double x, double y, double z, int nx, int ny, int nz) {
    thenar_tet_mesh mesh;
    thenar_error error;
    const double low[3] = {0, 0, 0}, high[3] = {x, y, z};
    const int cells[3] = {nx, ny, nz};
    assert_ok(thenar_tet_mesh_box(low, high, cells, THENAR_LATTICE_CUBE, &mesh, &error), error);
    return mesh;
}

/* A model of one body in a world with this gravity along y. */
static inline thenar_model *tools_model(const thenar_soft_def *def, double gravity) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    world.gravity[1] = gravity;
    thenar_build *build = thenar_build_create(&world);
    assert_non_null(build);
    assert_ok(thenar_build_add_soft(build, def, &error), error);
    thenar_model *model;
    assert_ok(thenar_build_compile(build, &model, &error), error);
    thenar_build_free(build);
    return model;
}

static inline thenar_sim *tools_sim(const thenar_model *model, double dt, int threads) {
    thenar_error error;
    thenar_sim *sim;
    thenar_sim_options options = {
        .size = sizeof(thenar_sim_options), .dt = dt, .threads = threads, .contact = THENAR_CONTACT_OF_MODEL};
    assert_ok(thenar_sim_create(model, &options, &sim, &error), error);
    return sim;
}

static inline void tools_run(thenar_sim *sim, int steps) {
    for (int i = 0; i < steps; i++) assert_int_equal(thenar_sim_step(sim), THENAR_OK);
}

static inline void tools_free(thenar_sim *sim, thenar_model *model, thenar_tet_mesh *mesh) {
    thenar_sim_free(sim);
    thenar_model_free(model);
    thenar_tet_mesh_free(mesh);
}

static inline thenar_region tools_box_region(vec3 low, vec3 high) {
    thenar_region region = {.kind = THENAR_REGION_BOX};
    vec3_store(region.box_min, low);
    vec3_store(region.box_max, high);
    return region;
}

static inline vec3 tools_random_vector(random_source *random, double size) {
    return vec3_make(random_uniform(random, -size, size), random_uniform(random, -size, size),
                     random_uniform(random, -size, size));
}

#endif
