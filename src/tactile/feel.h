/* What the pads of hands feel at one moment: from the positions of the flesh and the list of contacts, whoever tells
 * them (a simulation, or a frame of a recording) and by whatever method they were found.
 *
 * A contact near a pad is a plane: that of the other surface, n . (x - p) + gap = 0. The gap of a point of the pad is
 * the mean of its distances to the planes of the contacts around it (weights of tactile/pad.h), and its target is its
 * foot on the mean plane. Where the pad is the touched one (the points are another soft body's), the plane goes through
 * the other body's point; its normal is then that of a triangle of the pad, which says little of the other surface, so
 * that such planes count only for a pad that touches nothing with points of its own. So a pad pressed on a plane has all its targets on that plane, however coarse the contact
 * points are and however far springs let them sink in. */
#ifndef TACTILE_FEEL_H
#define TACTILE_FEEL_H

#include "tactile/pad.h"

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
    thenar_tactile_pad told;
    hand_frame frame;
    mat3 turn;             /* of the frame */
    vec3 *normal, *target; /* of each point, in the frame: of the plane it is near, and its foot on it */
    double *weight;        /* of each point: of the contacts around it */
    double least_gap;      /* m */
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

#endif
