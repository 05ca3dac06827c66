/* A hand at its strain limits, as in section V and Fig. 3 of perez2016: about 600 tets, 0.2 MPa, limits 0.9..1.1; the
 * wrist is held and turned, and a load bends the fingers. Frames are snapshots of a run with the default solver, so that
 * all solvers start from the same states.
 *
 * The paper has 335 active limits. Its solvers use the limits that the free motion violates, so the load of "bent" is
 * chosen for that many violated limits, and the load of "crushed" for about that many limits with a force in the
 * solution. "still" has the same load without the turn, after the hand has settled. */
#ifndef BENCH_LIMITED_HAND_H
#define BENCH_LIMITED_HAND_H

#include "bench/bench.h"

#include "thenar/sim.h"

#define LIMITED_HAND_FRAMES 10

typedef struct limited_hand_scene {
    const char *name;
    double load; /* N, beyond the knuckles */
    double turn; /* of the wrist about the breadth of the hand, rad */
} limited_hand_scene;
#define LIMITED_HAND_SCENES 3
extern const limited_hand_scene limited_hand_scenes[LIMITED_HAND_SCENES];

typedef struct limited_hand {
    thenar_model *model;
    char *frames; /* snapshots, each taken before a step */
    size_t frame_size;
} limited_hand;

thenar_status limited_hand_create(limited_hand *hand, const limited_hand_scene *scene, thenar_error *error);
void limited_hand_free(limited_hand *hand);

/* Puts a simulation into the state of a frame. */
thenar_status limited_hand_enter(const limited_hand *hand, int frame, thenar_sim *sim, thenar_error *error);

#endif
