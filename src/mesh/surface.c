#include "mesh/mesh.h"

#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

static half_edge half_edge_at(const thenar_surface *surface, size_t i) {
    int corner = (int)(i % 3), from = surface->triangles[i], to = surface->triangles[corner == 2 ? i - 2 : i + 1];
    return (half_edge){from < to ? from : to, from < to ? to : from, (int)(i / 3), corner};
}

static int compare_half_edges(const void *a, const void *b) {
    const half_edge *p = a, *q = b;
    if (p->high != q->high) return p->high < q->high ? -1 : 1;
    if (p->triangle != q->triangle) return p->triangle < q->triangle ? -1 : 1;
    return p->corner - q->corner;
}

#define FEW 32

/* Sorts the sides of one lower vertex, given in the order of triangles and corners. */
static void sort_sides(half_edge *side, size_t count) {
    if (count > FEW) {
        qsort(side, count, sizeof *side, compare_half_edges);
        return;
    }
    for (size_t i = 1; i < count; i++) {
        half_edge h = side[i];
        size_t k = i;
        for (; k > 0 && side[k - 1].high > h.high; k--) side[k] = side[k - 1];
        side[k] = h;
    }
}

/* By the lower vertex, which is a matter of counting, then by the higher one, the triangle and the corner. */
thenar_status surface_half_edges(const thenar_surface *surface, half_edge **out, thenar_error *error) {
    size_t count = 3 * (size_t)surface->triangle_count;
    half_edge *side = MEMORY_ARRAY(half_edge, count);
    size_t *end = MEMORY_ARRAY(size_t, (size_t)surface->vertex_count + 1); /* of each vertex */
    if (!side || !end) {
        free(side);
        free(end);
        return error_memory(error, "edges of a surface");
    }
    for (size_t i = 0; i < count; i++) end[half_edge_at(surface, i).low + 1]++;
    for (int v = 0; v < surface->vertex_count; v++) end[v + 1] += end[v];
    for (size_t i = 0; i < count; i++) {
        half_edge h = half_edge_at(surface, i);
        side[end[h.low]++] = h;
    }
    for (int v = 0; v < surface->vertex_count; v++) {
        size_t first = v > 0 ? end[v - 1] : 0;
        sort_sides(side + first, end[v] - first);
    }
    free(end);
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
    USAGE_STATUS(surface, error, "a pointer is NULL");
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

typedef struct tet_face {
    int node[3]; /* ascending */
    int tet, face;
} tet_face;

static int compare_faces(const void *a, const void *b) {
    const tet_face *p = a, *q = b;
    for (int i = 0; i < 3; i++)
        if (p->node[i] != q->node[i]) return p->node[i] < q->node[i] ? -1 : 1;
    if (p->tet != q->tet) return p->tet < q->tet ? -1 : 1;
    return p->face - q->face;
}

static void exchange_if_greater(int *a, int *b) {
    if (*a <= *b) return;
    int kept = *a;
    *a = *b;
    *b = kept;
}

static tet_face face_of(const thenar_tet_mesh *mesh, int tet, int face) {
    const int *node = tet_mesh_tet(mesh, tet), *corner = tet_face_corners[face];
    tet_face f = {{node[corner[0]], node[corner[1]], node[corner[2]]}, tet, face};
    exchange_if_greater(&f.node[0], &f.node[1]);
    exchange_if_greater(&f.node[1], &f.node[2]);
    exchange_if_greater(&f.node[0], &f.node[1]);
    return f;
}

static bool same_face(const tet_face *a, const tet_face *b) {
    return a->node[0] == b->node[0] && a->node[1] == b->node[1] && a->node[2] == b->node[2];
}

/* neighbour[4 * t + i]: the tet across the face of t opposite to its corner i, or -1 at the boundary. free() it. A
 * face shared by three or more tets is an input error. */
static thenar_status tet_mesh_neighbours(const thenar_tet_mesh *mesh, int **out, thenar_error *error) {
    *out = NULL;
    size_t count = 4 * (size_t)mesh->tet_count;
    tet_face *face = MEMORY_ARRAY(tet_face, count);
    int *neighbour = MEMORY_ARRAY(int, count);
    if (!face || !neighbour) {
        free(face);
        free(neighbour);
        return error_memory(error, "faces of a tet mesh");
    }
    for (size_t i = 0; i < count; i++) face[i] = face_of(mesh, (int)(i / 4), (int)(i % 4));
    qsort(face, count, sizeof *face, compare_faces);
    memset(neighbour, -1, count * sizeof *neighbour);
    thenar_status status = THENAR_OK;
    for (size_t i = 0; i + 1 < count && status == THENAR_OK; i++) {
        if (!same_face(&face[i], &face[i + 1])) continue;
        if (i + 2 < count && same_face(&face[i], &face[i + 2]))
            status = error_set(error, THENAR_ERROR_INPUT,
                               "the face with nodes %d, %d and %d belongs to tets %d, %d and %d; expected at most two",
                               face[i].node[0], face[i].node[1], face[i].node[2], face[i].tet, face[i + 1].tet,
                               face[i + 2].tet);
        neighbour[4 * face[i].tet + face[i].face] = face[i + 1].tet;
        neighbour[4 * face[i + 1].tet + face[i + 1].face] = face[i].tet;
    }
    free(face);
    if (status != THENAR_OK) {
        free(neighbour);
        return status;
    }
    *out = neighbour;
    return THENAR_OK;
}

/* Renumbers the vertices that the boundary's triangles use (as node numbers). */
static thenar_status number_vertices(const thenar_tet_mesh *mesh, boundary *b, thenar_error *error) {
    int *number = MEMORY_ARRAY(int, mesh->node_count);
    if (!number) return error_memory(error, "boundary");
    size_t corners = 3 * (size_t)b->surface.triangle_count;
    for (size_t i = 0; i < corners; i++) number[b->surface.triangles[i]] = 1;
    int count = 0;
    for (int n = 0; n < mesh->node_count; n++) number[n] = number[n] ? count++ : -1;
    b->surface.vertex_count = count;
    b->surface.positions = MEMORY_ARRAY(double, 3 * (size_t)count);
    b->node = MEMORY_ARRAY(int, count);
    bool enough = b->surface.positions && b->node;
    for (int n = 0; n < mesh->node_count && enough; n++) {
        if (number[n] < 0) continue;
        b->node[number[n]] = n;
        vec3_store(b->surface.positions + 3 * (size_t)number[n], tet_mesh_node(mesh, n));
    }
    for (size_t i = 0; i < corners; i++) b->surface.triangles[i] = number[b->surface.triangles[i]];
    free(number);
    return enough ? THENAR_OK : error_memory(error, "boundary");
}

static thenar_status collect_triangles(const thenar_tet_mesh *mesh, const int *neighbour, boundary *b,
                                       thenar_error *error) {
    size_t sides = 4 * (size_t)mesh->tet_count;
    int count = 0;
    for (size_t i = 0; i < sides; i++) count += neighbour[i] < 0;
    b->surface.triangle_count = count;
    b->surface.triangles = MEMORY_ARRAY(int, 3 * (size_t)count);
    b->tet = MEMORY_ARRAY(int, count);
    b->face = MEMORY_ARRAY(int, count);
    if (!b->surface.triangles || !b->tet || !b->face) return error_memory(error, "boundary");
    int t = 0;
    for (size_t i = 0; i < sides; i++) {
        if (neighbour[i] >= 0) continue;
        b->tet[t] = (int)(i / 4);
        b->face[t] = (int)(i % 4);
        for (int k = 0; k < 3; k++)
            b->surface.triangles[3 * (size_t)t + (size_t)k] =
                tet_mesh_tet(mesh, b->tet[t])[tet_face_corners[b->face[t]][k]];
        t++;
    }
    return THENAR_OK;
}

thenar_status boundary_create(const thenar_tet_mesh *mesh, boundary *out, thenar_error *error) {
    *out = (boundary){0};
    int *neighbour;
    thenar_status status = tet_mesh_neighbours(mesh, &neighbour, error);
    if (status != THENAR_OK) return status;
    status = collect_triangles(mesh, neighbour, out, error);
    if (status == THENAR_OK) status = number_vertices(mesh, out, error);
    free(neighbour);
    if (status != THENAR_OK) boundary_free(out);
    return status;
}

void boundary_free(boundary *b) {
    thenar_surface_free(&b->surface);
    free(b->node);
    free(b->tet);
    free(b->face);
    *b = (boundary){0};
}

static thenar_status embed_in_corners(const thenar_tet_mesh *mesh, const boundary *b, thenar_embedding *out,
                                      thenar_error *error) {
    thenar_status status = embedding_create(b->surface.vertex_count, out, error);
    if (status != THENAR_OK) return status;
    for (int t = b->surface.triangle_count - 1; t >= 0; t--)
        for (int k = 0; k < 3; k++) {
            int vertex = surface_triangle(&b->surface, t)[k];
            out->tet[vertex] = b->tet[t];
        }
    for (int v = 0; v < out->vertex_count; v++)
        for (int i = 0; i < 4; i++) out->weights[4 * v + i] = tet_mesh_tet(mesh, out->tet[v])[i] == b->node[v];
    return THENAR_OK;
}

thenar_status thenar_tet_mesh_surface(const thenar_tet_mesh *mesh, thenar_surface *surface, thenar_embedding *embedding,
                                      thenar_error *error) {
    USAGE_STATUS(mesh && surface, error, "a pointer is NULL");
    *surface = (thenar_surface){0};
    if (embedding) *embedding = (thenar_embedding){0};
    boundary b;
    thenar_status status = tet_mesh_validate(mesh, error);
    if (status == THENAR_OK) status = boundary_create(mesh, &b, error);
    if (status != THENAR_OK) return status;
    if (embedding) status = embed_in_corners(mesh, &b, embedding, error);
    if (status == THENAR_OK) {
        *surface = b.surface;
        b.surface = (thenar_surface){0};
    }
    boundary_free(&b);
    return status;
}

/* Labels all tets that can be reached from tet `start` through faces. */
static void number_part(const int *neighbour, int start, int number, int *part, int *stack) {
    int depth = 0;
    stack[depth++] = start;
    part[start] = number;
    while (depth > 0) {
        int tet = stack[--depth];
        for (int i = 0; i < 4; i++) {
            int next = neighbour[4 * tet + i];
            if (next < 0 || part[next] >= 0) continue;
            part[next] = number;
            stack[depth++] = next;
        }
    }
}

thenar_status tet_mesh_parts(const thenar_tet_mesh *mesh, int **out, int *part_count, thenar_error *error) {
    *out = NULL;
    *part_count = 0;
    int *neighbour;
    thenar_status status = tet_mesh_neighbours(mesh, &neighbour, error);
    if (status != THENAR_OK) return status;
    int *part = MEMORY_ARRAY(int, mesh->tet_count), *stack = MEMORY_ARRAY(int, mesh->tet_count);
    if (part && stack) {
        memset(part, -1, (size_t)mesh->tet_count * sizeof *part);
        for (int t = 0; t < mesh->tet_count; t++)
            if (part[t] < 0) number_part(neighbour, t, (*part_count)++, part, stack);
        *out = part;
    } else {
        free(part);
        status = error_memory(error, "parts of a tet mesh");
    }
    free(stack);
    free(neighbour);
    return status;
}

typedef struct node_pair {
    int low, high;
} node_pair;

static int compare_pairs(const void *a, const void *b) {
    const node_pair *p = a, *q = b;
    if (p->low != q->low) return p->low < q->low ? -1 : 1;
    return p->high < q->high ? -1 : p->high > q->high;
}

thenar_status tet_mesh_edges(const thenar_tet_mesh *mesh, int **out, int *count, thenar_error *error) {
    static const int ends[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
    *out = NULL;
    *count = 0;
    size_t all = 6 * (size_t)mesh->tet_count, unique = 0;
    node_pair *pair = MEMORY_ARRAY(node_pair, all);
    if (!pair) return error_memory(error, "edges of a tet mesh");
    for (size_t i = 0; i < all; i++) {
        const int *node = tet_mesh_tet(mesh, (int)(i / 6));
        pair[i] = (node_pair){node[ends[i % 6][0]], node[ends[i % 6][1]]};
        exchange_if_greater(&pair[i].low, &pair[i].high);
    }
    qsort(pair, all, sizeof *pair, compare_pairs);
    for (size_t i = 0; i < all; i++)
        if (i == 0 || compare_pairs(&pair[i], &pair[i - 1]) != 0) pair[unique++] = pair[i];
    int *edges = MEMORY_ARRAY(int, 2 * unique);
    if (edges) memcpy(edges, pair, unique * sizeof *pair);
    free(pair);
    if (!edges) return error_memory(error, "edges of a tet mesh");
    *out = edges;
    *count = (int)unique;
    return THENAR_OK;
}
