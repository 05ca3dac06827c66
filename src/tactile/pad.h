/* The pad of a finger: about a hundred points of the fine skin, spread evenly, with the area that each stands for.
 *
 * The frame of a pad hangs on the last bone: x as the bone's x, y along the bone to the tip, z into the finger. Its
 * origin is in the middle of the pad (the mean by area), as far out as the pad reaches at rest. A device may be worn
 * turned about y; then so is the frame.
 *
 * What happens at a vertex of the pad, which is not one of the points in general, is spread over the points around it
 * with weights (1 - r^2/R^2)^2 by the distance r at rest: fixed, so that nothing jumps as the skin deforms. */
#ifndef TACTILE_PAD_H
#define TACTILE_PAD_H

#include "base/error.h"
#include "body/soft.h"
#include "shape/hand.h"
#include "thenar/tactile.h"

#define PAD_REACH 0.004 /* m: R, at least */

/* What is known of a body that has, or touches, a pad. */
typedef struct pad_skin {
    const thenar_surface *surface;     /* at rest */
    const thenar_embedding *embedding; /* of a soft body, else NULL */
    const thenar_tet_mesh *mesh;
    const soft_model *soft; /* its elements, or NULL: a recording has none */
} pad_skin;

/* Where a pad is. */
typedef struct pad_place {
    int hand, body;
    thenar_finger finger;
    bool left;
    const int *vertex; /* of the body's skin */
    int vertex_count;
    hand_frame frame; /* of the last phalanx at rest */
    double young;     /* of the flesh, Pa */
    double turn;      /* of the pad's frame about the finger, rad */
    double depth;     /* of the tets that strain energy is told of, m */
} pad_place;

typedef struct pad_model {
    int hand, body;
    thenar_finger finger;
    double turn, depth;
    quat axes;   /* of the pad's frame, in the bone's */
    vec3 origin; /* from the bone's joint, in the pad's axes, m */
    int point_count;
    thenar_tactile_point *points; /* vertex, rest and area stay; the rest is tactile/feel.c's */
    int (*node)[4];               /* how a point hangs on the nodes */
    double (*weight)[4];
    unsigned char *part;                             /* thenar_pad_region of a point */
    double part_area[THENAR_PAD_REGION_COUNT], area; /* m^2 */

    int vertex_count;
    int *vertex;           /* of the pad, ascending */
    int *spread_start;     /* vertex_count + 1 */
    int *spread_point;     /* a vertex's points */
    double *spread_weight; /* above 0 */

    /* The tets at the depth that is looked at, each once, in batches; none without elements. */
    int batch_count;
    soft_batch *batches;
    double (*per_volume)[SIMD_LANES]; /* 1/m^3: from the energy of a tet to that of its flesh by volume */
    int *tet;                         /* of each point, among those of the batches */
} pad_model;

/* points: about so many. */
thenar_status pad_create(const pad_place *place, const pad_skin *skin, int points, pad_model *out, thenar_error *error);
void pad_free(pad_model *pad);

/* The frame of the pad in the world when its last bone's joint is there. */
hand_frame pad_frame(const pad_model *pad, const double joint[7]);

#endif
