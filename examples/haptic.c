/* Force feedback: a rubber pad that a device holds meets a table. It is simulated 100 times a second and felt 1000 times.
 *
 *     cc haptic.c -o haptic $(pkg-config --cflags --libs thenar-io)
 *     ./haptic [DEVICE] [SECONDS]      DEVICE: user: (a simulated person, the default), osc:PORT, ws:PORT, plugin:FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <thenar/thenar.h>
#include <time.h>

#define STEP 0.01 /* s */

static void stop_on_error(thenar_status status, const thenar_error *error) {
    if (status == THENAR_OK) return;
    fprintf(stderr, "haptic: %s\n", error->text);
    exit(1);
}

/* A pad of 2 x 1 x 2 cm, held by its upper side, 2 mm above a table. */
static thenar_model *make_world(void) {
    thenar_error error;
    const double low[3] = {-0.01, 0.002, -0.01}, high[3] = {0.01, 0.012, 0.01};
    const int cells[3] = {3, 2, 3};
    thenar_tet_mesh mesh;
    stop_on_error(thenar_tet_mesh_box(low, high, cells, THENAR_LATTICE_CUBE, &mesh, &error), &error);
    thenar_soft_def pad = thenar_soft_def_default();
    pad.name = "pad";
    pad.mesh = &mesh;
    pad.material.young = 200e3;
    pad.material.damping_stiffness = 0.005;

    thenar_rigid_def table = thenar_rigid_def_default();
    table.name = "table";
    table.motion = THENAR_MOTION_STATIC;
    table.shape.kind = THENAR_SHAPE_PLANE;
    table.shape.normal[1] = 1;

    thenar_handle_def handle = thenar_handle_def_default();
    handle.name = "device";
    handle.tool = "pad";
    handle.seed[1] = 0.212; /* far above it: the sphere holds the upper side */
    handle.radius = 0.2015;
    handle.stiffness = 1000;
    handle.damping = 6;

    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    if (!build) exit(1);
    thenar_model *model;
    stop_on_error(thenar_build_add_soft(build, &pad, &error), &error);
    stop_on_error(thenar_build_add_rigid(build, &table, &error), &error);
    stop_on_error(thenar_build_add_handle(build, &handle, &error), &error);
    stop_on_error(thenar_build_compile(build, &model, &error), &error);
    thenar_build_free(build);
    thenar_tet_mesh_free(&mesh);
    return model;
}

int main(int argc, char **argv) {
    thenar_error error;
    thenar_model *model = make_world();
    thenar_sim_options options = thenar_sim_options_default();
    options.dt = STEP;
    thenar_sim *sim;
    stop_on_error(thenar_sim_create(model, &options, &sim, &error), &error);

    /* The device holds the handle as the simulation does, and begins where it is. */
    thenar_haptic_handle handle = thenar_haptic_handle_of(sim, 0);
    handle.device = argc > 1 ? argv[1] : "user:";
    thenar_haptic_def def = thenar_haptic_def_default();
    def.handles = &handle;
    def.handle_count = 1;
    thenar_haptic *haptic;
    stop_on_error(thenar_haptic_create(&def, &haptic, &error), &error);
    stop_on_error(thenar_haptic_start(haptic, &error), &error);
    printf("%s\n", thenar_haptic_real_time(haptic));

    double seconds = argc > 2 ? atof(argv[2]) : 1, strongest = 0;
    char notice[256];
    thenar_haptic_stats stats;
    for (int step = 0; step < seconds / STEP; step++) {
        thenar_haptic_drive_sim(haptic, 0, sim, 0);
        thenar_sim_step(sim);
        thenar_haptic_publish_sim(haptic, 0, sim, 0);
        thenar_haptic_read_stats(haptic, &stats);
        if (stats.handles[0].force[1] > strongest) strongest = stats.handles[0].force[1];
        if (thenar_haptic_notice(haptic, notice, sizeof notice)) printf("%s\n", notice);
        nanosleep(&(struct timespec){0, (long)(1e9 * STEP)}, NULL);
    }
    thenar_haptic_read_stats(haptic, &stats);
    printf("%llu ticks, period p50 %.0f us, worst %.0f us; the table pushed with up to %.1f N\n",
           (unsigned long long)stats.ticks, stats.period_p50_us, stats.period_max_us, strongest);
    thenar_haptic_free(haptic);
    thenar_sim_free(sim);
    thenar_model_free(model);
    return 0;
}
