#include "contact/points.h"

#include "shape/bvh.h"
#include "shape/mesh.h"
#include "shape/surface.h"

#include <stdlib.h>
#include <string.h>

/* The vertices of the surface's triangles in the order of the leaves of a tree over their rest positions: those that
 * stand together in space stand together in memory. */
static thenar_status order_vertices(contact_skin *skin, const bool *used, thenar_error *error) {
    const thenar_surface *surface = &skin->body->surface;
    box *boxes = MEMORY_ARRAY(box, surface->vertex_count);
    int *kept = MEMORY_ARRAY(int, surface->vertex_count), count = 0;
    bvh tree = {0};
    thenar_status status = boxes && kept ? THENAR_OK : error_memory(error, skin->body->base.name);
    for (int i = 0; i < surface->vertex_count && status == THENAR_OK; i++) {
        if (!used[i]) continue;
        vec3 p = surface_vertex(surface, i);
        boxes[count] = box_of(&p, 1);
        kept[count++] = i;
    }
    if (status == THENAR_OK) status = bvh_create(boxes, count, &tree, error);
    for (int i = 0; i < count && status == THENAR_OK; i++) skin->vertex[i] = kept[tree.item[i]];
    skin->vertex_count = count;
    skin->cluster_count = (count + CONTACT_CLUSTER - 1) / CONTACT_CLUSTER;
    bvh_free(&tree);
    free(boxes);
    free(kept);
    return status;
}

static thenar_status measure_areas(contact_skin *skin, thenar_error *error) {
    double *of_vertex = MEMORY_ARRAY(double, skin->body->surface.vertex_count);
    if (!of_vertex) return error_memory(error, skin->body->base.name);
    surface_vertex_areas(&skin->body->surface, of_vertex);
    for (int i = 0; i < skin->vertex_count; i++) skin->area[i] = of_vertex[skin->vertex[i]];
    free(of_vertex);
    return THENAR_OK;
}

thenar_status contact_skin_create(const soft_model *body, contact_skin *out, thenar_error *error) {
    const thenar_surface *surface = &body->surface;
    *out = (contact_skin){.body = body};
    out->vertex = MEMORY_ARRAY(int, surface->vertex_count);
    out->area = MEMORY_ARRAY(double, surface->vertex_count);
    bool *used = MEMORY_ARRAY(bool, surface->vertex_count);
    thenar_status status = out->vertex && out->area && used ? THENAR_OK : error_memory(error, body->base.name);
    for (int i = 0; i < 3 * surface->triangle_count && status == THENAR_OK; i++) used[surface->triangles[i]] = true;
    if (status == THENAR_OK) status = order_vertices(out, used, error);
    if (status == THENAR_OK) status = measure_areas(out, error);
    free(used);
    if (status != THENAR_OK) contact_skin_free(out);
    return status;
}

void contact_skin_free(contact_skin *skin) {
    free(skin->vertex);
    free(skin->area);
    *skin = (contact_skin){0};
}

void contact_skin_layout(contact_skin_state *state, const contact_skin *skin, arena *work) {
    state->skin = skin;
    state->positions = ARENA_ARRAY(work, double, 3 * (size_t)skin->vertex_count);
    state->boxes = ARENA_ARRAY(work, box, skin->cluster_count);
}

static const box nothing = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};

static int cluster_end(const contact_skin *skin, int cluster) {
    int end = (cluster + 1) * CONTACT_CLUSTER;
    return end < skin->vertex_count ? end : skin->vertex_count;
}

void contact_skin_update(contact_skin_state *state, const soft_state *body) {
    const contact_skin *skin = state->skin;
    const thenar_embedding *embedding = &skin->body->embedding;
    state->bounds = nothing;
    for (int c = 0; c < skin->cluster_count; c++) {
        box around = nothing;
        for (int i = c * CONTACT_CLUSTER; i < cluster_end(skin, c); i++) {
            const int *node = skin->body->mesh.tets + 4 * (size_t)embedding->tet[skin->vertex[i]];
            const double *weight = embedding->weights + 4 * (size_t)skin->vertex[i];
            vec3 p = {0};
            for (int k = 0; k < 4; k++) p = vec3_mul_add(p, vec3_load(body->x + 3 * (size_t)node[k]), weight[k]);
            vec3_store(state->positions + 3 * (size_t)i, p);
            around = box_join(around, (box){p, p});
        }
        state->boxes[c] = around;
        state->bounds = box_join(state->bounds, around);
    }
}

/* One rigid body, ready to be asked. */
typedef struct target {
    const rigid_state *body;
    const rigid_shape *shape;
    mat3 R;
    vec3 centre;
    box near;  /* the shape's box grown by the margin, in the body's frame */
    box world; /* around that box, in world axes */
} target;

/* The box around a turned box: its middle moved, its half sizes times |R|. Infinite boxes stay infinite. */
static box turn_box(const box *b, mat3 R, vec3 centre) {
    vec3 half = vec3_scale(vec3_sub(b->high, b->low), 0.5);
    if (!vec3_is_finite(half)) return (box){{-INFINITY, -INFINITY, -INFINITY}, {INFINITY, INFINITY, INFINITY}};
    vec3 middle = vec3_add(centre, mat3_mul_vec(R, vec3_scale(vec3_add(b->low, b->high), 0.5)));
    for (int i = 0; i < 9; i++) R.m[i] = fabs(R.m[i]);
    vec3 reach = mat3_mul_vec(R, half);
    return (box){vec3_sub(middle, reach), vec3_add(middle, reach)};
}

static target aim(const rigid_state *body, double margin) {
    target t = {.body = body, .shape = &rigid_of(body)->shape};
    t.R = quat_to_mat3(rigid_orientation(body->kept->orientation));
    t.centre = vec3_load(body->kept->position);
    t.near = box_grow(t.shape->solid.bounds, margin);
    t.world = turn_box(&t.near, t.R, t.centre);
    return t;
}

static bool holds(const box *b, vec3 p) {
    return p.x >= b->low.x && p.x <= b->high.x && p.y >= b->low.y && p.y <= b->high.y && p.z >= b->low.z &&
           p.z <= b->high.z;
}

static void describe(const contact_skin *skin, int index, contact_point *point) {
    const thenar_embedding *embedding = &skin->body->embedding;
    point->vertex = skin->vertex[index];
    point->area = skin->area[index];
    memcpy(point->node, skin->body->mesh.tets + 4 * (size_t)embedding->tet[point->vertex], sizeof point->node);
    memcpy(point->weights, embedding->weights + 4 * (size_t)point->vertex, sizeof point->weights);
}

/* What contact_points_find is filling. */
typedef struct harvest {
    contact_point *points;
    int capacity, count;
    double margin;
    int skin, rigid; /* the pair at hand */
} harvest;

static void try_vertex(harvest *out, const contact_skin_state *state, const target *t, int index) {
    vec3 p = vec3_load(state->positions + 3 * (size_t)index);
    vec3 local = mat3_mul_vec_transposed(t->R, vec3_sub(p, t->centre));
    if (!holds(&t->near, local)) return;
    rigid_closest closest = rigid_shape_closest(t->shape, local);
    if (!(closest.distance < out->margin)) return;
    if (out->count++ >= out->capacity) return;
    contact_point *point = &out->points[out->count - 1];
    *point = (contact_point){.skin = out->skin,
                             .rigid = out->rigid,
                             .position = p,
                             .normal = mat3_mul_vec(t->R, closest.normal),
                             .anchor = closest.point,
                             .gap = closest.distance};
    describe(state->skin, index, point);
}

static void try_pair(harvest *out, const contact_skin_state *state, const target *t) {
    if (!box_overlaps(&state->bounds, &t->world)) return;
    for (int c = 0; c < state->skin->cluster_count; c++) {
        if (!box_overlaps(&state->boxes[c], &t->world)) continue;
        for (int i = c * CONTACT_CLUSTER; i < cluster_end(state->skin, c); i++) try_vertex(out, state, t, i);
    }
}

int contact_points_find(const contact_skin_state *const *skins, int skin_count, const rigid_state *const *rigids,
                        int rigid_count, double margin, contact_point *points, int capacity) {
    harvest out = {.points = points, .capacity = capacity, .margin = margin};
    for (out.skin = 0; out.skin < skin_count; out.skin++)
        for (out.rigid = 0; out.rigid < rigid_count; out.rigid++) {
            if (!skins[out.skin] || !rigids[out.rigid]) continue;
            target t = aim(rigids[out.rigid], margin);
            try_pair(&out, skins[out.skin], &t);
        }
    return out.count;
}
