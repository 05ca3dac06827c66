/* Hands from glTF: any closed mesh with the 25 joints of WebXR, by name, and skin weights.
 *
 * Joints come from the inverse bind matrices, not from the nodes, which may be siblings, in any order and in any pose.
 * Vertices at the same place (texture seams) become one. The hand is turned into its wrist's frame; that its thumb is
 * at -x makes it a right one. The last joints of some hands lie deep inside the fingertips: they stay where the file
 * has them. */
#ifndef SHAPE_HAND_GLTF_H
#define SHAPE_HAND_GLTF_H

#include "base/file.h"
#include "shape/hand.h"

/* About `tets` tets: in layers as those of the built-in hand. Metres. */
thenar_status hand_gltf_load(const char *path, int tets, hand_shape *out, thenar_error *error);

/* What is read of a file before any tet is made: joints and skin as the file has them, and HAND_BONES weights a vertex,
 * to be freed. `bytes` are used up, also if this fails; path is for messages. */
thenar_status hand_gltf_parse(const char *path, file_bytes bytes, hand_shape *out, double **weight,
                              thenar_error *error);

#endif
