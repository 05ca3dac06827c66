/* Tactile rendering: pads, what they feel, and contact surface matching.
 *
 * Matching (perez2016, IV) finds the pose of a plane that touches a finger pad like the virtual surface does. In the
 * frame of a pad (x across the finger, y towards its tip, z into it) a pose is q = (pitch, roll, displacement): the
 * plane through (0, 0, q[2]) with the normal
 *     n(q) = Ry(roll) Rx(pitch) e_z = (sin roll cos pitch, -sin pitch, cos roll cos pitch)
 * towards the finger. With d(x) = n . (x - q[2] e_z) the pose minimizes
 *     1/2 sum_i touch_i d(target_i)^2 + 1/2 sum_i free_i min(0, d(skin_i))^2
 *       + 1/2 hold |q - before|^2_W + 1/2 rest |q - home|^2_W,      |q|^2_W = arm^2 (q0^2 + q1^2) + q2^2
 * within low <= q <= high. The first sum draws the plane to the virtual surface; the second keeps it from pressing
 * skin that the surface does not touch; the third holds what the first two leave undetermined (a single point does not
 * determine the tilt); the fourth covers surfaces that approach or move away.
 *
 * Newton's method: each step solves the quadratic model exactly within the bounds, by trying which of the three are
 * active (clipping an unconstrained solution is not optimal), and is halved until the sum decreases. With the
 * Gauss-Newton Hessian alone it takes more than 12 steps where a surface is far outside the workspace. */
#ifndef TACTILE_TACTILE_H
#define TACTILE_TACTILE_H

#include "core/shared.h"
#include "body/soft.h"
#include "core/error.h"
#include "core/simd.h"
#include "core/vec3.h"
#include "hand/shape.h"

#include "thenar/tactile.h"

#define MATCH_ITERATIONS 12

/* Points in groups of eight, structure of arrays; groups are padded with points of zero weight. */
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
    double arm;        /* m: length equivalent of a radian of tilt */
    double low[3], high[3];
} match_problem;

typedef struct match_result {
    double pose[3]; /* rad, rad, m */
    double cost;    /* m^4 */
    int iterations;
    unsigned bounded; /* bit k: pose[k] is at a bound */
} match_result;

double match_cost(const match_problem *problem, const double q[3]);
/* Starts from `before`, clamped to the bounds. The result is always within them. */
match_result match_solve(const match_problem *problem);

/* The normal of a pose. */
static inline void match_normal(const double q[3], double n[3]) {
    n[0] = sin(q[1]) * cos(q[0]);
    n[1] = -sin(q[0]);
    n[2] = cos(q[1]) * cos(q[0]);
}

/* The pad of a finger: about a hundred points of the fine skin, distributed evenly, each with its area.
 *
 * The frame of a pad moves with the distal bone: x as the bone's x, y along the bone to the tip, z into the finger.
 * Its origin is at the centre of the pad (mean by area), as far out as the pad reaches at rest. A device may be worn
 * rotated about y; the frame then rotates with it.
 *
 * Quantities at a vertex of the pad, which in general is not one of the points, are distributed over the points around
 * it with weights (1 - r^2/R^2)^2 by the rest distance r. These are constant, so nothing jumps as the skin deforms. */

#define PAD_REACH 0.004 /* m: minimum of R */

/* A body that has, or touches, a pad. */
typedef struct pad_skin {
    const thenar_surface *surface;     /* at rest */
    const thenar_embedding *embedding; /* of a soft body, else NULL */
    const thenar_tet_mesh *mesh;
    const soft_model *soft; /* its elements, or NULL for a recording, which has none */
} pad_skin;

/* The location of a pad. */
typedef struct pad_place {
    int hand, body;
    thenar_finger finger;
    bool left;
    const int *vertex; /* of the body's skin */
    int vertex_count;
    hand_frame frame; /* of the distal phalanx at rest */
    double young;     /* of the flesh, Pa */
    double turn;      /* of the pad's frame about the finger, rad */
    double depth;     /* of the tets whose strain energy is reported, m */
} pad_place;

typedef struct pad_model {
    int hand, body;
    thenar_finger finger;
    double turn, depth;
    quat axes;   /* of the pad's frame, in the bone's */
    vec3 origin; /* from the bone's joint, in the pad's axes, m */
    int point_count;
    thenar_tactile_point *points; /* vertex, rest and area are constant; pad.c fills in the rest */
    int (*node)[4];               /* embedding of a point in the nodes */
    double (*weight)[4];
    unsigned char *part;                             /* thenar_pad_region of a point */
    double part_area[THENAR_PAD_REGION_COUNT], area; /* m^2 */

    int vertex_count;
    int *vertex;           /* of the pad, ascending */
    int *spread_start;     /* vertex_count + 1 */
    int *spread_point;     /* a vertex's points */
    double *spread_weight; /* above 0 */

    /* The tets at the chosen depth, each once, in batches; none without elements. */
    int batch_count;
    soft_batch *batches;
    double (*per_volume)[SIMD_LANES]; /* 1/m^3: from the energy of a tet to that per volume of its flesh */
    int *tet;                         /* of each point: index among the tets of the batches */
} pad_model;

/* points: approximate number. */
thenar_status pad_create(const pad_place *place, const pad_skin *skin, int points, pad_model *out, thenar_error *error);
void pad_free(pad_model *pad);

/* What the pads of hands feel at one instant, from the positions of the flesh and the list of contacts, whether these
 * come from a simulation or from a recording, and whatever the contact method.
 *
 * A contact near a pad is treated as the plane of the other surface, n . (x - p) + gap = 0. The gap of a point of the
 * pad is the mean of its distances to the planes of the contacts around it (with the weights above), and its target is
 * its projection on the mean plane. Where the pad is the touched side (the points belong to another soft body), the
 * plane passes through the point of the other body. Its normal is then that of a triangle of the pad, which says
 * little about the other surface, so such planes count only for a pad without contacts at points of its own. A pad
 * pressed on a plane therefore has all its targets on that plane, however coarse the contact points are and however
 * far penalty springs let them sink in. */

#define FEEL_FAR 1.0 /* m: gap of a point without contacts around it */

/* How a body moves. */
typedef struct feel_motion {
    const double *x, *v;         /* of a soft body's nodes, 3 each, m, m/s */
    vec3 centre, velocity, spin; /* of a rigid body: centre of mass, m; m/s; rad/s */
} feel_motion;

typedef struct feel_input {
    const thenar_contact *contacts;
    int contact_count;
    const feel_motion *bodies;
    const double *joints; /* 7 x 25 numbers per hand, as thenar_sim_hand_joints */
} feel_input;

/* A pad and what it feels. */
typedef struct feel_pad {
    pad_model model;
    thenar_tactile_pad reported;
    hand_frame frame;
    mat3 turn;             /* of the frame */
    vec3 *normal, *target; /* of each point, in the frame: normal of the nearby plane, and its projection on it */
    double *weight;        /* of each point: weight of the contacts around it */
    double min_gap;        /* m */
    double distance; /* m: the same, but 0 with active contacts, which may lie between the points of a coarse skin */
    double force_before; /* N: normal force at the previous update */
    double friction;     /* N: sum of magnitudes */
    int own_contacts;    /* contacts of the pad's own points */
} feel_pad;

/* The pad vertex of a skin vertex. */
typedef struct feel_slot {
    short pad;  /* -1: on none */
    int vertex; /* of that pad's */
} feel_slot;

typedef struct feel_world {
    int body_count;
    const pad_skin *skins;
    feel_slot **slots; /* of each body: one per vertex of its skin; NULL without pads */
    int pad_count;
    feel_pad *pads;
    double touching, leaving; /* m: a point touches below the first distance until it exceeds the second */
} feel_world;

void feel_reset(feel_world *world);
void feel_update(feel_world *world, const feel_input *input);

/* Wearable devices: their workspace, their motion, and actuator values from a pose. */

bool wearable_is_platform(const thenar_wearable_def *def);

/* The workspace. A thimble does not tilt. */
void wearable_bounds(const thenar_wearable_def *def, double low[3], double high[3]);

/* Maximum depth, m: where the pad pushes back with the force limit. */
double wearable_depth_max(const thenar_wearable_def *def);

/* The pose when nothing is near. */
void wearable_home(const thenar_wearable_def *def, double pose[3]);

/* Moves from the current pose towards the target, as far as its speeds allow within dt. `max` further bounds the
 * displacement into the pad, m, but not away from it. `angles` (platforms): current servo angles, updated. Both poses
 * are in the workspace, in which the links close. */
void wearable_approach(const thenar_wearable_def *def, const double wanted[3], double dt, double max, double pose[3],
                       double angles[3]);

/* Kinematics of the platforms: from the pose of the surface that touches the pad to the angles of three servos, and
 * back. Poses as in tactile.h, lengths and angles as in thenar_wearable_def.
 *
 * Both platforms rotate without torsion, about an axis in the plane of the base: R is the smallest rotation from e_z
 * to the normal n, R e_z = n. Their joints are M_k = c + R r e_k, with the centre c of their circle platform_depth
 * behind the surface, and three directions e_k at 120 degrees.
 *
 * Cable: the centre of the surface stays on the axis. l_k = |M_k - b_k| with the pulleys b_k; a pulley rotates by
 * (l_k0 - l_k) / pulley_radius from its angle at the zero pose.
 *
 * 3-RRS: each leg moves in the plane of e_k and z, which determines c: c_x = r/2 (R_11 - R_22), c_y = -r R_21 with x
 * along the first leg. In that plane, measured from the servo, the ball joint is rho = e_k . M_k - base_radius outward
 * and zeta = base_height - M_kz down, L^2 = rho^2 + zeta^2, and the crank is at
 *     theta_k = atan2(zeta, rho) - acos((crank^2 + L^2 - rod^2) / (2 crank L)),
 * where 0 is straight out and a right angle points towards the pad, with its hinge on the outer side. */

/* False: the links do not close. */
bool platform_inverse(const thenar_wearable_def *def, const double pose[3], double angles[3]);
/* Positions of the joints of the platform. */
void platform_joints(const thenar_wearable_def *def, const double pose[3], vec3 joint[3]);

/* Behind thenar_tactile: pads and the devices on them. A source describes bodies and pads, an input their motion; both
 * come from a simulation or from a recording. */

typedef struct tactile_source {
    int body_count;
    pad_skin *skins; /* ownership is transferred on success */
    int hand_count;
    const char *const *hand_names;
    const pad_place *places; /* THENAR_FINGER_COUNT per hand; vertex NULL: that finger has no pad */
} tactile_source;

/* A device and its state. */
typedef struct tactile_worn {
    thenar_tactile_def def; /* name and hand are copies, device is the next */
    thenar_wearable_def device;
    int pad;
    double low[3], high[3], home[3];
    thenar_tactile_command command;
    double before[3]; /* pose at the second-last update */
    double angles[3];
    bool engaged; /* it has reached the surface that touches the pad */
    double amplitude;
} tactile_worn;

struct thenar_tactile {
    const thenar_model *model; /* reference counted; NULL for a recording */
    feel_world world;
    int device_count;
    tactile_worn *devices;
    match_points points; /* scratch memory, for one device at a time */
    void *points_memory;
    feel_motion *motions; /* of each body */
    double *joints;       /* of each hand */
    int hand_count;
    double time; /* s, of the last update; negative: none */
};

/* options: complete, including devices. */
thenar_status tactile_create(const tactile_source *source, const thenar_tactile_options *options, thenar_tactile **out,
                             thenar_error *error) SHARED(tactile_create);
/* Computes new commands; `dt` since the previous update. motions and joints must be filled in. */
void tactile_update(thenar_tactile *tactile, const feel_input *input, double time, double dt) SHARED(tactile_update);

/* The matching problem of a device that starts from a pose; false if nothing is near. Its points are scratch memory,
 * valid until the next call or update. */
bool tactile_problem(const thenar_tactile *tactile, const tactile_worn *worn, const double before[3],
                     match_problem *problem);

#endif
