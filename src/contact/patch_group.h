/* Which contacts make a patch together. See patch_group.c. */
#ifndef CONTACT_PATCH_GROUP_H
#define CONTACT_PATCH_GROUP_H

#include "contact/patch_make.h"

/* Sets set->group of the contacts whose set->depth is positive to a number from 0 on, of the others to -1. Returns how many
 * groups there are. */
int patch_group(patch_set *set, const contact *contacts, int count, const contact_point *points,
                const contact_skin_state *const *skins);

/* Whether the surface around a point of a skin recedes from a plane across `normal` through it: the point is nearest to the
 * other body among its neighbours, or nearly so (a local minimum distance, within the extended normal cone). */
bool patch_is_proximity(const contact_skin_state *skin, int index, vec3 normal);

#endif
