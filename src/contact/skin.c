/* The points of a body that touch others: balls of primitives, vertices of meshes and soft surfaces (find.h). */
#include "contact/find.h"

#include "geometry/distance.h"
#include "geometry/meshing.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

/* Positions from -half to half along an axis: both ends, the middle of a long side, one for a side of length 0. */
static int stations(double half, double place[3]) {
    int count = 0;
    if (half > 0) place[count++] = -half;
    if (half == 0 || 2 * half > CONTACT_LONG_SIDE) place[count++] = 0;
    if (half > 0) place[count++] = half;
    return count;
}

static int capsule_balls(const capsule_shape *capsule, vec3 *centre) {
    vec3 axis = vec3_sub(capsule->b, capsule->a);
    double spaces = ceil(vec3_length(axis) / capsule->radius);
    int count = (int)fmin(spaces, CONTACT_CAPSULE - 1) + 1;
    for (int i = 0; i < count; i++) centre[i] = vec3_mul_add(capsule->a, axis, (double)i / (count - 1));
    return count;
}

/* A grid of up to 3 x 3 x 3 balls, without the centre of the box. */
static int box_balls(const box_shape *shape, vec3 *centre) {
    double x[3], y[3], z[3];
    int nx = stations(shape->half.x, x), ny = stations(shape->half.y, y), nz = stations(shape->half.z, z), count = 0;
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++)
            for (int k = 0; k < nz; k++) {
                bool inside = nx == 3 && ny == 3 && nz == 3 && i == 1 && j == 1 && k == 1;
                if (!inside) centre[count++] = vec3_add(shape->centre, vec3_make(x[i], y[j], z[k]));
            }
    return count;
}

static int cylinder_balls(const cylinder_shape *cylinder, vec3 *centre) {
    double y[3], r = cylinder->core_radius;
    int rims = stations(cylinder->half_length, y), count = 0;
    for (int i = 0; i < rims; i++) {
        for (int k = 0; k < CONTACT_RIM && r > 0; k++) {
            double angle = 2 * pi * k / CONTACT_RIM;
            centre[count++] = vec3_add(cylinder->centre, vec3_make(r * cos(angle), y[i], r * sin(angle)));
        }
        bool at_end = fabs(y[i]) == cylinder->half_length;
        if (r == 0 || (at_end && 2 * r > CONTACT_LONG_SIDE))
            centre[count++] = vec3_add(cylinder->centre, vec3_make(0, y[i], 0));
    }
    return count;
}

int contact_balls(const rigid_shape *shape, vec3 centre[CONTACT_BALLS_MAX], double *radius) {
    assert(shape->kind != THENAR_SHAPE_PLANE && shape->kind != THENAR_SHAPE_MESH);
    switch (shape->kind) {
    case THENAR_SHAPE_SPHERE:
        centre[0] = shape->sphere.centre;
        *radius = shape->sphere.radius;
        return 1;
    case THENAR_SHAPE_CAPSULE:
        *radius = shape->capsule.radius;
        return capsule_balls(&shape->capsule, centre);
    case THENAR_SHAPE_BOX:
        *radius = shape->box.radius;
        return box_balls(&shape->box, centre);
    case THENAR_SHAPE_CYLINDER:
        *radius = shape->cylinder.radius;
        return cylinder_balls(&shape->cylinder, centre);
    case THENAR_SHAPE_PLANE:
    case THENAR_SHAPE_MESH:
        break;
    }
    return 0;
}

#define CLOSENESS 0.2 /* of the spacing: maximum distance of a dropped vertex from the coarser surface */

static bool is_soft(const body_model *body) {
    return body->kind == &soft_class;
}

static const rigid_shape *shape_of(const body_model *body) {
    return &((const rigid_model *)body)->shape;
}

static thenar_status no_memory(const contact_skin *skin, thenar_error *error) {
    return error_memory(error, skin->body->name);
}

/* Orders points by the leaves of a tree, so that neighbours in space are neighbours in memory. order[i]: index of
 * the point at place i. */
static thenar_status order_points(contact_skin *skin, const vec3 *place, int count, int *order, thenar_error *error) {
    skin->point_count = count;
    skin->cluster_count = (count + CONTACT_CLUSTER - 1) / CONTACT_CLUSTER;
    box *boxes = MEMORY_ARRAY(box, count);
    if (!boxes) return no_memory(skin, error);
    for (int i = 0; i < count; i++) boxes[i] = box_of(&place[i], 1);
    bvh tree = {0};
    thenar_status status = bvh_create(boxes, count, &tree, error);
    if (status == THENAR_OK && count > 0) memcpy(order, tree.item, (size_t)count * sizeof *order);
    bvh_free(&tree);
    free(boxes);
    return status;
}

static thenar_status create_of_primitive(contact_skin *skin, thenar_error *error) {
    vec3 centre[CONTACT_BALLS_MAX];
    int order[CONTACT_BALLS_MAX], count = contact_balls(shape_of(skin->body), centre, &skin->radius);
    thenar_status status = order_points(skin, centre, count, order, error);
    if (status != THENAR_OK) return status;
    skin->centres = MEMORY_ARRAY(vec3, count);
    if (!skin->centres) return no_memory(skin, error);
    for (int i = 0; i < count; i++) skin->centres[i] = centre[order[i]];
    return THENAR_OK;
}

/* The coarser triangles for a contact spacing, as vertices. */
static thenar_status take_coarse_triangles(contact_skin *skin, const thenar_surface *surface, const double *spacing,
                                           thenar_error *error) {
    simple_surface coarse;
    thenar_status status = surface_simplify(surface, spacing, NULL, CLOSENESS, &coarse, error);
    if (status != THENAR_OK) return status;
    skin->triangle_count = coarse.triangle_count;
    skin->triangles = coarse.triangles;
    coarse.triangles = NULL;
    simple_surface_free(&coarse);
    return THENAR_OK;
}

/* The triangles of the surface, as vertices; `first`: replaces each vertex, NULL for itself. */
static thenar_status take_triangles(contact_skin *skin, const thenar_surface *surface, const int *first,
                                    thenar_error *error) {
    const double *spacing = is_soft(skin->body) ? ((const soft_model *)skin->body)->contact_spacing : NULL;
    if (spacing) return take_coarse_triangles(skin, surface, spacing, error);
    skin->triangle_count = surface->triangle_count;
    skin->triangles = MEMORY_ARRAY(int, 3 * (size_t)skin->triangle_count);
    if (!skin->triangles) return no_memory(skin, error);
    for (int t = 0; t < surface->triangle_count; t++) {
        int *corner = skin->triangles + 3 * (size_t)t;
        for (int k = 0; k < 3; k++) {
            int vertex = surface_triangle(surface, t)[k];
            corner[k] = first ? first[vertex] : vertex;
        }
        if (corner[0] == corner[1] || corner[1] == corner[2] || corner[2] == corner[0])
            corner[0] = corner[1] = corner[2] = -1;
    }
    return THENAR_OK;
}

/* Makes points of the vertices that triangles use. point: point of each vertex, or -1. */
static thenar_status take_vertices(contact_skin *skin, const thenar_surface *surface, int *point, thenar_error *error) {
    vec3 *place = MEMORY_ARRAY(vec3, surface->vertex_count);
    int *used = MEMORY_ARRAY(int, surface->vertex_count), *order = MEMORY_ARRAY(int, surface->vertex_count), count = 0;
    skin->vertex = MEMORY_ARRAY(int, surface->vertex_count);
    thenar_status status = place && used && order && skin->vertex ? THENAR_OK : no_memory(skin, error);
    memset(point, -1, (size_t)surface->vertex_count * sizeof *point);
    for (int i = 0; i < 3 * skin->triangle_count; i++)
        if (skin->triangles[i] >= 0) point[skin->triangles[i]] = 0;
    for (int v = 0; v < surface->vertex_count && status == THENAR_OK; v++) {
        if (point[v] < 0) continue;
        place[count] = surface_vertex(surface, v);
        used[count++] = v;
    }
    if (status == THENAR_OK) status = order_points(skin, place, count, order, error);
    for (int i = 0; i < count && status == THENAR_OK; i++) {
        skin->vertex[i] = used[order[i]];
        point[skin->vertex[i]] = i;
    }
    free(place);
    free(used);
    free(order);
    return status;
}

/* Converts the triangles from vertices to points, and lists the triangles around each point. */
static thenar_status find_around(contact_skin *skin, const int *point, thenar_error *error) {
    int corners = 3 * skin->triangle_count;
    skin->around = MEMORY_ARRAY(int, corners);
    skin->around_start = MEMORY_ARRAY(int, skin->point_count + 1);
    if (!skin->around || !skin->around_start) return no_memory(skin, error);
    int *start = skin->around_start;
    for (int i = 0; i < corners; i++) {
        if (skin->triangles[i] < 0) continue;
        skin->triangles[i] = point[skin->triangles[i]];
        start[skin->triangles[i] + 1]++;
    }
    for (int i = 0; i < skin->point_count; i++) start[i + 1] += start[i];
    int total = start[skin->point_count];
    /* Filled from behind, each point's end becomes its start. */
    for (int i = corners - 1; i >= 0; i--)
        if (skin->triangles[i] >= 0) skin->around[--start[skin->triangles[i] + 1]] = i / 3;
    memmove(start, start + 1, (size_t)skin->point_count * sizeof *start);
    start[skin->point_count] = total;
    return THENAR_OK;
}

/* Unit vector from a corner of a triangle to its middle. */
static vec3 inwards(const thenar_surface *surface, int from, const int corner[3]) {
    vec3 sum = {0};
    for (int k = 0; k < 3; k++)
        sum = vec3_add(sum, vec3_sub(surface_vertex(surface, corner[k]), surface_vertex(surface, from)));
    return vec3_unit(sum);
}

/* For each coarser triangle around a point, the triangle of the original surface in the same direction. */
static thenar_status find_faces(contact_skin *skin, const thenar_surface *surface, const int *point,
                                thenar_error *error) {
    int total = skin->around_start[skin->point_count];
    double *best = MEMORY_ARRAY(double, total);
    skin->around_face = MEMORY_ARRAY(int, total);
    thenar_status status = best && skin->around_face ? THENAR_OK : no_memory(skin, error);
    for (int k = 0; k < total && status == THENAR_OK; k++) best[k] = -INFINITY;
    for (int i = 0; i < 3 * surface->triangle_count && status == THENAR_OK; i++) {
        int vertex = surface->triangles[i], p = point[vertex];
        if (p < 0) continue;
        vec3 here = inwards(surface, vertex, surface_triangle(surface, i / 3));
        for (int k = skin->around_start[p]; k < skin->around_start[p + 1]; k++) {
            int corner[3];
            for (int c = 0; c < 3; c++)
                corner[c] = skin->vertex[skin->triangles[3 * (size_t)skin->around[k] + (size_t)c]];
            double along = vec3_dot(here, inwards(surface, vertex, corner));
            if (along <= best[k]) continue;
            best[k] = along;
            skin->around_face[k] = i / 3;
        }
    }
    free(best);
    return status;
}

static thenar_status attach_points(contact_skin *skin, const thenar_surface *surface, thenar_error *error) {
    if (!is_soft(skin->body)) {
        skin->radius = shape_of(skin->body)->growth;
        skin->centres = MEMORY_ARRAY(vec3, skin->point_count);
        if (!skin->centres) return no_memory(skin, error);
        for (int i = 0; i < skin->point_count; i++) skin->centres[i] = surface_vertex(surface, skin->vertex[i]);
        return THENAR_OK;
    }
    const soft_model *body = (const soft_model *)skin->body;
    skin->holds = MEMORY_ARRAY(contact_hold, skin->point_count);
    if (!skin->holds) return no_memory(skin, error);
    for (int i = 0; i < skin->point_count; i++) {
        size_t v = (size_t)skin->vertex[i];
        const int *node = tet_mesh_tet(&body->mesh, body->embedding.tet[v]);
        memcpy(skin->holds[i].node, node, sizeof skin->holds[i].node);
        memcpy(skin->holds[i].weights, body->embedding.weights + 4 * v, sizeof skin->holds[i].weights);
    }
    return THENAR_OK;
}

static thenar_status create_of_surface(contact_skin *skin, bool merge, thenar_error *error) {
    const thenar_surface *surface = skin->body->surface;
    int *point = MEMORY_ARRAY(int, surface->vertex_count), *first = merge ? surface_first_at_place(surface) : NULL;
    thenar_status status = point && (first || !merge) ? THENAR_OK : no_memory(skin, error);
    if (status == THENAR_OK) status = take_triangles(skin, surface, first, error);
    if (status == THENAR_OK) status = take_vertices(skin, surface, point, error);
    if (status == THENAR_OK) status = find_around(skin, point, error);
    bool coarser = is_soft(skin->body) && ((const soft_model *)skin->body)->contact_spacing;
    if (status == THENAR_OK && coarser) status = find_faces(skin, surface, point, error);
    if (status == THENAR_OK) status = attach_points(skin, surface, error);
    free(point);
    free(first);
    return status;
}

thenar_status contact_skin_create(const body_model *body, contact_skin *out, thenar_error *error) {
    *out = (contact_skin){.body = body};
    bool soft = is_soft(body), mesh = !soft && shape_of(body)->kind == THENAR_SHAPE_MESH;
    assert(soft || (body->kind == &rigid_class && ((const rigid_model *)body)->motion == THENAR_MOTION_DYNAMIC &&
                    shape_of(body)->kind != THENAR_SHAPE_PLANE));
    thenar_status status = soft || mesh ? create_of_surface(out, mesh, error) : create_of_primitive(out, error);
    if (status != THENAR_OK) contact_skin_free(out);
    return status;
}

void contact_skin_free(contact_skin *skin) {
    free(skin->holds);
    free(skin->centres);
    free(skin->vertex);
    free(skin->triangles);
    free(skin->around_start);
    free(skin->around);
    free(skin->around_face);
    *skin = (contact_skin){0};
}

void contact_skin_layout(contact_skin_state *state, const contact_skin *skin, arena *work) {
    state->skin = skin;
    state->positions = ARENA_ARRAY(work, vec3, skin->point_count);
    state->velocities = ARENA_ARRAY(work, vec3, skin->point_count);
    state->clusters = ARENA_ARRAY(work, contact_cluster, skin->cluster_count);
}

/* Velocity that the forces on a body add within the step, as if it were rigid. */
static vec3 pushed_velocity(const soft_state *body, double h) {
    const soft_model *model = soft_of(body);
    vec3 sum = {0};
    for (int i = 0; i < 3 * model->mesh.node_count; i += 3)
        sum = vec3_add(sum, vec3_add(vec3_load(body->applied + i), vec3_load(model->load + i)));
    return vec3_scale(sum, h / model->base.mass);
}

static void move_soft(contact_skin_state *state, const soft_state *body, double h) {
    const contact_hold *holds = state->skin->holds;
    const int *unknown = soft_of(body)->system_node, count = state->skin->point_count;
    const double *x = body->x, *free_velocity = body->v, *held_velocity = body->target_velocity;
    vec3 *positions = state->positions, *velocities = state->velocities, pushed = pushed_velocity(body, h);
    for (int i = 0; i < count; i++) {
        vec3 p = {0}, v = pushed;
        for (int k = 0; k < 4; k++) {
            size_t node = (size_t)holds[i].node[k];
            const double *velocity = unknown[node] >= 0 ? free_velocity : held_velocity;
            p = vec3_mul_add(p, vec3_load(x + 3 * node), holds[i].weights[k]);
            v = vec3_mul_add(v, vec3_load(velocity + 3 * node), holds[i].weights[k]);
        }
        positions[i] = p;
        velocities[i] = v;
    }
}

static void move_rigid(contact_skin_state *state, const rigid_state *body, double h) {
    mat3 R = quat_to_mat3(rigid_orientation(body->kept->orientation));
    vec3 velocity, spin;
    rigid_coming_motion(body, h, &velocity, &spin);
    state->centre = vec3_load(body->kept->position);
    for (int i = 0; i < state->skin->point_count; i++) {
        vec3 arm = mat3_mul_vec(R, state->skin->centres[i]);
        state->positions[i] = vec3_add(state->centre, arm);
        state->velocities[i] = vec3_add(velocity, vec3_cross(spin, arm));
    }
}

/* The bounding ball of a box, enlarged by more than rounding errors. */
static double ball_around(const box *b, vec3 *middle) {
    *middle = vec3_scale(vec3_add(b->low, b->high), 0.5);
    return vec3_distance(b->high, *middle) * (1 + 1e-12);
}

static contact_cluster cluster_of(const box *places, const box *velocities, double radius) {
    contact_cluster cluster;
    cluster.reach = ball_around(places, &cluster.middle) + radius;
    cluster.spread = ball_around(velocities, &cluster.velocity);
    return cluster;
}

void contact_skin_update(contact_skin_state *state, const body_state *body, double h) {
    const contact_skin *skin = state->skin;
    assert(body->model == skin->body);
    if (is_soft(skin->body))
        move_soft(state, (const soft_state *)body, h);
    else
        move_rigid(state, (const rigid_state *)body, h);
    const vec3 min = {-INFINITY, -INFINITY, -INFINITY}, max = {INFINITY, INFINITY, INFINITY};
    box places = {max, min}, velocities = places;
    for (int c = 0; c < skin->cluster_count; c++) {
        int first = c * CONTACT_CLUSTER, count = contact_cluster_end(skin, c) - first;
        box here = box_of(state->positions + first, count), speeds = box_of(state->velocities + first, count);
        state->clusters[c] = cluster_of(&here, &speeds, skin->radius);
        places = box_join(places, here);
        velocities = box_join(velocities, speeds);
    }
    state->whole = cluster_of(&places, &velocities, skin->radius);
    state->bounds = box_grow(places, skin->radius);
}

/* compact_order: halves the points along the longest side, at a multiple of the group size, until a group is left. */

static double along(vec3 p, int axis) {
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

static int longest_axis(const vec3 *place, const int *order, int count) {
    vec3 low = place[order[0]], high = low;
    for (int i = 1; i < count; i++) {
        low = vec3_min(low, place[order[i]]);
        high = vec3_max(high, place[order[i]]);
    }
    vec3 side = vec3_sub(high, low);
    return side.x >= side.y && side.x >= side.z ? 0 : side.y >= side.z ? 1 : 2;
}

/* By the coordinate, then by index, so that there are no ties. */
static int is_before(const vec3 *place, int axis, int a, int b) {
    double x = along(place[a], axis), y = along(place[b], axis);
    return x < y || (x == y && a < b);
}

/* Quickselect: moves the `first` smallest along the axis to the front. */
static void part(const vec3 *place, int axis, int *order, int count, int first) {
    int low = 0, high = count - 1;
    while (low < high) {
        int pivot = order[low + (high - low) / 2], i = low, j = high;
        while (i <= j) {
            while (is_before(place, axis, order[i], pivot)) i++;
            while (is_before(place, axis, pivot, order[j])) j--;
            if (i > j) break;
            int kept = order[i];
            order[i++] = order[j];
            order[j--] = kept;
        }
        if (first <= j)
            high = j;
        else if (first >= i)
            low = i;
        else
            return;
    }
}

static void halve(const vec3 *place, int *order, int count, int group) {
    if (count <= group) return;
    int first = (count / 2 + group - 1) / group * group;
    part(place, longest_axis(place, order, count), order, count, first);
    halve(place, order, first, group);
    halve(place, order + first, count - first, group);
}

void compact_order(const vec3 *place, int count, int group, int *order) {
    for (int i = 0; i < count; i++) order[i] = i;
    halve(place, order, count, group);
}
