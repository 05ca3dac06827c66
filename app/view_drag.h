/* A body in a viewer's hand: a damped spring from a point of its surface to where the mouse is. */
#ifndef APP_VIEW_DRAG_H
#define APP_VIEW_DRAG_H

#include "core/memory.h"

#include "thenar/sim.h"

typedef struct view_drag {
    bool active;
    int body, vertex;
    double target[3]; /* m */
    double strength;  /* 1: twice the body's weight at a tenth of its extent */
    double held[3];   /* where the vertex is, m */
    double force[3];  /* N, in the last step */
    /* what takes the force */
    ARRAY(int) nodes;      /* of a soft body */
    ARRAY(double) weights; /* of the nodes, together 1 */
    double point[3];       /* of a rigid body, in its frame */
    double stiffness;      /* N/m at strength 1 */
    double mass;           /* that the spring feels, kg */
} view_drag;

/* Takes hold of a surface vertex of a body; false if memory ran out or the body cannot be moved. */
bool drag_take(view_drag *drag, thenar_sim *sim, int body, int vertex);

/* Before each step: the force of the spring goes into the simulation. */
void drag_apply(view_drag *drag, thenar_sim *sim);

/* Lets go: no force is left behind. */
void drag_release(view_drag *drag, thenar_sim *sim);
void drag_free(view_drag *drag);

#endif
