/* A flat rigid plate pressed on the pad of the index finger of a hand whose base and joints are held: what bench pad
 * prints and test_pad checks.
 *
 * The plate moves along its normal until the sum of the normal forces is the wanted load. The finger is inclined to it
 * by 20 degrees, tip down, so that only the distal phalanx touches. Points that push are contacts with a force. */
#ifndef BENCH_PAD_PRESS_H
#define BENCH_PAD_PRESS_H

#include "thenar/hand.h"
#include "thenar/sim.h"

typedef struct pad_figures {
    double load;         /* wanted, N */
    double force;        /* reached: sum of the normal forces of the points, N */
    double plate_force;  /* what the plate feels along its normal, N */
    double base_force;   /* what the coupling of the hand's base bears in that direction, N */
    double indentation;  /* travel of the plate since the first touch, relative to the distal bone, m */
    int points;          /* that push */
    double area;         /* sum of the areas of skin that these represent, m^2 */
    double hull;         /* area of their convex hull in the plane of the plate, m^2 */
    double length;       /* of that hull along the finger, m */
    double breadth;      /* across it, m */
    double max_share;    /* largest share of the load on one point */
    double max_pressure; /* of a point, Pa */
    /* Fit of p = p0 (1 - (x/a)^2 - (y/b)^2) about a free centre to the pressures of the points: share of the variance
     * that it explains, each point with the weight of its area. */
    double fit;
    /* The same for the load within 2 mm of a point over the area there, as by cells of a pressure sensor. */
    double smooth_fit;
    double volume_change;   /* of the flesh of the distal phalanx, share */
    double min_stretch;     /* smallest principal stretch there */
    int steps, unconverged; /* since the previous load */
    int iterations;         /* largest of a step */
    int contacts_lost, inverted;
} pad_figures;

typedef struct pad_press {
    thenar_model *model;
    thenar_sim *sim;
    int plate;
    double start[7];  /* pose of the plate at the first touch */
    double normal[3]; /* of the plate, towards the finger */
    double along[3];  /* of the finger, in the plane of the plate */
    double travel;    /* m */
    double bone;      /* height of the distal joint at rest, m */
    double *stretches, *volumes;
} pad_press;

/* Compiles a model of the hand with its base and joints held, and the plate. On error nothing is held. */
thenar_status pad_press_model(const thenar_hand_def *hand, thenar_model **model, thenar_error *error);
/* Starts a simulation with time steps of dt, s. */
thenar_status pad_press_create(thenar_model *model, double dt, pad_press *press, thenar_error *error);
void pad_press_free(pad_press *press);
/* Presses until the load is reached and nothing moves, at most for a second of simulated time. */
thenar_status pad_press_to(pad_press *press, double load, pad_figures *out, thenar_error *error);

#endif
