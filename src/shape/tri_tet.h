/* Does a triangle reach into a tet? By separating axes: two convex bodies are apart exactly if they are apart
 * along a face normal of either or along the cross product of an edge of each [Gottschalk, Lin and Manocha
 * 1996]. */
#ifndef SHAPE_TRI_TET_H
#define SHAPE_TRI_TET_H

#include "math/vec3.h"

#include <stdbool.h>

typedef struct tri_tet {
    vec3 corner[4];
    vec3 edge[6];
    vec3 face_normal[4]; /* unit */
    double tolerance;    /* bodies that overlap by no more than this, in metres, count as apart */
} tri_tet;

tri_tet tri_tet_make(const vec3 corner[4], double tolerance);
bool tri_tet_overlaps(const tri_tet *tet, const vec3 triangle[3]);

#endif
