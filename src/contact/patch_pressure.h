/* What share of a patch's force each of its points bears. See patch_pressure.c. */
#ifndef CONTACT_PATCH_PRESSURE_H
#define CONTACT_PATCH_PRESSURE_H

#include "contact/patch_make.h"

/* Adapted pressures. Contacts that are in a group push with set->force, at first what they remember, N. */
void patch_pressure_open(patch_set *set, const contact *contacts, int count, const block_pattern *pattern,
                         const double *blocks, double h);
/* set->change: by how much the forces ought to change, to close set->gap. Whether any should. */
bool patch_pressure_wish(patch_set *set, int count, int groups);
/* The forces change as far as is of use, and the gaps, where set->motion is how far a whole change moves each contact, m. */
void patch_pressure_change(patch_set *set, int groups);

/* Shares of the contacts in `list`, in its order. They add up to 1; some may be 0. */
void patch_find_shares(const patch_set *set, thenar_contact_pressure pressure, const contact *contacts,
                       const contact_point *points, const int *list, int count, double *share);

#endif
