#include "shape/fill.h"

#include "shape/mesh.h"
#include "shape/mesh_check.h"
#include "shape/surface_distance.h"

#define FILL_DEPTH 2
#define REACH_DEPTH 4

typedef struct sampled_tet {
    vec3 corner[4];
    double value[4]; /* signed distance */
} sampled_tet;

static sampled_tet sample(const signed_distance *solid, const vec3 corner[4]) {
    sampled_tet tet;
    for (int i = 0; i < 4; i++) {
        tet.corner[i] = corner[i];
        tet.value[i] = signed_distance_at(solid, corner[i], NULL);
    }
    return tet;
}

/* Eight tets: one at each corner, four inside the octahedron between the middles of the edges. */
static void cut_into_eight(const signed_distance *solid, const sampled_tet *tet, sampled_tet part[8]) {
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    /* Points 0..3 are the corners, 4..9 the middles of the edges 01 02 03 12 13 23. The octahedron is cut
     * along the diagonal from the middle of 02 to that of 13. */
    static const int points[8][4] = {{0, 4, 5, 6}, {4, 1, 7, 8}, {5, 7, 2, 9}, {6, 8, 9, 3},
                                     {5, 8, 6, 4}, {5, 8, 9, 6}, {5, 8, 7, 9}, {5, 8, 4, 7}};
    vec3 place[10];
    double value[10];
    for (int i = 0; i < 4; i++) {
        place[i] = tet->corner[i];
        value[i] = tet->value[i];
    }
    for (int i = 0; i < 6; i++) {
        place[4 + i] = vec3_scale(vec3_add(place[ends[i][0]], place[ends[i][1]]), 0.5);
        value[4 + i] = signed_distance_at(solid, place[4 + i], NULL);
    }
    for (int p = 0; p < 8; p++)
        for (int i = 0; i < 4; i++) {
            part[p].corner[i] = place[points[p][i]];
            part[p].value[i] = value[points[p][i]];
        }
}

static double longest_edge(const vec3 corner[4]) {
    double longest = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < i; j++) longest = fmax(longest, vec3_distance(corner[i], corner[j]));
    return longest;
}

static void exchange_if_greater(double *a, double *b) {
    double low = fmin(*a, *b), high = fmax(*a, *b);
    *a = low;
    *b = high;
}

double fill_of_linear(const double value[4]) {
    double a = value[0], b = value[1], c = value[2], d = value[3];
    exchange_if_greater(&a, &b);
    exchange_if_greater(&c, &d);
    exchange_if_greater(&a, &c);
    exchange_if_greater(&b, &d);
    exchange_if_greater(&b, &c);
    if (a >= 0) return 0;
    if (d <= 0) return 1;
    /* One corner below zero: a small tet there. Three: all but a small tet at the fourth. Two: a wedge, cut
     * into three tets; s, t, u, v say where the edges ac, ad, bc, bd cross zero. */
    if (b >= 0) return a * a * a / ((a - b) * (a - c) * (a - d));
    if (c <= 0) return 1 - d * d * d / ((d - a) * (d - b) * (d - c));
    double s = a / (a - c), t = a / (a - d), u = b / (b - c), v = b / (b - d);
    return s * t + u * t * (1 - s) + u * v * (1 - t);
}

static double share_inside(const signed_distance *solid, const sampled_tet *tet, int depth) {
    double edge = longest_edge(tet->corner);
    for (int i = 0; i < 4; i++)
        if (fabs(tet->value[i]) >= edge) return tet->value[i] < 0 ? 1 : 0;
    if (depth == 0) return fill_of_linear(tet->value);
    sampled_tet part[8];
    cut_into_eight(solid, tet, part);
    double sum = 0;
    for (int p = 0; p < 8; p++) sum += share_inside(solid, part + p, depth - 1);
    return sum / 8;
}

double fill_of_tet(const signed_distance *solid, const vec3 corner[4]) {
    sampled_tet tet = sample(solid, corner);
    return share_inside(solid, &tet, FILL_DEPTH);
}

void fill_of_mesh(const signed_distance *solid, const thenar_tet_mesh *mesh, double *fill) {
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        fill[t] = fill_of_tet(solid, corner);
    }
}

static bool reaches(const signed_distance *solid, const sampled_tet *tet, double tolerance, int depth) {
    double edge = longest_edge(tet->corner), lowest = INFINITY, highest = -INFINITY;
    for (int i = 0; i < 4; i++) {
        lowest = fmin(lowest, tet->value[i]);
        highest = fmax(highest, tet->value[i]);
    }
    if (lowest < -tolerance) return true;
    if (depth == 0 || highest >= edge) return false;
    sampled_tet part[8];
    cut_into_eight(solid, tet, part);
    for (int p = 0; p < 8; p++)
        if (reaches(solid, part + p, tolerance, depth - 1)) return true;
    return false;
}

bool fill_reaches_tet(const signed_distance *solid, const vec3 corner[4], double tolerance) {
    sampled_tet tet = sample(solid, corner);
    return reaches(solid, &tet, tolerance, REACH_DEPTH);
}

thenar_status thenar_tet_mesh_fill(const thenar_tet_mesh *mesh, const thenar_surface *surface, double *fill,
                                   thenar_error *error) {
    surface_distance distance;
    thenar_status status = tet_mesh_validate(mesh, error);
    if (status == THENAR_OK) status = surface_distance_create(surface, &distance, error);
    if (status != THENAR_OK) return status;
    signed_distance solid = signed_distance_of_surface(&distance);
    fill_of_mesh(&solid, mesh, fill);
    surface_distance_free(&distance);
    return THENAR_OK;
}
