/* A world without a scene file: a rubber block on a fixed base, pressed from above until it rests. What the
 * base pushes back is then the block's weight and the load.
 *
 *     cc build_in_code.c -o build_in_code $(pkg-config --cflags --libs thenar)
 *     ./build_in_code
 */
#include <stdio.h>
#include <stdlib.h>
#include <thenar/thenar.h>

static void stop_on_error(thenar_status status, const thenar_error *error) {
    if (status == THENAR_OK) return;
    fprintf(stderr, "build_in_code: %s\n", error->text);
    exit(1);
}

/* 4 x 10 x 4 cm, its lowest layer of nodes held, 5 N spread over its top. */
static thenar_model *make_block(void) {
    thenar_error error;
    const double low[3] = {0, 0, 0}, high[3] = {0.04, 0.10, 0.04};
    const int cells[3] = {4, 10, 4};
    thenar_tet_mesh mesh;
    stop_on_error(thenar_tet_mesh_box(low, high, cells, THENAR_LATTICE_KUHN, &mesh, &error), &error);

    thenar_support base = {.name = "base",
                           .region = {.kind = THENAR_REGION_BOX, .box_min = {0, 0, 0}, .box_max = {0.04, 0, 0.04}}};
    thenar_load press = {.region = {.kind = THENAR_REGION_BOX, .box_min = {0, 0.10, 0}, .box_max = {0.04, 0.10, 0.04}},
                         .force = {0, -5, 0}};
    thenar_soft_def block = thenar_soft_def_default();
    block.name = "block";
    block.mesh = &mesh;
    block.material.young = 200e3;
    block.material.poisson = 0.3;
    block.supports = &base;
    block.support_count = 1;
    block.loads = &press;
    block.load_count = 1;

    thenar_world_def world = thenar_world_def_default();
    world.name = "pressed block";
    thenar_build *build = thenar_build_create(&world);
    if (!build) exit(1);
    thenar_model *model;
    stop_on_error(thenar_build_add_soft(build, &block, &error), &error);
    stop_on_error(thenar_build_compile(build, &model, &error), &error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
    return model;
}

static double fastest_squared(const double *velocities, int node_count) {
    double fastest = 0;
    for (int i = 0; i < node_count; i++) {
        const double *v = velocities + 3 * i;
        double squared = v[0] * v[0] + v[1] * v[1] + v[2] * v[2];
        if (squared > fastest) fastest = squared;
    }
    return fastest;
}

int main(void) {
    thenar_error error;
    thenar_model *model = make_block();
    thenar_sim *sim;
    stop_on_error(thenar_sim_create(model, NULL, &sim, &error), &error);

    int body = thenar_model_find_body(model, "block");
    int support = thenar_model_find_support(model, body, "base");
    int nodes = thenar_model_mesh(model, body)->node_count;
    do thenar_sim_step(sim);
    while (fastest_squared(thenar_sim_velocities(sim, body), nodes) > 1e-14 && thenar_sim_time(sim) < 60);

    double force[3], torque[3], mass = 0;
    thenar_sim_support_wrench(sim, body, support, force, torque);
    for (int i = 0; i < nodes; i++) mass += thenar_model_masses(model, body)[i];
    double sink = 0.10 - thenar_sim_positions(sim, body)[3 * (nodes - 1) + 1];
    printf("at rest after %.2f s: the top sank %.3f mm\n", thenar_sim_time(sim), 1e3 * sink);
    printf("reaction %.6f N, weight and load %.6f N\n", force[1], mass * 9.81 + 5);

    thenar_sim_free(sim);
    thenar_model_free(model);
}
