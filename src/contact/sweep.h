/* Which boxes overlap: sort and sweep along one axis.
 *
 * The boxes stand in the order of their lower ends along the axis on which their middles are spread most. A box can
 * overlap only those that begin before it ends, which stand behind it. Bodies that lie side by side are looked at once
 * for each neighbour along the axis, so that n of them cost about n; all in one heap cost n^2 / 2 comparisons of boxes,
 * which is still little beside what is done with pairs that do overlap.
 *
 * The order of each axis is kept from call to call, since it hardly changes from step to step, and is put right by
 * insertion; lower ends that are equal stand by index. So the order, and with it all that is told, depends on the boxes
 * alone and not on the calls before. */
#ifndef CONTACT_SWEEP_H
#define CONTACT_SWEEP_H

#include "base/arena.h"
#include "shape/bvh.h"

typedef struct sweep {
    int count;
    int *order[3]; /* count each, for the axes: by ascending lower end */
} sweep;

void sweep_layout(sweep *state, int count, arena *work);
/* Once the state has its memory. */
void sweep_open(sweep *state);

/* Calls visit once for each pair of boxes that overlap, one of the first `split` boxes and one of the others. Boxes may
 * be infinite; none of their numbers is NaN. */
typedef void (*sweep_visit)(void *context, int one, int other);
void sweep_find(sweep *state, const box *boxes, int split, sweep_visit visit, void *context);

#endif
