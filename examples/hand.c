/* A soft hand presses a ball that a program holds in its way, driven as a tracker would: wrist and angles, a step at a
 * time. Prints what each step's contact is, and what a person with force feedback at the wrist would feel.
 *
 *     cc hand.c -o hand $(pkg-config --cflags --libs thenar)
 *     ./hand
 */
#include <thenar/thenar.h>

#include <stdio.h>

static int fail(const thenar_error *error) {
    fprintf(stderr, "%s\n", error->text);
    return 1;
}

int main(void) {
    thenar_error error;
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    if (!build) return 1;

    /* The hand: two lines. Its wrist is at the origin, fingers to -z, palm down. */
    thenar_hand_def hand = thenar_hand_def_default();
    thenar_status status = thenar_build_add_hand(build, &hand, &error);

    /* Something to touch, 9 cm below its palm. */
    thenar_rigid_def ball = thenar_rigid_def_default();
    ball.name = "ball";
    ball.motion = THENAR_MOTION_STATIC;
    ball.shape.kind = THENAR_SHAPE_SPHERE;
    ball.shape.radius = 0.04;
    ball.pose[1] = -0.09;
    ball.pose[2] = -0.08;
    if (status == THENAR_OK) status = thenar_build_add_rigid(build, &ball, &error);

    thenar_model *model = NULL;
    thenar_sim *sim = NULL;
    if (status == THENAR_OK) status = thenar_build_compile(build, &model, &error);
    thenar_build_free(build);
    if (status == THENAR_OK) status = thenar_sim_create(model, NULL, &sim, &error);
    if (status != THENAR_OK) return fail(&error);

    /* What a tracker would say: the hand goes down by 6 cm within a second and half closes. */
    double open[THENAR_HAND_ANGLES], relaxed[THENAR_HAND_ANGLES];
    thenar_model_hand_pose(model, 0, THENAR_HAND_POSE_OPEN, open);
    thenar_model_hand_pose(model, 0, THENAR_HAND_POSE_RELAXED, relaxed);
    int body;
    thenar_model_hand_bodies(model, 0, &body);
    for (int i = 1; i <= 100; i++) {
        double share = i / 100.0, wrist[7] = {0, -0.06 * share, 0, 0, 0, 0, 1}, angles[THENAR_HAND_ANGLES];
        for (int k = 0; k < THENAR_HAND_ANGLES; k++) angles[k] = open[k] + share * (relaxed[k] - open[k]);
        if (thenar_sim_drive_hand_angles(sim, 0, wrist, angles) != THENAR_OK) return 1;
        if (thenar_sim_step(sim) != THENAR_OK) return 1;
        if (i % 10 != 0) continue;
        double force[3], torque[3], pull[3], twist[3], area;
        thenar_sim_contact_wrench(sim, body, force, torque, &area);
        thenar_sim_hand_coupling(sim, 0, 0, pull, twist);
        printf("%.1f s: %d points touch, %.2f N on %.0f mm^2; the wrist is pulled by %.2f N\n", thenar_sim_time(sim),
               thenar_sim_stats(sim)->contacts, force[1], 1e6 * area, pull[1]);
    }
    thenar_sim_free(sim);
    thenar_model_free(model);
    return 0;
}
