#include "mesh/mesh.h"

#include <stdlib.h>

/* Moments about a point of the mesh itself, since sums about a distant origin would cancel. */
typedef struct moments {
    double volume;
    vec3 first;
    mat3 second;
} moments;

static void add_tet(moments *sum, const vec3 corner[4], double factor) {
    double volume = factor * tet_volume(corner);
    vec3 total = {0, 0, 0};
    mat3 outer = {{0}};
    for (int i = 0; i < 4; i++) {
        total = vec3_add(total, corner[i]);
        outer = mat3_add(outer, mat3_outer(corner[i], corner[i]));
    }
    outer = mat3_add(outer, mat3_outer(total, total));
    sum->volume += volume;
    sum->first = vec3_mul_add(sum->first, total, volume / 4);
    sum->second = mat3_add(sum->second, mat3_scale(outer, volume / 20));
}

static mass_properties properties_of(const moments *sum, vec3 reference, double density) {
    mass_properties result = {.mass = density * sum->volume, .centre = reference};
    if (sum->volume == 0) return result;
    vec3 offset = vec3_scale(sum->first, 1 / sum->volume);
    mat3 central = mat3_add(sum->second, mat3_scale(mat3_outer(offset, offset), -sum->volume));
    result.centre = vec3_add(reference, offset);
    mat3 spherical = mat3_scale(mat3_identity(), mat3_trace(central));
    result.inertia = mat3_scale(mat3_add(spherical, mat3_scale(central, -1)), density);
    return result;
}

mass_properties mass_of_tets(const thenar_tet_mesh *mesh, const double *fill, double density) {
    moments sum = {0};
    vec3 reference = mesh->node_count > 0 ? tet_mesh_node(mesh, 0) : vec3_make(0, 0, 0);
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        for (int i = 0; i < 4; i++) corner[i] = vec3_sub(corner[i], reference);
        add_tet(&sum, corner, fill ? fill[t] : 1);
    }
    return properties_of(&sum, reference, density);
}

mass_properties mass_of_surface(const thenar_surface *surface, double density) {
    moments sum = {0};
    vec3 reference = surface->vertex_count > 0 ? surface_vertex(surface, 0) : vec3_make(0, 0, 0);
    for (int t = 0; t < surface->triangle_count; t++) {
        vec3 corner[4] = {{0, 0, 0}};
        surface_corners(surface, t, corner + 1);
        for (int i = 1; i < 4; i++) corner[i] = vec3_sub(corner[i], reference);
        add_tet(&sum, corner, 1);
    }
    return properties_of(&sum, reference, density);
}

/* Inscribed radius r = 3 V / (sum of the face areas). Circumscribed radius R of a tet with edge vectors a, b,
 * c from one corner: |a|^2 (b x c) + |b|^2 (c x a) + |c|^2 (a x b) = 12 V R n, n a unit vector. */

#define FLAT 1e-9 /* volume over longest edge cubed */

static const double degrees = 180 / 3.14159265358979323846;
static const int edge_ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};

static vec3 face_normal(const vec3 corner[4], int face) {
    const int *c = tet_face_corners[face];
    return vec3_cross(vec3_sub(corner[c[1]], corner[c[0]]), vec3_sub(corner[c[2]], corner[c[0]]));
}

double tet_radius_ratio(const vec3 corner[4]) {
    vec3 a = vec3_sub(corner[1], corner[0]), b = vec3_sub(corner[2], corner[0]), c = vec3_sub(corner[3], corner[0]);
    double volume = tet_volume(corner), area = 0;
    for (int i = 0; i < 4; i++) area += vec3_length(face_normal(corner, i)) / 2;
    vec3 sum = vec3_scale(vec3_cross(b, c), vec3_dot(a, a));
    sum = vec3_mul_add(sum, vec3_cross(c, a), vec3_dot(b, b));
    sum = vec3_mul_add(sum, vec3_cross(a, b), vec3_dot(c, c));
    double denominator = area * vec3_length(sum);
    return denominator > 0 ? 108 * volume * fabs(volume) / denominator : 0;
}

void tet_dihedral_angles(const vec3 corner[4], double angle[6]) {
    vec3 normal[4];
    for (int i = 0; i < 4; i++) normal[i] = face_normal(corner, i);
    for (int e = 0; e < 6; e++) {
        /* The faces at an edge are those opposite to the two other corners. */
        vec3 p = normal[edge_ends[5 - e][0]], q = normal[edge_ends[5 - e][1]];
        angle[e] = atan2(vec3_length(vec3_cross(p, q)), -vec3_dot(p, q));
    }
}

static void quality_add_tet(const vec3 corner[4], int tet, thenar_tet_figures *f) {
    double shortest = INFINITY, longest = 0, angle[6], volume = tet_volume(corner);
    tet_dihedral_angles(corner, angle);
    for (int e = 0; e < 6; e++) {
        double length = vec3_distance(corner[edge_ends[e][0]], corner[edge_ends[e][1]]);
        shortest = fmin(shortest, length);
        longest = fmax(longest, length);
        f->dihedral_min = fmin(f->dihedral_min, angle[e] * degrees);
        f->dihedral_max = fmax(f->dihedral_max, angle[e] * degrees);
    }
    double ratio = tet_radius_ratio(corner), edge_ratio = longest / shortest;
    bool is_flat = !(fabs(volume) > FLAT * longest * longest * longest);
    f->volume += volume;
    f->flat += is_flat;
    f->inverted += !is_flat && volume < 0;
    f->edge_ratio_max = fmax(f->edge_ratio_max, edge_ratio);
    f->edge_ratio_mean += edge_ratio;
    f->radius_ratio_mean += ratio;
    if (f->worst < 0 || ratio < f->radius_ratio_min) {
        f->radius_ratio_min = ratio;
        f->worst = tet;
    }
}

static thenar_status measure_edges(const thenar_tet_mesh *mesh, thenar_tet_figures *f, thenar_error *error) {
    int *edges, count;
    thenar_status status = tet_mesh_edges(mesh, &edges, &count, error);
    if (status != THENAR_OK) return status;
    f->edge_min = INFINITY;
    for (int e = 0; e < count; e++) {
        double length = vec3_distance(tet_mesh_node(mesh, edges[2 * e]), tet_mesh_node(mesh, edges[2 * e + 1]));
        f->edge_min = fmin(f->edge_min, length);
        f->edge_max = fmax(f->edge_max, length);
        f->edge_mean += length / count;
    }
    free(edges);
    return THENAR_OK;
}

thenar_status thenar_tet_mesh_quality(const thenar_tet_mesh *mesh, thenar_tet_figures *figures, thenar_error *error) {
    USAGE_STATUS(mesh && figures, error, "a pointer is NULL");
    thenar_tet_figures f = {.nodes = mesh->node_count, .tets = mesh->tet_count, .worst = -1};
    *figures = f;
    thenar_status status = tet_mesh_validate(mesh, error);
    if (status != THENAR_OK || mesh->tet_count == 0) return status;
    int *part;
    status = tet_mesh_parts(mesh, &part, &f.parts, error);
    if (status == THENAR_OK) status = measure_edges(mesh, &f, error);
    free(part);
    if (status != THENAR_OK) return status;
    f.dihedral_min = INFINITY;
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        quality_add_tet(corner, t, &f);
    }
    f.edge_ratio_mean /= mesh->tet_count;
    f.radius_ratio_mean /= mesh->tet_count;
    *figures = f;
    return THENAR_OK;
}

static void measure_sides(const thenar_surface *surface, const half_edge *side, thenar_surface_figures *f) {
    size_t count = 3 * (size_t)surface->triangle_count;
    int edges = 0;
    f->edge_min = INFINITY;
    for (size_t first = 0; first < count; first = half_edge_run(side, first, count)) {
        double length =
            vec3_distance(surface_vertex(surface, side[first].low), surface_vertex(surface, side[first].high));
        f->edge_min = fmin(f->edge_min, length);
        f->edge_max = fmax(f->edge_max, length);
        f->edge_mean += length;
        edges++;
    }
    f->edge_mean /= edges;
}

thenar_status thenar_surface_quality(const thenar_surface *surface, thenar_surface_figures *figures,
                                     thenar_error *error) {
    USAGE_STATUS(surface && figures, error, "a pointer is NULL");
    thenar_surface_figures f = {.vertices = surface->vertex_count, .triangles = surface->triangle_count};
    *figures = f;
    thenar_status status = surface_validate(surface, error);
    if (status != THENAR_OK || surface->triangle_count == 0) return status;
    half_edge *side;
    status = surface_half_edges(surface, &side, error);
    if (status != THENAR_OK) return status;
    measure_sides(surface, side, &f);
    free(side);
    status = thenar_surface_check(surface, NULL);
    if (status == THENAR_ERROR_MEMORY) return error_memory(error, "surface check");
    f.closed = status == THENAR_OK;
    f.volume = mass_of_surface(surface, 1).mass;
    f.angle_min = 180;
    for (int t = 0; t < surface->triangle_count; t++) {
        f.area += vec3_length(surface_area_vector(surface, t));
        for (int k = 0; k < 3; k++) f.angle_min = fmin(f.angle_min, surface_corner_angle(surface, t, k) * degrees);
    }
    *figures = f;
    return THENAR_OK;
}
