#include "shape/surface.h"

#include "base/memory.h"
#include "shape/mass.h"
#include "shape/mesh.h"
#include "shape/mesh_check.h"

#include <stdlib.h>
#include <string.h>

static int compare_half_edges(const void *a, const void *b) {
    const half_edge *p = a, *q = b;
    if (p->low != q->low) return p->low < q->low ? -1 : 1;
    if (p->high != q->high) return p->high < q->high ? -1 : 1;
    if (p->triangle != q->triangle) return p->triangle < q->triangle ? -1 : 1;
    return p->corner - q->corner;
}

thenar_status surface_half_edges(const thenar_surface *surface, half_edge **out, thenar_error *error) {
    size_t count = 3 * (size_t)surface->triangle_count;
    half_edge *side = MEMORY_ARRAY(half_edge, count);
    if (!side) return error_memory(error, "edges of a surface");
    for (size_t i = 0; i < count; i++) {
        int corner = (int)(i % 3), from = surface->triangles[i];
        int to = surface->triangles[corner == 2 ? i - 2 : i + 1];
        side[i] = (half_edge){from < to ? from : to, from < to ? to : from, (int)(i / 3), corner};
    }
    qsort(side, count, sizeof *side, compare_half_edges);
    *out = side;
    return THENAR_OK;
}

size_t half_edge_run(const half_edge *side, size_t first, size_t count) {
    size_t end = first + 1;
    while (end < count && side[end].low == side[first].low && side[end].high == side[first].high) end++;
    return end;
}

thenar_status surface_neighbours(const thenar_surface *surface, int **out, thenar_error *error) {
    *out = NULL;
    size_t count = 3 * (size_t)surface->triangle_count;
    half_edge *side;
    thenar_status status = surface_half_edges(surface, &side, error);
    if (status != THENAR_OK) return status;
    int *neighbour = MEMORY_ARRAY(int, count);
    if (!neighbour) {
        free(side);
        return error_memory(error, "neighbours of triangles");
    }
    memset(neighbour, -1, count * sizeof *neighbour);
    for (size_t first = 0, end; first < count; first = end) {
        end = half_edge_run(side, first, count);
        if (end - first != 2) continue;
        neighbour[3 * side[first].triangle + side[first].corner] = side[first + 1].triangle;
        neighbour[3 * side[first + 1].triangle + side[first + 1].corner] = side[first].triangle;
    }
    free(side);
    *out = neighbour;
    return THENAR_OK;
}

typedef struct placed_vertex {
    vec3 position;
    int vertex;
} placed_vertex;

static int compare_places(const void *a, const void *b) {
    const placed_vertex *p = a, *q = b;
    if (p->position.x != q->position.x) return p->position.x < q->position.x ? -1 : 1;
    if (p->position.y != q->position.y) return p->position.y < q->position.y ? -1 : 1;
    if (p->position.z != q->position.z) return p->position.z < q->position.z ? -1 : 1;
    return p->vertex < q->vertex ? -1 : p->vertex > q->vertex;
}

static bool same_place(vec3 a, vec3 b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

int *surface_first_at_place(const thenar_surface *surface) {
    placed_vertex *place = MEMORY_ARRAY(placed_vertex, surface->vertex_count);
    int *first = MEMORY_ARRAY(int, surface->vertex_count);
    if (place && first) {
        for (int v = 0; v < surface->vertex_count; v++) place[v] = (placed_vertex){surface_vertex(surface, v), v};
        qsort(place, (size_t)surface->vertex_count, sizeof *place, compare_places);
        for (int i = 0, start = 0; i < surface->vertex_count; i++) {
            if (!same_place(place[i].position, place[start].position)) start = i;
            first[place[i].vertex] = place[start].vertex;
        }
    } else {
        free(first);
        first = NULL;
    }
    free(place);
    return first;
}

thenar_status surface_weld(const thenar_surface *surface, thenar_surface *out, thenar_error *error) {
    thenar_status status = surface_create(surface->vertex_count, surface->triangle_count, out, error);
    if (status != THENAR_OK) return status;
    int *first = surface_first_at_place(surface);
    if (!first) {
        thenar_surface_free(out);
        return error_memory(error, "welding a surface");
    }
    memcpy(out->positions, surface->positions, 3 * (size_t)surface->vertex_count * sizeof(double));
    int kept = 0;
    for (int t = 0; t < surface->triangle_count; t++) {
        const int *corner = surface_triangle(surface, t);
        int a = first[corner[0]], b = first[corner[1]], c = first[corner[2]];
        if (a == b || b == c || c == a) continue;
        int *target = out->triangles + 3 * (size_t)kept++;
        target[0] = a, target[1] = b, target[2] = c;
    }
    out->triangle_count = kept;
    free(first);
    return THENAR_OK;
}

static thenar_status check_edge(const thenar_surface *surface, const half_edge *side, size_t sides,
                                thenar_error *error) {
    vec3 a = surface_vertex(surface, side->low), b = surface_vertex(surface, side->high);
    if (sides != 2)
        return error_set(
            error, THENAR_ERROR_INPUT,
            "the edge between vertices %d (%g %g %g) and %d (%g %g %g) belongs to %zu triangle%s; expected "
            "a closed surface, with two triangles at each edge",
            side->low, a.x, a.y, a.z, side->high, b.x, b.y, b.z, sides, sides == 1 ? "" : "s");
    bool first_up = surface_triangle(surface, side[0].triangle)[side[0].corner] == side->low;
    bool second_up = surface_triangle(surface, side[1].triangle)[side[1].corner] == side->low;
    if (first_up == second_up)
        return error_set(error, THENAR_ERROR_INPUT,
                         "the triangles at the edge between vertices %d (%g %g %g) and %d (%g %g %g) disagree on which "
                         "side is outside; expected all counter-clockwise seen from outside",
                         side->low, a.x, a.y, a.z, side->high, b.x, b.y, b.z);
    return THENAR_OK;
}

thenar_status surface_check_closed(const thenar_surface *surface, thenar_error *error) {
    if (surface->triangle_count == 0)
        return error_set(error, THENAR_ERROR_INPUT, "the surface has no triangles; expected a closed surface");
    half_edge *side;
    thenar_status status = surface_half_edges(surface, &side, error);
    if (status != THENAR_OK) return status;
    size_t count = 3 * (size_t)surface->triangle_count;
    for (size_t first = 0, end; first < count && status == THENAR_OK; first = end) {
        end = half_edge_run(side, first, count);
        status = check_edge(surface, side + first, end - first, error);
    }
    free(side);
    double volume = mass_of_surface(surface, 1).mass;
    if (status == THENAR_OK && !(volume > 0))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the surface encloses a volume of %g; expected a positive one, with triangles "
                         "counter-clockwise seen from outside",
                         volume);
    return status;
}

thenar_status thenar_surface_check(const thenar_surface *surface, thenar_error *error) {
    thenar_surface welded;
    thenar_status status = surface_validate(surface, error);
    if (status == THENAR_OK) status = surface_weld(surface, &welded, error);
    if (status != THENAR_OK) return status;
    status = surface_check_closed(&welded, error);
    thenar_surface_free(&welded);
    return status;
}

vec3 surface_area_vector(const thenar_surface *surface, int triangle) {
    vec3 corner[3];
    surface_corners(surface, triangle, corner);
    return vec3_scale(vec3_cross(vec3_sub(corner[1], corner[0]), vec3_sub(corner[2], corner[0])), 0.5);
}

double surface_corner_angle(const thenar_surface *surface, int triangle, int corner) {
    vec3 at[3];
    surface_corners(surface, triangle, at);
    vec3 a = vec3_sub(at[(corner + 1) % 3], at[corner]), b = vec3_sub(at[(corner + 2) % 3], at[corner]);
    return atan2(vec3_length(vec3_cross(a, b)), vec3_dot(a, b));
}

void surface_vertex_normals(const thenar_surface *surface, vec3 *normal) {
    memset(normal, 0, (size_t)surface->vertex_count * sizeof *normal);
    for (int t = 0; t < surface->triangle_count; t++) {
        vec3 direction = vec3_unit(surface_area_vector(surface, t));
        for (int k = 0; k < 3; k++) {
            vec3 *sum = normal + surface_triangle(surface, t)[k];
            *sum = vec3_mul_add(*sum, direction, surface_corner_angle(surface, t, k));
        }
    }
    for (int v = 0; v < surface->vertex_count; v++) normal[v] = vec3_unit(normal[v]);
}

void surface_vertex_areas(const thenar_surface *surface, double *area) {
    memset(area, 0, (size_t)surface->vertex_count * sizeof *area);
    for (int t = 0; t < surface->triangle_count; t++) {
        double third = vec3_length(surface_area_vector(surface, t)) / 3;
        for (int k = 0; k < 3; k++) area[surface_triangle(surface, t)[k]] += third;
    }
}
