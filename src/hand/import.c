/* A hand from a skinned mesh: joints, skin and weights are given, and the flesh is made for them. */
#include "hand/shape.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdlib.h>

#define SHORTEST 1e-3      /* m, of a hand from the wrist to the tip of the middle finger, in some unit or other */
#define LONGEST 1e3        /* m */
#define NARROWEST 0.02     /* of its length */
#define SHORTEST_BONE 1e-3 /* of its length */

/* Moves everything to the wrist's frame and finds out which hand it is. */
static void into_wrist_frame(hand_shape *hand) {
    hand_frame wrist = hand->joint[HAND_WRIST];
    quat back = quat_conjugate(wrist.rotation);
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand->joint[j].position = quat_rotate(back, vec3_sub(hand->joint[j].position, wrist.position));
        hand->joint[j].rotation = quat_unit(quat_mul(back, hand->joint[j].rotation));
    }
    for (int v = 0; v < hand->skin.vertex_count; v++)
        vec3_store(hand->skin.positions + 3 * (size_t)v,
                   quat_rotate(back, vec3_sub(surface_vertex(&hand->skin, v), wrist.position)));
    hand->joint[HAND_WRIST] = (hand_frame){{0, 0, 0}, quat_identity()};
    hand->left = hand->joint[HAND_INDEX_PROXIMAL].position.x > hand->joint[HAND_LITTLE_PROXIMAL].position.x;
}

static hand_size size_of(const hand_shape *hand) {
    double length = 0;
    for (int j = HAND_MIDDLE_PROXIMAL; j <= HAND_MIDDLE_TIP; j++)
        length += vec3_distance(hand->joint[j].position,
                                hand->joint[j == HAND_MIDDLE_PROXIMAL ? HAND_WRIST : j - 1].position);
    /* The knuckles of the index and the little finger are 0.653 of the breadth apart (Buchholz). */
    return (hand_size){
        length,
        vec3_distance(hand->joint[HAND_INDEX_PROXIMAL].position, hand->joint[HAND_LITTLE_PROXIMAL].position) / 0.653};
}

/* That the joints are those of some hand: the mesher divides by their distances. */
static thenar_status check_sizes(const hand_shape *hand, thenar_error *error) {
    hand_size size = size_of(hand);
    if (!(size.length >= SHORTEST && size.length <= LONGEST))
        return error_set(error, THENAR_ERROR_INPUT, "the hand is %g m long; expected %g to %g m", size.length, SHORTEST,
                         LONGEST);
    if (!(size.breadth >= NARROWEST * size.length && size.breadth <= size.length / NARROWEST))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the hand is %g m long and %g m broad; expected the sizes of a hand", size.length,
                         size.breadth);
    for (int bone = 1; bone < HAND_BONES; bone++) {
        hand_joint j = hand_bone_joint(bone);
        double length = vec3_distance(hand->joint[j].position, hand->joint[j + 1].position);
        if (!(length >= SHORTEST_BONE * size.length && length <= size.length))
            return error_set(error, THENAR_ERROR_INPUT,
                             "the bone from %s to %s is %g m long; expected the sizes of a hand", hand_joint_name(j),
                             hand_joint_name((hand_joint)(j + 1)), length);
    }
    return THENAR_OK;
}

static thenar_status make_tets(hand_shape *hand, const double *vertex_weight, int tets, double **node_weight,
                               thenar_error *error) {
    surface_distance distance;
    hand_node *node = NULL;
    thenar_status status = surface_distance_create(&hand->skin, &distance, error);
    if (status != THENAR_OK) return status;
    signed_distance solid = signed_distance_of_surface(&distance);
    int *group = MEMORY_ARRAY(int, hand->skin.vertex_count);
    if (group) hand_vertex_groups(hand->joint, &hand->skin, vertex_weight, group);
    status = group ? hand_tets(size_of(hand), hand->joint, &solid, &hand->skin, group, tets, &hand->mesh, &node, error)
                   : error_memory(error, "hand");
    free(group);
    if (status == THENAR_OK) status = hand_shape_take_nodes(node, hand, node_weight, error);
    free(node);
    surface_distance_free(&distance);
    return status;
}

thenar_status hand_shape_import(hand_shape *hand, const double *vertex_weight, int tets, thenar_error *error) {
    double *node_weight = NULL;
    into_wrist_frame(hand);
    bool left = hand->left;
    if (left) hand_shape_mirror(hand); /* the mesher knows right hands only */
    thenar_status status = check_sizes(hand, error);
    if (status == THENAR_OK) status = make_tets(hand, vertex_weight, tets, &node_weight, error);
    if (status == THENAR_OK) status = hand_shape_finish(vertex_weight, node_weight, hand, error);
    if (status == THENAR_OK && left) hand_shape_mirror(hand);
    if (status == THENAR_OK) status = hand_embed(hand, error);
    free(node_weight);
    return status;
}
