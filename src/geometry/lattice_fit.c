/* A staircase of tets sticks out of the solid by up to a cell. Node by node, in order, a node of the boundary moves
 * towards the nearest point of the surface: all the way, or half, a quarter, an eighth of it, whichever is the first
 * that leaves every tet around it with the requested quality and every vertex of the skin in a tet. Several sweeps
 * bring most nodes as far as they get, since each move makes room for others. */
#include "geometry/meshing.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define SWEEPS 6
#define STEPS 4
#define IMPROVE_SWEEPS 40
#define STRAY 0.35 /* largest distance of a boundary node from the surface, over the mean edge around it */
/* A vertex of the skin may lie on a face of its tet but not beyond: well within the guaranteed 1e-12. */
#define INSIDE (-1e-13)

typedef struct fitting {
    thenar_tet_mesh *mesh;
    const signed_distance *solid;
    const thenar_surface *skin;
    double quality;
    int *star_start;  /* node_count + 1: tets around node n are star[star_start[n]] up to star[star_start[n + 1] - 1] */
    int *star;        /* 4 * tet_count */
    tet_frame *frame; /* of the tets around the current node, as many as the largest star has */
    int *first;       /* by tet: a vertex of the skin in it, or -1 */
    int *next;        /* by vertex: another one in the same tet, or -1 */
    boundary boundary;
    bool *outer; /* by node: on the boundary */
} fitting;

static void fitting_free(fitting *f) {
    free(f->star_start);
    free(f->star);
    free(f->frame);
    free(f->first);
    free(f->next);
    boundary_free(&f->boundary);
    free(f->outer);
}

static void list_stars(fitting *f) {
    const thenar_tet_mesh *mesh = f->mesh;
    size_t corners = 4 * (size_t)mesh->tet_count;
    for (size_t i = 0; i < corners; i++) f->star_start[mesh->tets[i] + 1]++;
    for (int n = 0; n < mesh->node_count; n++) f->star_start[n + 1] += f->star_start[n];
    for (size_t i = corners; i-- > 0;) {
        /* Filled from the back, each start counts down from the next one's; a second pass restores them. */
        int node = mesh->tets[i];
        f->star[--f->star_start[node + 1]] = (int)(i / 4);
    }
    memmove(f->star_start, f->star_start + 1, (size_t)mesh->node_count * sizeof(int));
    f->star_start[mesh->node_count] = (int)corners;
}

static thenar_status fitting_create(fitting *f, const thenar_embedding *hold, thenar_error *error) {
    const thenar_tet_mesh *mesh = f->mesh;
    int vertices = f->skin ? f->skin->vertex_count : 0;
    f->star_start = MEMORY_ARRAY(int, (size_t)mesh->node_count + 1);
    f->star = MEMORY_ARRAY(int, 4 * (size_t)mesh->tet_count);
    f->first = MEMORY_ARRAY(int, mesh->tet_count);
    f->next = MEMORY_ARRAY(int, vertices);
    f->outer = MEMORY_ARRAY(bool, mesh->node_count);
    if (!f->star_start || !f->star || !f->first || !f->next || !f->outer)
        return error_memory(error, "fitting a lattice");
    thenar_status status = boundary_create(mesh, &f->boundary, error);
    if (status != THENAR_OK) return status;
    for (int v = 0; v < f->boundary.surface.vertex_count; v++) f->outer[f->boundary.node[v]] = true;
    list_stars(f);
    int largest = 0;
    for (int n = 0; n < mesh->node_count; n++) {
        int count = f->star_start[n + 1] - f->star_start[n];
        if (count > largest) largest = count;
    }
    f->frame = MEMORY_ARRAY(tet_frame, largest);
    if (!f->frame) return error_memory(error, "fitting a lattice");
    memset(f->first, -1, (size_t)mesh->tet_count * sizeof(int));
    if (vertices == 0) return THENAR_OK;
    thenar_embedding made = {0}, embedding = made;
    if (hold)
        embedding = *hold;
    else
        status = thenar_embedding_create(mesh, f->skin, &made, NULL, error), embedding = made;
    for (int v = 0; v < embedding.vertex_count; v++) {
        const double *w = embedding.weights + 4 * (size_t)v;
        /* A vertex outside all tets cannot be kept in one. */
        if (fmin(fmin(w[0], w[1]), fmin(w[2], w[3])) < INSIDE) continue;
        f->next[v] = f->first[embedding.tet[v]];
        f->first[embedding.tet[v]] = v;
    }
    thenar_embedding_free(&made);
    return status;
}

static void prepare_frames(fitting *f, int node) {
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++) {
        vec3 corner[4];
        tet_mesh_corners(f->mesh, f->star[i], corner);
        f->frame[i - f->star_start[node]] = tet_frame_of(corner);
    }
}

static bool holds(const fitting *f, int place, vec3 p) {
    double weights[4];
    return tet_frame_weights(&f->frame[place], p, weights) >= INSIDE;
}

/* The first tet around a node that contains a vertex of the skin, or -1. Frames as prepared. */
static int holder_of(const fitting *f, int node, int vertex) {
    vec3 p = surface_vertex(f->skin, vertex);
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++)
        if (holds(f, i - f->star_start[node], p)) return f->star[i];
    return -1;
}

static double quality_of(const fitting *f, int tet) {
    vec3 corner[4];
    tet_mesh_corners(f->mesh, tet, corner);
    return tet_radius_ratio(corner);
}

static double worst_around(const fitting *f, int node) {
    double worst = INFINITY;
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++) worst = fmin(worst, quality_of(f, f->star[i]));
    return worst;
}

/* True if every tet around the node is better than that. */
static bool improves(const fitting *f, int node, double quality) {
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++)
        if (quality_of(f, f->star[i]) <= quality) return false;
    return true;
}

/* True if the tets around the node contain the skin that they contained before it moved; then the frames are prepared.
 * Most vertices are still in their own tet, which is tried first. */
static bool keeps_skin(fitting *f, int node) {
    prepare_frames(f, node);
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++)
        for (int v = f->first[f->star[i]]; v >= 0; v = f->next[v])
            if (!holds(f, i - f->star_start[node], surface_vertex(f->skin, v)) && holder_of(f, node, v) < 0)
                return false;
    return true;
}

/* True if the tets around the node have the requested quality (or are no worse than before) and contain the skin. */
static bool is_acceptable(fitting *f, int node, double worst_before) {
    double bound = fmin(f->quality, worst_before);
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++)
        if (quality_of(f, f->star[i]) < bound) return false;
    return keeps_skin(f, node);
}

/* After a move that keeps the skin, reassigns the vertices in the tets around a node to the tets that now contain them. */
static void move_vertices(fitting *f, int node) {
    int all = -1;
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++) {
        int *first = f->first + f->star[i];
        while (*first >= 0) {
            int v = *first;
            *first = f->next[v];
            f->next[v] = all;
            all = v;
        }
    }
    while (all >= 0) {
        int v = all, tet = holder_of(f, node, v);
        all = f->next[v];
        f->next[v] = f->first[tet];
        f->first[tet] = v;
    }
}

static void move_node(fitting *f, int node) {
    double *place = f->mesh->positions + 3 * (size_t)node;
    vec3 from = vec3_load(place), normal;
    double distance = signed_distance_at(f->solid, from, &normal), share = 1;
    if (distance <= 0) return;
    double worst = worst_around(f, node);
    for (int step = 0; step < STEPS; step++, share /= 2) {
        vec3_store(place, vec3_mul_add(from, normal, -distance * share));
        if (!is_acceptable(f, node, worst)) continue;
        move_vertices(f, node);
        return;
    }
    vec3_store(place, from);
}

/* Tries positions around a node at shares of the mean edge there; the first that improves the worst tet is kept. */
static bool better_node(fitting *f, int node) {
    static const double way[14][3] = {{1, 0, 0},  {-1, 0, 0},  {0, 1, 0},   {0, -1, 0},  {0, 0, 1},
                                      {0, 0, -1}, {1, 1, 1},   {-1, 1, 1},  {1, -1, 1},  {-1, -1, 1},
                                      {1, 1, -1}, {-1, 1, -1}, {1, -1, -1}, {-1, -1, -1}};
    double *place = f->mesh->positions + 3 * (size_t)node;
    double worst = worst_around(f, node), size = 0;
    if (worst >= f->quality) return false;
    vec3 from = vec3_load(place);
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++)
        for (int k = 0; k < 4; k++)
            size += vec3_distance(from, tet_mesh_node(f->mesh, tet_mesh_tet(f->mesh, f->star[i])[k]));
    size /= 3 * (f->star_start[node + 1] - f->star_start[node]);
    bool held = f->outer[node] && f->solid;
    double here = held ? signed_distance_at(f->solid, from, NULL) : 0, min = fmin(here, 0.1 * size),
           farthest = fmax(here, STRAY * size);
    for (double step = 0.2; step > 0.004; step /= 2)
        for (int i = 0; i < 14; i++) {
            vec3 to = vec3_mul_add(from, vec3_unit(vec3_load(way[i])), step * size);
            vec3_store(place, to);
            if (!improves(f, node, worst + 1e-6) || !keeps_skin(f, node)) continue;
            double there = held ? signed_distance_at(f->solid, to, NULL) : 0;
            if (held && (there > farthest || there < min)) continue;
            move_vertices(f, node);
            return true;
        }
    vec3_store(place, from);
    return false;
}

thenar_status lattice_improve(const signed_distance *solid, const thenar_surface *skin, const thenar_embedding *hold,
                              double quality, const bool *fixed, thenar_tet_mesh *mesh, thenar_error *error) {
    fitting f = {.mesh = mesh, .solid = solid, .skin = skin, .quality = quality};
    thenar_status status = fitting_create(&f, hold, error);
    /* A node that found no better place finds none before a neighbour moves. */
    bool *settled = MEMORY_ARRAY(bool, mesh->node_count);
    if (status == THENAR_OK && !settled) status = error_memory(error, "improving tets");
    bool moved = status == THENAR_OK;
    for (int sweep = 0; sweep < IMPROVE_SWEEPS && moved; sweep++) {
        moved = false;
        for (int n = 0; n < mesh->node_count; n++) {
            if (settled[n] || (fixed && fixed[n])) continue;
            settled[n] = !better_node(&f, n);
            if (settled[n]) continue;
            moved = true;
            for (int i = f.star_start[n]; i < f.star_start[n + 1]; i++)
                for (int k = 0; k < 4; k++) settled[tet_mesh_tet(mesh, f.star[i])[k]] = false;
        }
    }
    free(settled);
    fitting_free(&f);
    return status;
}

/* To the mean of its neighbours. */
static void relax_node(fitting *f, int node) {
    double *place = f->mesh->positions + 3 * (size_t)node, worst = worst_around(f, node);
    vec3 from = vec3_load(place), sum = {0};
    int count = 0;
    for (int i = f->star_start[node]; i < f->star_start[node + 1]; i++)
        for (int k = 0; k < 4; k++) {
            int other = tet_mesh_tet(f->mesh, f->star[i])[k];
            if (other == node) continue;
            sum = vec3_add(sum, tet_mesh_node(f->mesh, other));
            count++;
        }
    vec3_store(place, vec3_scale(sum, 1.0 / count));
    if (is_acceptable(f, node, worst))
        move_vertices(f, node);
    else
        vec3_store(place, from);
}

thenar_status lattice_relax(const thenar_surface *skin, const thenar_embedding *hold, double quality,
                            thenar_tet_mesh *mesh, thenar_error *error) {
    fitting f = {.mesh = mesh, .skin = skin, .quality = quality};
    thenar_status status = fitting_create(&f, hold, error);
    for (int n = 0; n < mesh->node_count && status == THENAR_OK; n++)
        if (!f.outer[n]) relax_node(&f, n);
    fitting_free(&f);
    return status;
}

thenar_status lattice_fit(const signed_distance *solid, const thenar_surface *skin, const thenar_embedding *hold,
                          double quality, thenar_tet_mesh *mesh, thenar_error *error) {
    fitting f = {.mesh = mesh, .solid = solid, .skin = skin, .quality = quality};
    thenar_status status = fitting_create(&f, hold, error);
    for (int sweep = 0; sweep < SWEEPS && status == THENAR_OK; sweep++)
        for (int v = 0; v < f.boundary.surface.vertex_count; v++) move_node(&f, f.boundary.node[v]);
    fitting_free(&f);
    return status;
}
