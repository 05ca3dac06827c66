/* Proportions in shares of hand length (along) and breadth (across, thickness): finger joints and bone lengths after
 * Buchholz et al. 1992, thickness of the middle phalanges after the same measurements. */
#include "shape/hand_like.h"

#include "shape/lattice.h"

#define HAND_LENGTH 0.19
#define HAND_BREADTH 0.086
#define FINGERS 5

typedef struct finger_shape {
    double across, along; /* the joint at the palm: shares of breadth and length */
    double length;        /* of the bones beyond it: share of length */
    double thickness;     /* share of breadth */
    double spread;        /* radians from straight ahead, positive to the side of the little finger */
} finger_shape;

/* Thumb to little finger. The spread keeps the fingers apart on a lattice of their own thickness. */
static const finger_shape fingers[FINGERS] = {{-.40, .16, .354, .212, -0.80},
                                              {-.251, .447, .485, .198, -0.32},
                                              {0, .446, .544, .197, -0.02},
                                              {.206, .409, .516, .182, 0.26},
                                              {.402, .368, .414, .165, 0.58}};

typedef struct hand_shape {
    box_shape palm;
    capsule_shape finger[FINGERS];
} hand_shape;

static hand_shape hand_make(void) {
    double palm_length = 0.42 * HAND_LENGTH, palm_thickness = 0.28 * HAND_BREADTH, rounding = palm_thickness / 3;
    hand_shape hand;
    hand.palm = (box_shape){.centre = {0, palm_length / 2, 0},
                            .half = {HAND_BREADTH / 2 - rounding, palm_length / 2 - rounding, palm_thickness / 2 - rounding},
                            .radius = rounding};
    for (int i = 0; i < FINGERS; i++) {
        const finger_shape *f = fingers + i;
        double radius = f->thickness * HAND_BREADTH / 2, reach = f->length * HAND_LENGTH - radius;
        vec3 root = {f->across * HAND_BREADTH, f->along * HAND_LENGTH, 0};
        vec3 tip = vec3_mul_add(root, vec3_make(sin(f->spread), cos(f->spread), 0), reach);
        hand.finger[i] = (capsule_shape){root, tip, radius};
    }
    return hand;
}

static double hand_distance(const void *context, vec3 point, vec3 *normal) {
    const hand_shape *hand = context;
    double nearest = box_distance(&hand->palm, point, normal);
    for (int i = 0; i < FINGERS; i++) {
        vec3 direction;
        double distance = capsule_distance(&hand->finger[i], point, &direction);
        if (distance >= nearest) continue;
        nearest = distance;
        if (normal) *normal = direction;
    }
    return nearest;
}

thenar_status shape_hand_like(int target_tets, thenar_tet_mesh *mesh, thenar_error *error) {
    hand_shape hand = hand_make();
    lattice_solid solid = {.distance = {hand_distance, &hand, signed_distance_of_box(&hand.palm).bounds}};
    for (int i = 0; i < FINGERS; i++)
        solid.distance.bounds = box_join(solid.distance.bounds, signed_distance_of_capsule(&hand.finger[i]).bounds);
    thenar_mesh_options options = thenar_mesh_options_default();
    options.lattice = THENAR_LATTICE_CUBE;
    options.target_tets = target_tets;
    return lattice_mesh(&solid, &options, mesh, error);
}
