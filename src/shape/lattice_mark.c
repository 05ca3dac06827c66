#include "shape/lattice.h"

#include "base/memory.h"
#include "shape/embedding.h"
#include "shape/fill.h"

#include <stdlib.h>

/* A share of the cell size that counts as touching only: a box on the planes of the lattice must not gain a
 * layer. */
#define TOUCH 1e-9

/* No point of a tet is farther than this share of the cell size from its nearest corner (the half diagonal of
 * a cube; less for the body-centred tets). */
#define REACH 0.8661

/* The signed distance of every node, or a bound on it of the same sign and less magnitude where that is all
 * that will be asked: the distance cannot change faster than one walks. */
static double *node_distances(const signed_distance *solid, const grid *g) {
    int count = grid_node_count(g);
    double *distance = MEMORY_ARRAY(double, count);
    if (!distance) return NULL;
    vec3 previous = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        vec3 here = grid_node(g, i);
        double bound = i == 0 ? 0 : fabs(distance[i - 1]) - vec3_distance(here, previous);
        distance[i] =
            bound > REACH * g->cell.x ? copysign(bound, distance[i - 1]) : signed_distance_at(solid, here, NULL);
        previous = here;
    }
    return distance;
}

static bool shares_volume(const lattice_solid *solid, const grid *g, int tet, const double distance[4]) {
    double tolerance = TOUCH * g->cell.x;
    double lowest = fmin(fmin(distance[0], distance[1]), fmin(distance[2], distance[3]));
    if (lowest < -tolerance) return true;
    if (lowest > REACH * g->cell.x) return false;
    vec3 corner[4];
    grid_tet_corners(g, tet, corner);
    if (!solid->surface) return fill_reaches_tet(&solid->distance, corner, tolerance);
    if (surface_distance_cuts_tet(solid->surface, corner, tolerance)) return true;
    /* Uncut, it is all inside or all outside, even if all its corners lie on the surface. */
    vec3 middle = vec3_scale(vec3_add(vec3_add(corner[0], corner[1]), vec3_add(corner[2], corner[3])), 0.25);
    return signed_distance_at(&solid->distance, middle, NULL) < -tolerance;
}

/* Marks the tet that holds the point, unless one that is marked already does. */
static void cover_point(const grid *g, vec3 point, unsigned char *keep) {
    int tets[GRID_NEAR_LIMIT], count = grid_tets_near(g, point, tets), best = -1;
    double best_depth = -INFINITY;
    for (int i = 0; i < count; i++) {
        vec3 corner[4];
        double weights[4];
        grid_tet_corners(g, tets[i], corner);
        double depth = tet_weights(corner, point, weights);
        if (keep[tets[i]] && depth >= -1e-13) return;
        if (depth > best_depth) {
            best_depth = depth;
            best = tets[i];
        }
    }
    if (best >= 0) keep[best] = 1;
}

thenar_status lattice_mark(const lattice_solid *solid, const grid *g, unsigned char *keep, thenar_error *error) {
    double *distance = node_distances(&solid->distance, g);
    if (!distance) return error_memory(error, "lattice");
    for (int tet = 0; tet < grid_tet_count(g); tet++) {
        int n[4];
        if (!grid_tet(g, tet, n)) continue;
        double at[4] = {distance[n[0]], distance[n[1]], distance[n[2]], distance[n[3]]};
        keep[tet] = shares_volume(solid, g, tet, at);
    }
    free(distance);
    for (int v = 0; solid->skin && v < solid->skin->vertex_count; v++)
        cover_point(g, vec3_load(solid->skin->positions + 3 * (size_t)v), keep);
    return THENAR_OK;
}
