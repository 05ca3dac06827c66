/* Contact surface matching (perez2016, IV): the pose of a plane that touches a finger pad as the virtual surface does.
 *
 * In the frame of a pad (tactile/pad.h: x across the finger, y towards its tip, z into it) a pose is
 * q = (pitch, roll, displacement): the plane through (0, 0, q[2]) with the normal
 *     n(q) = Ry(roll) Rx(pitch) e_z = (sin roll cos pitch, -sin pitch, cos roll cos pitch)
 * towards the finger. With d(x) = n . (x - q[2] e_z) the pose minimizes
 *     1/2 sum_i touch_i d(target_i)^2 + 1/2 sum_i free_i min(0, d(skin_i))^2
 *       + 1/2 hold |q - before|^2_W + 1/2 rest |q - home|^2_W,      |q|^2_W = arm^2 (q0^2 + q1^2) + q2^2
 * within low <= q <= high. The first sum draws the plane to where the virtual surface is, the second keeps it from
 * pressing skin that the surface does not touch, the third holds what the first two leave open (a point says nothing of
 * the tilt), the fourth is for what comes near or goes away.
 *
 * Newton's method: each step solves the quadratic model exactly within the bounds, by trying which of the three are
 * active (clipping a free solution is not optimal), and is halved until the sum falls. With Gauss and Newton's Hessian
 * alone it takes more than 12 steps where a surface is far outside the workspace. */
#ifndef TACTILE_TACTILE_H
#define TACTILE_TACTILE_H

#include "body/soft.h"
#include "core/error.h"
#include "core/simd.h"
#include "hand/shape.h"

#include "thenar/tactile.h"

#define MATCH_ITERATIONS 12

/* Points in groups of eight, structure of arrays; groups are filled up with points of no weight. */
typedef struct match_points {
    int group_count;
    f64x8 *target[3]; /* m: on the virtual surface */
    f64x8 *touch;     /* m^2: their weight */
    f64x8 *skin[3];   /* m */
    f64x8 *free;      /* m^2 */
} match_points;

typedef struct match_problem {
    match_points points;
    double before[3], home[3];
    double hold, rest; /* m^2; hold > 0 */
    double arm;        /* m: what a radian of tilt counts for */
    double low[3], high[3];
} match_problem;

typedef struct match_result {
    double pose[3]; /* rad, rad, m */
    double cost;    /* m^4 */
    int iterations;
    unsigned bounded; /* bit k: pose[k] is at a bound */
} match_result;

double match_cost(const match_problem *problem, const double q[3]);
/* From `before`, brought within the bounds. The result is always within them. */
match_result match_solve(const match_problem *problem);

/* The normal of a pose. */
static inline void match_normal(const double q[3], double n[3]) {
    n[0] = sin(q[1]) * cos(q[0]);
    n[1] = -sin(q[0]);
    n[2] = cos(q[1]) * cos(q[0]);
}

/* The pad of a finger: about a hundred points of the fine skin, spread evenly, with the area that each stands for.
 *
 * The frame of a pad hangs on the last bone: x as the bone's x, y along the bone to the tip, z into the finger. Its
 * origin is in the middle of the pad (the mean by area), as far out as the pad reaches at rest. A device may be worn
 * turned about y; then so is the frame.
 *
 * What happens at a vertex of the pad, which is not one of the points in general, is spread over the points around it
 * with weights (1 - r^2/R^2)^2 by the distance r at rest: fixed, so that nothing jumps as the skin deforms. */

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

/* What the pads of hands feel at one moment: from the positions of the flesh and the list of contacts, whoever tells
 * them (a simulation, or a frame of a recording) and by whatever method they were found.
 *
 * A contact near a pad is a plane: that of the other surface, n . (x - p) + gap = 0. The gap of a point of the pad is
 * the mean of its distances to the planes of the contacts around it (weights of tactile/pad.h), and its target is its
 * foot on the mean plane. Where the pad is the touched one (the points are another soft body's), the plane goes through
 * the other body's point; its normal is then that of a triangle of the pad, which says little of the other surface, so
 * that such planes count only for a pad that touches nothing with points of its own. So a pad pressed on a plane has all its targets on that plane, however coarse the contact
 * points are and however far springs let them sink in. */

#define FEEL_FAR 1.0 /* m: the gap of a point with no contact around it */

/* How a body moves. */
typedef struct feel_motion {
    const double *x, *v;         /* of a soft body's nodes, 3 each, m, m/s */
    vec3 centre, velocity, spin; /* of a rigid body: centre of mass, m; m/s; rad/s */
} feel_motion;

typedef struct feel_moment {
    const thenar_contact *contacts;
    int contact_count;
    const feel_motion *bodies;
    const double *joints; /* 7 x 25 numbers a hand, as thenar_sim_hand_joints */
} feel_moment;

/* A pad as it is felt. */
typedef struct feel_pad {
    pad_model model;
    thenar_tactile_pad reported;
    hand_frame frame;
    mat3 turn;             /* of the frame */
    vec3 *normal, *target; /* of each point, in the frame: of the plane it is near, and its foot on it */
    double *weight;        /* of each point: of the contacts around it */
    double min_gap;        /* m */
    double apart;          /* m: the same, but 0 where contacts push: they may be between the points of a coarse skin */
    double force_before;   /* N: normal force at the moment before */
    double friction;       /* N: sum of sizes */
    int own_contacts;      /* contacts of the pad's own points */
} feel_pad;

/* Where the vertices of bodies' skins are on pads. */
typedef struct feel_slot {
    short pad;  /* -1: on none */
    int vertex; /* of that pad's */
} feel_slot;

typedef struct feel_world {
    int body_count;
    const pad_skin *skins;
    feel_slot **slots; /* of each body: of each vertex of its skin; NULL without pads */
    int pad_count;
    feel_pad *pads;
    double touching, leaving; /* m: a point touches below the first, until it is above the second */
} feel_world;

void feel_reset(feel_world *world);
void feel_update(feel_world *world, const feel_moment *moment);

/* Behind thenar_tactile: pads and the devices on them. A source says which bodies and pads there are, and a moment what
 * they do: a simulation's (tactile_sim.c) or a recording's (tactile_recording.c). */

typedef struct tactile_source {
    int body_count;
    pad_skin *skins; /* taken over on success */
    int hand_count;
    const char *const *hand_names;
    const pad_place *places; /* THENAR_FINGER_COUNT a hand; vertex NULL: that finger has no pad */
} tactile_source;

/* A device and what it does. */
typedef struct tactile_worn {
    thenar_tactile_def def; /* name and hand are copies */
    int pad;
    double low[3], high[3], home[3];
    thenar_tactile_command command;
    double before[3]; /* pose at the last update but one */
    double angles[3];
    bool engaged; /* it has reached what touches the pad */
    double amplitude;
} tactile_worn;

struct thenar_tactile {
    const thenar_model *model; /* kept alive; NULL for a recording */
    feel_world world;
    int device_count;
    tactile_worn *devices;
    match_points points; /* scratch, of one device at a time */
    void *points_memory;
    feel_motion *motions; /* of each body */
    double *joints;       /* of each hand */
    int hand_count;
    double time; /* s, of the last update; below 0: none */
};

/* options: all of it given, devices too. */
thenar_status tactile_create(const tactile_source *source, const thenar_tactile_options *options, thenar_tactile **out,
                             thenar_error *error);
/* New commands; `dt` since the moment before. motions and joints are filled in. */
void tactile_update(thenar_tactile *tactile, const feel_moment *moment, double time, double dt);

/* The problem that the last update solved for a device, for checks; false: nothing was near. Its points are good until
 * the next call or update. */
bool tactile_last_problem(const thenar_tactile *tactile, int device, match_problem *problem);

#endif
