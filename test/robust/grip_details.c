/* One line on the strong grip with a hand of a detail: robust_grip_details SCENE DETAIL DT [KEY=VALUE...]. Times as in the scene: the
 * block is lifted from 2 s to 3 s and held until 5 s. */
#include "thenar/thenar.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define LIFTED 3.3 /* s */
#define END 5.0
#define MOST_SETS 16

static double height(const thenar_sim *sim, int block) {
    double pose[7];
    thenar_sim_pose(sim, block, pose);
    return pose[1];
}

/* Sum of the normal forces between hand and block, N, and the number of points that push. */
static double grip(const thenar_sim *sim, int hand, int block, int *points) {
    double sum = 0;
    *points = 0;
    for (int i = 0; i < thenar_sim_contact_pair_count(sim); i++) {
        const thenar_contact_pair *pair = &thenar_sim_contact_pairs(sim)[i];
        if (pair->body[0] != hand || pair->body[1] != block) continue;
        sum += pair->normal_force;
        *points += pair->touching;
    }
    return sum;
}

int main(int count, char **arguments) {
    if (count < 4 || count > 4 + MOST_SETS) {
        fprintf(stderr, "usage: robust_grip_details SCENE DETAIL DT [KEY=VALUE...]\n");
        return 2;
    }
    char set[128];
    snprintf(set, sizeof set, "bodies.hand.shape.hand={length: 0.19, breadth: 0.086, side: right, detail: %s}",
             arguments[2]);
    const char *sets[1 + MOST_SETS] = {set};
    for (int i = 4; i < count; i++) sets[i - 3] = arguments[i];
    thenar_error error;
    thenar_model *model;
    thenar_sim *sim;
    thenar_scene_options scene = {.size = sizeof scene, .sets = sets, .set_count = count - 3};
    thenar_sim_options options = thenar_sim_options_default();
    options.dt = atof(arguments[3]);
    if (thenar_scene_load(arguments[1], &scene, &model, NULL, &error) != THENAR_OK ||
        thenar_sim_create(model, &options, &sim, &error) != THENAR_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    int hand = thenar_model_find_body(model, "hand"), block = thenar_model_find_body(model, "block"), points = 0;
    double lifted = NAN, force = 0, angles[THENAR_HAND_ANGLES];
    while (thenar_sim_time(sim) < END - 1e-9) {
        if (thenar_sim_step(sim) != THENAR_OK) {
            fprintf(stderr, "the step at %g s failed\n", thenar_sim_time(sim));
            return 1;
        }
        if (isnan(lifted) && thenar_sim_time(sim) > LIFTED) lifted = height(sim, block);
    }
    force = grip(sim, hand, block, &points);
    thenar_sim_hand_angles(sim, 0, angles, NULL);
    printf("%-7s %6g %10.2f %10.3f %8.2f %7d %12d  ", arguments[2], 1e3 * options.dt, 1e3 * height(sim, block),
           1e3 * (lifted - height(sim, block)), force, points,
           (int)thenar_sim_warning_count(sim, THENAR_WARNING_NOT_CONVERGED));
    for (int i = 0; i < 12; i++) printf(" %.1f", angles[i] * 180 / acos(-1));
    printf("\n");
    thenar_sim_free(sim);
    thenar_model_free(model);
    return 0;
}
