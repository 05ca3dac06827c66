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
    double *depth, *gap, *share, *compliance, *force, *change, *motion; /* see patch_pressure.h */
    double *load;                                                       /* a node of a system each */
    int *nodes;                                                         /* those that contacts hang on */
    vec3 (*sum)[PATCH_ROWS];                                            /* a leg of the patch at hand: its gradients */
    double (*place)[2];
    int *group, *order;
    int *ends;          /* of each group in `order` */
    box *box;           /* of a group, at its first contact */
    vec3 *normal;       /* likewise */
    int *slot_of_node;  /* a node of a system: its leg in the patch at hand, or -1 */
    int *slot_of_point; /* a point of a skin: its contact, or -1 */
} patch_set;

void patch_set_layout(patch_set *set, int most_contacts, int most_nodes, int most_points, arena *work);
/* Once it has its memory. */
void patch_set_open(patch_set *set);

/* The contacts of a system go into groups, which stand one after the other in set->order; returns how many there are. They were
 * looked at where the free motion ends, for adapted pressures where it ends with the forces `lambda` that they remember. points:
 * by contact.point. skins: by contact_point.skin. */
int patches_group(patch_set *set, const contact *contacts, int count, const contact_point *points,
                  const contact_skin_state *const *skins, thenar_contact_pressure pressure);

/* Adds their patches to the set; returns how many. */
int patches_make(patch_set *set, const contact *contacts, const contact_point *points, int groups,
                 thenar_contact_pressure pressure, double h);

#endif
