/* What noise of a tracker does to the devices on thumb and index finger: a synthetic tracked hand with noise on every
 * joint goes through the whole path: measuring, retargeting, filter, simulation, tactile command. */
#ifndef BENCH_TRACKED_NOISE_H
#define BENCH_TRACKED_NOISE_H

#include "thenar/thenar.h"

typedef enum tracked_noise_kind {
    TRACKED_NOISE_PLATE, /* a hand holds still, its index finger on a plate */
    TRACKED_NOISE_PINCH  /* thumb and index finger close within 2 s, hold for 4 s and open within 2 s */
} tracked_noise_kind;

typedef struct tracked_noise_case {
    tracked_noise_kind kind;
    double at;   /* plate: how far it is beyond the skin of the finger in the air, m; pinch: the smallest distance of the
                    tracked tips over the sum of the radii of both fingers */
    bool filter; /* false: without */
    double rms;  /* of the displacement of a joint, m */
    unsigned seed;
} tracked_noise_case;

typedef struct tracked_noise_result {
    /* Of the device on the index finger or, in a pinch, the larger one of both. */
    double pitch;     /* standard deviation of the commanded pitch while the hand holds still and the pad touches, rad */
    double pitch_all; /* the same with the times when it does not: the platform then moves between its home pose and the
                         finger as the distance changes */
    int toggles;    /* number of times that `touching` of the command changes in 10 s */
    double touched; /* share of the time at rest in which it touches; of both devices the smaller one */
    double lag;     /* of the simulated tips of thumb and index finger behind the clean track, s; plate: 0 */
} tracked_noise_result;

/* A hand with the size of the noisy tracked one, and the plate. */
thenar_status tracked_noise_model(thenar_hand_detail detail, double rms, thenar_model **model, thenar_error *error);
/* dt, s: of the simulation. Sets track and filter of the model's hand. */
thenar_status tracked_noise_run(thenar_model *model, const tracked_noise_case *c, double dt, tracked_noise_result *out,
                                thenar_error *error);

#endif
