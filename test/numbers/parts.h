/* What the attacks share: a small world that has one of each, one that has a hand, and calls between steps. */
#ifndef TEST_NUMBERS_PARTS_H
#define TEST_NUMBERS_PARTS_H

#include "thenar/thenar.h"

/* The small world (world.c): a soft box that is held, loaded and has a handle, over the ground, and rigid bodies. */
extern thenar_tet_mesh mesh; /* of the soft box */
extern thenar_key keys[3];   /* of all that is driven */
void make_parts(void);
void free_parts(void);
/* A simulation of the small world with the usual contacts. */
thenar_sim *make_small_sim(void);

/* After each step, all is a number; a step that failed is counted, and nothing has moved. */
void step_contained(thenar_sim *sim, int steps);

/* Calls between steps (between.c): each of the values in turn is each bad number. The call, then steps; then all is
 * undone, and a step succeeds again. */
typedef thenar_status (*sim_call)(thenar_sim *sim, const double *values);
void attack_call(thenar_sim *sim, const char *what, double *values, int count, sim_call call);

/* The world with a hand that wears a device (hand.c). make_hand: both as they are before any attack. */
extern thenar_tactile_def tactile_def;
extern thenar_wearable_def wearable_def;
void make_hand(void);
thenar_status make_hand_model(thenar_model **model, thenar_error *error);
thenar_sim *make_hand_sim(void);

#endif
