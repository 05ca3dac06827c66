/* A program that only simulates: a hand, built in code, presses on a table. It needs no scene, no file and no device, so
 * it links libthenar alone.
 *
 *     cc physics_only.c -o physics_only $(pkg-config --cflags --libs thenar)
 *     ./physics_only
 */
#include <stdio.h>
#include <thenar/hand.h>
#include <thenar/model.h>
#include <thenar/sim.h>

int main(void) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    if (!build) return 1;

    /* The wrist moves down by 5 cm within a second and stays there. */
    const thenar_key down[] = {{.time = 0}, {.time = 1, .move = {0, -0.05, 0}}};
    thenar_hand_def hand = thenar_hand_def_default();
    hand.base_keys = down;
    hand.base_key_count = 2;
    thenar_status status = thenar_build_add_hand(build, &hand, &error);

    thenar_rigid_def table = thenar_rigid_def_default();
    table.name = "table";
    table.motion = THENAR_MOTION_STATIC;
    table.shape.kind = THENAR_SHAPE_PLANE;
    table.shape.normal[1] = 1;
    table.pose[1] = -0.07; /* m, below the wrist */
    if (status == THENAR_OK) status = thenar_build_add_rigid(build, &table, &error);

    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    if (status == THENAR_OK) status = thenar_build_compile(build, &model, &error);
    thenar_build_free(build);
    if (status == THENAR_OK) status = thenar_sim_create(model, NULL, &sim, &error);
    if (status != THENAR_OK) return fprintf(stderr, "%s\n", error.text), 1;

    int flesh;
    double contact[3], coupling[3], torque[3], area;
    thenar_model_hand_bodies(model, 0, &flesh);
    for (int step = 1; step <= 300; step++) {
        if (thenar_sim_step(sim) != THENAR_OK) return 1;
        if (step % 50 != 0) continue;
        thenar_sim_contact_wrench(sim, flesh, contact, torque, &area);
        thenar_sim_hand_coupling(sim, 0, 0, coupling, torque);
        printf("%.1f s: the table pushes with %.2f N on %.0f mm^2 of skin, the wrist is held with %.2f N\n",
               thenar_sim_time(sim), contact[1], 1e6 * area, -coupling[1]);
    }
    thenar_sim_free(sim);
    thenar_model_free(model);
}
