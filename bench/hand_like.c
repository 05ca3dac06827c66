/* Proportions in shares of hand length (along) and breadth (across, thickness): finger joints and bone
 * lengths after Buchholz et al. 1992, thickness of the middle phalanges after the same measurements. */
#include "bench/hand_like.h"

#include "geometry/meshing.h"

#define HAND_LENGTH 0.19
#define HAND_BREADTH 0.086
#define FINGERS 5

typedef struct finger_shape {
    double across, along; /* joint at the palm: shares of breadth and length */
    double length;        /* of the bones beyond it, share of length */
    double thickness;     /* share of breadth */
    double spread;        /* rad from straight ahead, positive towards the little finger */
} finger_shape;

/* Thumb to little finger. */
static const finger_shape fingers[FINGERS] = {{-.40, .16, .354, .212, -0.80},
                                              {-.251, .447, .485, .198, -0.25},
                                              {0, .446, .544, .197, -0.02},
                                              {.206, .409, .516, .182, 0.20},
                                              {.402, .368, .414, .165, 0.45}};

#define HAND_VOLUME 4e-4  /* m^3: 0.445 kg at 1.1 g/cm^3 */
#define MIN_RADIUS 0.0005 /* m: minimum for a finger that would shrink to nothing */
#define ROOT 0.15         /* extension of a finger into the palm, share of hand length */

typedef struct hand_shape {
    box_shape palm;
    capsule_shape finger[FINGERS];
} hand_shape;

static hand_shape hand_make(double shrink) {
    double length = 0.42 * HAND_LENGTH, thickness = 0.28 * HAND_BREADTH, rounding = thickness / 3 - shrink;
    double inset = thickness / 3 - fmin(rounding, 0);
    hand_shape hand;
    hand.palm = (box_shape){.centre = {0, length / 2, 0},
                            .half = {HAND_BREADTH / 2 - inset, length / 2 - inset, thickness / 2 - inset},
                            .radius = fmax(rounding, 0)};
    for (int i = 0; i < FINGERS; i++) {
        const finger_shape *f = fingers + i;
        double radius = f->thickness * HAND_BREADTH / 2, reach = f->length * HAND_LENGTH - radius;
        double back = i == 0 ? 0 : -ROOT * HAND_LENGTH;
        vec3 direction = {sin(f->spread), cos(f->spread), 0};
        vec3 joint = {f->across * HAND_BREADTH, f->along * HAND_LENGTH, 0};
        hand.finger[i] = (capsule_shape){vec3_mul_add(joint, direction, back), vec3_mul_add(joint, direction, reach),
                                         fmax(radius - shrink, MIN_RADIUS)};
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
    /* The mesh of a lattice covers the solid and extends beyond it, so the fingers would merge. The hand is therefore
     * shrunk first, by the share of a cell for which the mesh has the volume of a hand. A cube has five tets. */
    double cell = cbrt(5 * HAND_VOLUME / (target_tets > 1 ? target_tets : 1));
    hand_shape hand = hand_make(fmin(0.3 * cell, 0.3 * 0.28 * HAND_BREADTH));
    lattice_solid solid = {
        .distance = {.evaluate = hand_distance, .context = &hand, .bounds = signed_distance_of_box(&hand.palm).bounds}};
    for (int i = 0; i < FINGERS; i++)
        solid.distance.bounds = box_join(solid.distance.bounds, signed_distance_of_capsule(&hand.finger[i]).bounds);
    thenar_mesh_options options = thenar_mesh_options_default();
    options.lattice = THENAR_LATTICE_CUBE;
    options.target_tets = target_tets;
    return lattice_mesh(&solid, &options, mesh, error);
}
