/* Where the sections of a hand's tets lie: across the palm from the wrist to the web, then across each finger. */
#ifndef SHAPE_HAND_SECTIONS_H
#define SHAPE_HAND_SECTIONS_H

#include "shape/distance.h"
#include "shape/hand_rest.h"

#define HAND_RAYS (HAND_FINGERS - 1) /* of the palm: index to little finger */
#define HAND_LINES (HAND_RAYS + 1)   /* that part the rays, the outer sides with them */
#define HAND_PALM_LIMIT 12           /* layers */
#define HAND_FINGER_LIMIT 12

/* How many layers: of the palm, of a finger from the web to its second joint, on to the third, on to the tip; of the
 * thumb from its root to its first knuckle, on to the second, on to the tip. */
typedef struct hand_layers {
    int palm, finger[3], thumb[3];
} hand_layers;

/* A rectangle across a finger: corners at -side +up, +side +up, +side -up, -side -up, then the middle. */
typedef struct hand_section {
    vec3 corner[5];
    /* Along the finger's bones: 0 at the first knuckle (the thumb's: at its root), 1 at the next joint, 3 at the tip.
     * */
    double place;
} hand_section;

typedef struct hand_sections {
    hand_layers layers;
    vec3 middle[HAND_RAYS][HAND_PALM_LIMIT + 1];
    vec3 top[HAND_LINES][HAND_PALM_LIMIT + 1], bottom[HAND_LINES][HAND_PALM_LIMIT + 1];
    int count[HAND_FINGERS]; /* beyond the palm's last section */
    hand_section finger[HAND_FINGERS][HAND_FINGER_LIMIT];
} hand_sections;

/* The palm's last section but one is at the knuckles, its last one where the web ends. A right hand;
 * wrist_end: the z of its cut. */
void hand_sections_make(hand_size size, const hand_frame joint[HAND_JOINTS], const signed_distance *solid,
                        double wrist_end, hand_layers layers, hand_sections *out);

#endif
