#include "shape/mass.h"

#include "shape/mesh.h"

/* Moments about a point of the mesh itself: far from the origin, sums about the origin would cancel. */
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

mass_properties mass_of_filled_tets(const thenar_tet_mesh *mesh, const double *fill, double density) {
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

mass_properties mass_of_tets(const thenar_tet_mesh *mesh, double density) {
    return mass_of_filled_tets(mesh, NULL, density);
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
