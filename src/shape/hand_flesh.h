/* The form of a hand around its joints at rest: limbs and pads that run into each other smoothly.
 *
 * Of a right hand; the left one is mirrored once it is a mesh. */
#ifndef SHAPE_HAND_FLESH_H
#define SHAPE_HAND_FLESH_H

#include "shape/distance.h"
#include "shape/hand_rest.h"
#include "shape/limb.h"

#define HAND_FLESH_PADS 24

/* An ellipsoid. */
typedef struct hand_pad {
    vec3 centre, axis[3]; /* unit axes */
    double half[3];
    double blend; /* over what length it runs into the rest, m */
} hand_pad;

typedef struct hand_flesh {
    double unit;               /* hand breadth, m */
    limb finger[HAND_FINGERS]; /* thumb to little finger, from the knuckle to the tip */
    limb ray[HAND_FINGERS];    /* of the palm: along the metacarpals */
    limb wrist;
    int pad_count;
    hand_pad pad[HAND_FLESH_PADS];
    int hollow_count;
    hand_pad hollow[4];
    double wrist_end; /* z of the cut */
    box bounds;
} hand_flesh;

void hand_flesh_make(hand_size size, const hand_frame joint[HAND_JOINTS], hand_flesh *out);

/* Negative inside; nearly a distance close to the skin. flesh must stay. */
signed_distance signed_distance_of_flesh(const hand_flesh *flesh);

#endif
