/* From the contact points of a system to patches. See patch_make.c. */
#ifndef CONTACT_PATCH_MAKE_H
#define CONTACT_PATCH_MAKE_H

#include "base/arena.h"
#include "contact/patch.h"

#define PATCHES_MOST 256 /* of a world at a time: the matrix of their rows is dense */

/* The patches of all systems of a step and what making them needs. */
typedef struct patch_set {
    int most; /* patches */
    int most_nodes, most_points;
    patch *patches;
    int count;
    patch_member *members; /* a contact each, of all patches one after the other */
    int member_count;
    int *node;      /* CONTACT_LEGS a contact */
    vec3 *gradient; /* PATCH_ROWS times that */
    int leg_count;
    int lost; /* contacts for which there was no room */
    /* a contact each: */
    double *depth, *share, *weight, *carried;
    double (*place)[2];
    int *group, *order, *starts;
    box *box;           /* of a group, at its first contact */
    vec3 *normal;       /* likewise */
    int *slot_of_node;  /* a node of a system: its leg in the patch at hand, or -1 */
    int *slot_of_point; /* a point of a skin: its contact, or -1 */
} patch_set;

void patch_set_layout(patch_set *set, int most_contacts, int most_nodes, int most_points, arena *work);
/* Once it has its memory. */
void patch_set_open(patch_set *set);

/* Adds the patches of a system whose contacts were looked at where the free motion ends, with their `lambda` what they
 * remember. points: by contact.point. skins: by contact_point.skin. Returns how many patches it has, the last of the set's. */
int patches_make(patch_set *set, const contact *contacts, int count, const contact_point *points,
                 const contact_skin_state *const *skins, thenar_contact_pressure pressure, double h);

#endif
