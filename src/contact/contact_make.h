/* From a contact point to a contact: its frame, its legs on both bodies, its penalty, and what it remembers. */
#ifndef CONTACT_CONTACT_MAKE_H
#define CONTACT_CONTACT_MAKE_H

#include "contact/contact.h"

/* A body and where its unknowns start in the system. */
typedef struct contact_side {
    const body_state *body;
    int first_node;
    const contact_skin_state *skin; /* of a soft body on the other side; else NULL */
} contact_side;

/* What a contact that pushes leaves to the next step. No padding: it is hashed. */
typedef struct contact_memory {
    int pair, index;  /* of the point: which pair, and which point of the skin; ascending */
    int stuck;        /* 1: it did not slip */
    int face;         /* the triangle of a soft other body that it sticks to; else 0 */
    double force[3];  /* on the skin's body, in the frame of the other one, or of that triangle, N */
    double anchor[3]; /* the point of the other body that it sticks to, in that frame, m; of a point that rolls: how far
                         from there it is; on a triangle: barycentric coordinates */
} contact_memory;

/* The equations of the system, of which the penalty is made. */
typedef struct contact_equations {
    const block_pattern *pattern;
    const double *blocks; /* A */
    const body_step *step;
} contact_equations;

/* memory: of the same point in the last step, or NULL. False if nothing that it touches can move. */
bool contact_make(contact *c, const contact_point *point, const contact_memory *memory, contact_side skin,
                  contact_side other, double mu, const contact_equations *equations);

/* What is left to the next step. The force and the anchor are in the frame of the other body where the step began. */
contact_memory contact_remember(const contact *c, const contact_point *point, const contact_memory *before,
                                contact_side other);

#endif
