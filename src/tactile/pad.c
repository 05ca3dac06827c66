/* Finger pads (tactile.h): their points, built once, and what they feel in each update. */
#include "tactile/tactile.h"

#include "core/memory.h"
#include "geometry/distance.h"
#include "mesh/mesh.h"

#include <stdlib.h>
#include <string.h>

#define CENTRAL 0.5 /* of the way from the centre of a pad to its edge: the central region */

static const char *const regions[] = {"centre", "distal", "proximal", "radial", "ulnar"};
NAMES(thenar_pad_region, regions)

/* The bone's x, -z and y: a right angle about x, then the rotation about the finger. */
static quat pad_axes(double turn) {
    const double half = 0.70710678118654752;
    return quat_mul((quat){-half, 0, 0, half}, (quat){0, sin(turn / 2), 0, cos(turn / 2)});
}

/* The frame of the pad in the world for the given joint of its distal bone. */
static hand_frame pad_frame(const pad_model *pad, const double joint[7]) {
    quat turned = quat_mul((quat){joint[3], joint[4], joint[5], joint[6]}, pad->axes);
    return (hand_frame){vec3_add(vec3_load(joint), quat_rotate(turned, pad->origin)), turned};
}

/* A place on the skin that may become a point: a vertex or, where these are few, a place in a triangle. */
typedef struct candidate {
    int vertex;   /* itself, or a corner of the triangle */
    bool between; /* not a vertex */
    vec3 place;   /* in the world at rest, m */
    vec3 at;      /* in the axes of the pad about its origin, m */
    double area;  /* m^2 */
    double near;  /* m: distance to the nearest point chosen so far */
    int owner;    /* that point */
} candidate;

/* State while a pad is being built. */
typedef struct pad_builder {
    const pad_place *place;
    const pad_skin *skin;
    quat to_pad;
    vec3 *at;     /* of each vertex of the pad, in its axes, first about the joint, then about its origin */
    double *area; /* of each vertex of the skin */
    vec3 *normal; /* of each vertex of the skin, in the world */
    bool *is_in;  /* of each vertex of the skin: on the pad */
    candidate *candidates;
    int candidate_count;
} pad_builder;

static void find_origin(pad_builder *m, pad_model *pad) {
    const pad_place *place = m->place;
    double area = 0, outermost = INFINITY;
    vec3 sum = {0};
    for (int i = 0; i < place->vertex_count; i++) {
        vec3 from = vec3_sub(surface_vertex(m->skin->surface, place->vertex[i]), place->frame.position);
        m->at[i] = quat_rotate(m->to_pad, from);
        sum = vec3_mul_add(sum, m->at[i], m->area[place->vertex[i]]);
        area += m->area[place->vertex[i]];
        outermost = fmin(outermost, m->at[i].z);
    }
    pad->origin = vec3_scale(sum, 1 / area);
    pad->origin.z = outermost;
    for (int i = 0; i < place->vertex_count; i++) m->at[i] = vec3_sub(m->at[i], pad->origin);
}

/* True if all corners of a triangle are on the pad. */
static bool is_on_pad(const pad_builder *m, int triangle) {
    const int *corner = surface_triangle(m->skin->surface, triangle);
    return m->is_in[corner[0]] && m->is_in[corner[1]] && m->is_in[corner[2]];
}

static void add_candidate(pad_builder *m, const pad_model *pad, candidate c) {
    vec3 from = vec3_sub(c.place, m->place->frame.position);
    c.at = vec3_sub(quat_rotate(m->to_pad, from), pad->origin);
    c.near = INFINITY;
    m->candidates[m->candidate_count++] = c;
}

/* The centres of the n^2 triangles into which a triangle is divided. */
static void subdivide_triangle(pad_builder *m, const pad_model *pad, int triangle, int n) {
    const thenar_surface *surface = m->skin->surface;
    vec3 x[3];
    surface_corners(surface, triangle, x);
    double area = vec3_length(surface_area_vector(surface, triangle)) / (n * n);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n - i; j++)
            for (int up = 0; up < (j < n - i - 1 ? 2 : 1); up++) {
                double u = (i + (up ? 2.0 : 1.0) / 3) / n, v = (j + (up ? 2.0 : 1.0) / 3) / n;
                vec3 place = vec3_add(vec3_scale(x[0], 1 - u - v), vec3_add(vec3_scale(x[1], u), vec3_scale(x[2], v)));
                int corner = u > v ? 1 : 2;
                if (1 - u - v > fmax(u, v)) corner = 0;
                int vertex = surface_triangle(surface, triangle)[corner];
                add_candidate(m, pad, (candidate){.vertex = vertex, .between = true, .place = place, .area = area});
            }
}

/* Vertices of the pad or, where these are too few, places in its triangles, twice as many as the requested points. */
static thenar_status list_candidates(pad_builder *m, int points, const pad_model *pad, thenar_error *error) {
    const thenar_surface *surface = m->skin->surface;
    int triangles = 0, count = m->place->vertex_count;
    for (int t = 0; t < surface->triangle_count; t++) triangles += is_on_pad(m, t);
    bool few = count < points && triangles > 0;
    int cut = few ? (int)ceil(sqrt(2.0 * points / triangles)) : 0;
    m->candidates = MEMORY_ARRAY(candidate, few ? (size_t)triangles * (size_t)(cut * cut) : (size_t)count);
    if (!m->candidates) return error_memory(error, "finger pad");
    for (int i = 0; i < count && !few; i++) {
        int v = m->place->vertex[i];
        add_candidate(m, pad, (candidate){.vertex = v, .place = surface_vertex(surface, v), .area = m->area[v]});
    }
    for (int t = 0; few && t < surface->triangle_count; t++)
        if (is_on_pad(m, t)) subdivide_triangle(m, pad, t, cut);
    return THENAR_OK;
}

/* The tet that contains a rest position, or that it is least outside of, and its weights there. */
static int find_tet(const thenar_tet_mesh *mesh, vec3 place, double weights[4]) {
    int best = 0;
    double deepest = -INFINITY, w[4];
    for (int t = 0; t < mesh->tet_count; t++) {
        vec3 corner[4];
        tet_mesh_corners(mesh, t, corner);
        double depth = tet_weights(corner, place, w);
        if (!(depth > deepest)) continue;
        deepest = depth, best = t;
        memcpy(weights, w, sizeof w);
    }
    return best;
}

static void attach_point(const pad_builder *m, const candidate *from, int p, pad_model *pad) {
    const thenar_tet_mesh *mesh = m->skin->mesh;
    int tet = m->skin->embedding->tet[from->vertex];
    for (int k = 0; k < 4; k++) pad->weight[p][k] = m->skin->embedding->weights[4 * from->vertex + k];
    if (from->between) tet = find_tet(mesh, from->place, pad->weight[p]);
    for (int k = 0; k < 4; k++) pad->node[p][k] = mesh->tets[4 * tet + k];
    pad->points[p].vertex = from->vertex;
    vec3_store(pad->points[p].rest, from->at);
    vec3_store(pad->points[p].position, from->at);
}

/* Each point is the candidate farthest from those chosen before, which distributes points evenly for any
 * triangulation. The first is the one nearest to the centre. Each candidate then adds its area to the nearest point. */
static void choose_points(pad_builder *m, pad_model *pad) {
    int next = 0, count = m->candidate_count;
    candidate *all = m->candidates;
    double min = INFINITY;
    for (int i = 0; i < count; i++) {
        double d = all[i].at.x * all[i].at.x + all[i].at.y * all[i].at.y;
        if (d < min) min = d, next = i;
    }
    for (int p = 0; p < pad->point_count; p++) {
        attach_point(m, &all[next], p, pad);
        double furthest = -1;
        vec3 chosen = all[next].at;
        for (int i = 0; i < count; i++) {
            double d = vec3_distance(all[i].at, chosen);
            if (d < all[i].near) all[i].near = d, all[i].owner = p;
            if (all[i].near > furthest) furthest = all[i].near, next = i;
        }
    }
    for (int i = 0; i < count; i++) pad->points[all[i].owner].area += all[i].area;
    for (int p = 0; p < pad->point_count; p++) pad->area += pad->points[p].area;
}

/* Assigns each point to a region of the pad: the centre, or one side. */
static void assign_regions(const pad_builder *m, pad_model *pad) {
    double half[2] = {1e-9, 1e-9};
    for (int p = 0; p < pad->point_count; p++)
        for (int k = 0; k < 2; k++) half[k] = fmax(half[k], fabs(pad->points[p].rest[k]));
    for (int p = 0; p < pad->point_count; p++) {
        double u = pad->points[p].rest[0] / half[0], v = pad->points[p].rest[1] / half[1];
        bool radial = m->place->left ? u > 0 : u < 0;
        thenar_pad_region part = THENAR_PAD_CENTRE;
        if (u * u + v * v > CENTRAL * CENTRAL) {
            if (fabs(v) > fabs(u))
                part = v > 0 ? THENAR_PAD_DISTAL : THENAR_PAD_PROXIMAL;
            else
                part = radial ? THENAR_PAD_RADIAL : THENAR_PAD_ULNAR;
        }
        pad->part[p] = (unsigned char)part;
        pad->part_area[part] += pad->points[p].area;
    }
}

/* Weights by which vertices act on points; the first pass counts, the second fills. */
static thenar_status set_spread(const pad_builder *m, pad_model *pad, thenar_error *error) {
    double spacing = sqrt(pad->area / pad->point_count), reach = fmax(PAD_REACH, 2.5 * spacing);
    for (int pass = 0; pass < 2; pass++) {
        int count = 0;
        for (int i = 0; i < pad->vertex_count; i++) {
            for (int p = 0; p < pad->point_count; p++) {
                double r = vec3_distance(m->at[i], vec3_load(pad->points[p].rest)) / reach, w = 1 - r * r;
                if (!(w > 0)) continue;
                if (pass == 1) {
                    pad->spread_point[count] = p;
                    pad->spread_weight[count] = w * w;
                }
                count++;
            }
            pad->spread_start[i + 1] = count;
        }
        if (pass == 1) break;
        pad->spread_point = MEMORY_ARRAY(int, count);
        pad->spread_weight = MEMORY_ARRAY(double, count);
        if (!pad->spread_point || !pad->spread_weight) return error_memory(error, "finger pad");
    }
    return THENAR_OK;
}

/* Copies the element of a tet to a lane. */
static void copy_element(const soft_model *soft, int tet, double young, pad_model *pad, int index) {
    const soft_batch *from = &soft->batches[tet / SIMD_LANES];
    soft_batch *to = &pad->batches[index / SIMD_LANES];
    int a = tet % SIMD_LANES, b = index % SIMD_LANES;
    for (int k = 0; k < 9; k++) to->gradient[k][b] = from->gradient[k][a];
    for (int k = 0; k < 4; k++) to->node[k][b] = from->node[k][a];
    to->lambda[b] = from->lambda[a];
    to->mu[b] = from->mu[a];
    /* Volume times Young's modulus: the part of the tet that is flesh. */
    pad->per_volume[index / SIMD_LANES][b] = young / from->stiffness[a];
}

static thenar_status copy_elements(const pad_builder *m, pad_model *pad, thenar_error *error) {
    const soft_model *soft = m->skin->soft;
    if (!soft) return THENAR_OK;
    int *seen = MEMORY_ARRAY(int, pad->point_count), count = 0;
    int max = (pad->point_count + SIMD_LANES - 1) / SIMD_LANES;
    pad->batches = memory_aligned((size_t)max * sizeof *pad->batches);
    pad->per_volume = memory_array((size_t)max, sizeof *pad->per_volume);
    if (!seen || !pad->batches || !pad->per_volume) {
        free(seen);
        return error_memory(error, "finger pad");
    }
    for (int p = 0; p < pad->point_count; p++) {
        int vertex = pad->points[p].vertex, i = 0;
        vec3 below = vec3_mul_add(surface_vertex(m->skin->surface, vertex), m->normal[vertex], -m->place->depth);
        double weights[4];
        int tet = find_tet(m->skin->mesh, below, weights);
        while (i < count && seen[i] != tet) i++;
        if (i == count) {
            seen[count++] = tet;
            copy_element(soft, tet, m->place->young, pad, i);
        }
        pad->tet[p] = i;
    }
    pad->batch_count = (count + SIMD_LANES - 1) / SIMD_LANES;
    /* The last batch is padded with its first tet. */
    for (int i = count; i < SIMD_LANES * pad->batch_count; i++) copy_element(soft, seen[0], m->place->young, pad, i);
    free(seen);
    return THENAR_OK;
}

static thenar_status build(pad_builder *m, int points, pad_model *pad, thenar_error *error) {
    const pad_place *place = m->place;
    const thenar_surface *surface = m->skin->surface;
    int count = place->vertex_count, all = surface->vertex_count;
    pad->hand = place->hand, pad->body = place->body, pad->finger = place->finger;
    pad->turn = place->turn;
    pad->depth = place->depth;
    pad->axes = pad_axes(place->turn);
    pad->vertex_count = count;
    m->to_pad = quat_conjugate(quat_mul(place->frame.rotation, pad->axes));
    m->at = MEMORY_ARRAY(vec3, count);
    m->area = MEMORY_ARRAY(double, all);
    m->normal = MEMORY_ARRAY(vec3, all);
    m->is_in = MEMORY_ARRAY(bool, all);
    pad->vertex = memory_copy(place->vertex, (size_t)count * sizeof *pad->vertex);
    pad->points = MEMORY_ARRAY(thenar_tactile_point, points);
    pad->node = memory_array((size_t)points, sizeof *pad->node);
    pad->weight = memory_array((size_t)points, sizeof *pad->weight);
    pad->part = MEMORY_ARRAY(unsigned char, points);
    pad->tet = MEMORY_ARRAY(int, points);
    pad->spread_start = MEMORY_ARRAY(int, count + 1);
    if (!m->at || !m->area || !m->normal || !m->is_in || !pad->vertex || !pad->points || !pad->node || !pad->weight ||
        !pad->part || !pad->tet || !pad->spread_start)
        return error_memory(error, "finger pad");
    for (int i = 0; i < count; i++) m->is_in[place->vertex[i]] = true;
    surface_vertex_areas(surface, m->area);
    surface_vertex_normals(surface, m->normal);
    find_origin(m, pad);
    thenar_status status = list_candidates(m, points, pad, error);
    if (status != THENAR_OK) return status;
    pad->point_count = points < m->candidate_count ? points : m->candidate_count;
    choose_points(m, pad);
    assign_regions(m, pad);
    status = set_spread(m, pad, error);
    return status == THENAR_OK ? copy_elements(m, pad, error) : status;
}

thenar_status pad_create(const pad_place *place, const pad_skin *skin, int points, pad_model *out,
                         thenar_error *error) {
    *out = (pad_model){0};
    if (place->vertex_count < 3)
        return error_set(error, THENAR_ERROR_INPUT, "the pad of the %s has %d vertices of skin; expected at least 3",
                         thenar_finger_name(place->finger), place->vertex_count);
    pad_builder m = {.place = place, .skin = skin};
    thenar_status status = build(&m, points, out, error);
    free(m.at);
    free(m.area);
    free(m.normal);
    free(m.is_in);
    free(m.candidates);
    if (status != THENAR_OK) pad_free(out);
    return status;
}

void pad_free(pad_model *pad) {
    free(pad->points);
    free(pad->node);
    free(pad->weight);
    free(pad->part);
    free(pad->vertex);
    free(pad->spread_start);
    free(pad->spread_point);
    free(pad->spread_weight);
    free(pad->batches);
    free(pad->per_volume);
    free(pad->tet);
    *pad = (pad_model){0};
}

#define SLIP_BEGINS 0.5 /* share of the normal force on slipping points */
#define SLIP_ENDS 0.2

static void place_points(feel_pad *pad, const feel_input *input) {
    pad_model *model = &pad->model;
    int joint = (int)hand_bone_joint(3 * (int)model->finger + 3);
    pad->frame = pad_frame(model, input->joints + 7 * (HAND_JOINTS * model->hand + joint));
    pad->turn = quat_to_mat3(pad->frame.rotation);
    const double *x = input->bodies[model->body].x;
    for (int p = 0; p < model->point_count; p++) {
        vec3 sum = {0};
        for (int k = 0; k < 4; k++) sum = vec3_mul_add(sum, vec3_load(x + 3 * model->node[p][k]), model->weight[p][k]);
        thenar_tactile_point *point = &model->points[p];
        vec3_store(point->position, mat3_mul_vec_transposed(pad->turn, vec3_sub(sum, pad->frame.position)));
        point->gap = point->force = 0;
        memset(point->friction, 0, sizeof point->friction);
        pad->normal[p] = vec3_make(0, 0, 0);
        pad->weight[p] = 0;
    }
}

static void clear_report(feel_pad *pad) {
    thenar_tactile_pad *reported = &pad->reported;
    pad->force_before = reported->normal_force;
    pad->friction = 0;
    pad->own_contacts = 0;
    memset(reported->force, 0, sizeof reported->force);
    memset(reported->centre, 0, sizeof reported->centre);
    memset(reported->region, 0, sizeof reported->region);
    reported->normal_force = reported->peak_pressure = reported->slip = reported->slip_speed = 0;
}

/* Velocity of a vertex of a soft body's skin. */
static vec3 vertex_velocity(const pad_skin *skin, const feel_motion *motion, int vertex) {
    const int *node = skin->mesh->tets + 4 * skin->embedding->tet[vertex];
    vec3 sum = {0};
    for (int k = 0; k < 4; k++)
        sum = vec3_mul_add(sum, vec3_load(motion->v + 3 * node[k]), skin->embedding->weights[4 * vertex + k]);
    return sum;
}

/* Velocity of one side of a contact: its vertex, the centre of its triangle, or a point of a rigid body. */
static vec3 side_velocity(const feel_world *world, const feel_input *input, const thenar_contact *c, int side) {
    int body = c->body[side];
    const pad_skin *skin = &world->skins[body];
    const feel_motion *motion = &input->bodies[body];
    if (!motion->x) {
        vec3 arm = vec3_sub(vec3_load(c->position), motion->centre);
        return vec3_add(motion->velocity, vec3_cross(motion->spin, arm));
    }
    if (side == 0) return vertex_velocity(skin, motion, c->vertex);
    vec3 sum = {0};
    if (c->face[1] < 0) return sum;
    for (int k = 0; k < 3; k++)
        sum = vec3_add(sum, vertex_velocity(skin, motion, skin->surface->triangles[3 * c->face[1] + k]));
    return vec3_scale(sum, 1.0 / 3);
}

static void add_slip(const feel_world *world, const feel_input *input, const thenar_contact *c, feel_pad *pad) {
    if (c->sticks) return;
    vec3 n = vec3_load(c->normal);
    vec3 v = vec3_sub(side_velocity(world, input, c, 0), side_velocity(world, input, c, 1));
    v = vec3_mul_add(v, n, -vec3_dot(v, n));
    pad->reported.slip += c->force;
    pad->reported.slip_speed += c->force * vec3_length(v);
}

/* A contact at a vertex of a pad. flipped: the pad is the touched side. */
static void add_contact(const feel_world *world, const feel_input *input, const thenar_contact *c, feel_slot slot,
                        bool flipped) {
    feel_pad *pad = &world->pads[slot.pad];
    pad_model *model = &pad->model;
    double sign = flipped ? -1 : 1;
    vec3 at = mat3_mul_vec_transposed(pad->turn, vec3_sub(vec3_load(c->position), pad->frame.position));
    vec3 n = mat3_mul_vec_transposed(pad->turn, vec3_scale(vec3_load(c->normal), sign));
    vec3 friction = mat3_mul_vec_transposed(pad->turn, vec3_scale(vec3_load(c->friction), sign));
    double above = (flipped ? 0 : c->gap) - vec3_dot(n, at), sum = 0;
    /* True if its plane counts. That of a touched pad counts only if no points of the pad itself touch. */
    double trust = !flipped || pad->own_contacts == 0;
    pad->own_contacts += !flipped;
    int first = model->spread_start[slot.vertex], end = model->spread_start[slot.vertex + 1];
    for (int i = first; i < end; i++) {
        int p = model->spread_point[i];
        double w = trust * model->spread_weight[i];
        thenar_tactile_point *point = &model->points[p];
        point->gap += w * (vec3_dot(n, vec3_load(point->position)) + above);
        pad->normal[p] = vec3_mul_add(pad->normal[p], n, w);
        pad->weight[p] += w;
        sum += model->spread_weight[i];
    }
    if (!(c->force > 0)) return;
    for (int i = first; i < end; i++) {
        thenar_tactile_point *point = &model->points[model->spread_point[i]];
        double share = model->spread_weight[i] / sum;
        point->force += share * c->force;
        vec3_store(point->friction, vec3_mul_add(vec3_load(point->friction), friction, share));
    }
    thenar_tactile_pad *reported = &pad->reported;
    vec3_store(reported->force, vec3_add(vec3_load(reported->force), vec3_mul_add(friction, n, c->force)));
    vec3_store(reported->centre, vec3_mul_add(vec3_load(reported->centre), at, c->force));
    reported->normal_force += c->force;
    pad->friction += vec3_length(friction);
    if (c->area > 0) reported->peak_pressure = fmax(reported->peak_pressure, c->force / c->area);
    add_slip(world, input, c, pad);
}

/* The pad vertex of a triangle, if it has one. */
static feel_slot slot_of_face(const feel_world *world, int body, int face) {
    const thenar_surface *surface = world->skins[body].surface;
    feel_slot none = {-1, 0};
    for (int k = 0; k < 3 && face >= 0; k++) {
        feel_slot slot = world->slots[body][surface->triangles[3 * face + k]];
        if (slot.pad >= 0) return slot;
    }
    return none;
}

/* First the contacts of the pads' own points, then those in which pads are touched. */
static void add_contacts(const feel_world *world, const feel_input *input) {
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < input->contact_count; i++) {
            const thenar_contact *c = &input->contacts[i];
            if (!world->slots[c->body[side]]) continue;
            feel_slot slot =
                side == 0 ? world->slots[c->body[0]][c->vertex] : slot_of_face(world, c->body[1], c->face[1]);
            if (slot.pad >= 0) add_contact(world, input, c, slot, side == 1);
        }
}

static void finish_points(const feel_world *world, feel_pad *pad) {
    thenar_tactile_pad *reported = &pad->reported;
    reported->contact_count = 0;
    reported->area = 0;
    pad->min_gap = FEEL_FAR;
    for (int p = 0; p < pad->model.point_count; p++) {
        thenar_tactile_point *point = &pad->model.points[p];
        vec3 x = vec3_load(point->position);
        if (pad->weight[p] > 0) {
            point->gap /= pad->weight[p];
            pad->normal[p] = vec3_unit(pad->normal[p]);
        } else {
            point->gap = FEEL_FAR;
        }
        pad->target[p] = point->gap < FEEL_FAR ? vec3_mul_add(x, pad->normal[p], -point->gap) : x;
        pad->min_gap = fmin(pad->min_gap, point->gap);
        reported->region[pad->model.part[p]].pressure += point->force;
        reported->region[pad->model.part[p]].shear += vec3_length(vec3_load(point->friction));
    }
    pad->distance = reported->normal_force > 0 ? fmin(0, pad->min_gap) : pad->min_gap;
    double base = reported->normal_force > 0 ? fmax(0, pad->min_gap) : 0;
    for (int p = 0; p < pad->model.point_count; p++) {
        thenar_tactile_point *point = &pad->model.points[p];
        point->touches = point->gap - base <= (point->touches ? world->leaving : world->touching);
        reported->contact_count += point->touches;
        if (point->touches) reported->area += point->area;
    }
}

/* Elastic energy of tets at the chosen depth per volume of their flesh. */
static void add_energy(feel_pad *pad, const double *x) {
    pad_model *model = &pad->model;
    thenar_tactile_pad *reported = &pad->reported;
    double density[SIMD_LANES];
    double *of_region[THENAR_PAD_REGION_COUNT];
    for (int r = 0; r < THENAR_PAD_REGION_COUNT; r++) of_region[r] = &reported->region[r].energy_density;
    reported->energy_density = 0;
    for (int b = 0; b < model->batch_count; b++) {
        const soft_batch *batch = &model->batches[b];
        f64x8 s[3];
        soft_element_stretches(batch, x, s);
        for (int l = 0; l < SIMD_LANES; l++) {
            double e[3] = {s[0][l] - 1, s[1][l] - 1, s[2][l] - 1}, trace = e[0] + e[1] + e[2];
            density[l] =
                (batch->mu[l] * (e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) + 0.5 * batch->lambda[l] * trace * trace) *
                model->per_volume[b][l];
        }
        for (int p = 0; p < model->point_count; p++) {
            if (model->tet[p] / SIMD_LANES != b) continue;
            double part = density[model->tet[p] % SIMD_LANES] * model->points[p].area;
            reported->energy_density += part;
            *of_region[model->part[p]] += part;
        }
    }
    reported->energy_density /= model->area;
}

static void finish_sums(feel_pad *pad) {
    thenar_tactile_pad *reported = &pad->reported;
    double force = reported->normal_force, before = reported->slips ? SLIP_ENDS : SLIP_BEGINS;
    if (force > 0) {
        for (int k = 0; k < 3; k++) reported->centre[k] /= force;
        if (reported->slip > 0) reported->slip_speed /= reported->slip;
        reported->slip /= force;
    }
    bool slips = reported->slip > before;
    reported->slip_onsets += slips && !reported->slips;
    reported->slips = slips;
    reported->pressure = reported->area > 0 ? force / reported->area : 0;
    reported->shear = reported->area > 0 ? pad->friction / reported->area : 0;
    for (int r = 0; r < THENAR_PAD_REGION_COUNT; r++) {
        double area = pad->model.part_area[r], scale = area > 0 ? 1 / area : 0;
        reported->region[r].pressure *= scale;
        reported->region[r].shear *= scale;
        reported->region[r].energy_density *= scale;
    }
    pose_store(reported->pose, pad->frame.position, pad->frame.rotation);
}

void feel_reset(feel_world *world) {
    for (int i = 0; i < world->pad_count; i++) {
        feel_pad *pad = &world->pads[i];
        for (int p = 0; p < pad->model.point_count; p++) pad->model.points[p].touches = false;
        pad->reported.normal_force = 0;
        pad->reported.slips = false;
        pad->reported.slip_onsets = 0;
    }
}

void feel_update(feel_world *world, const feel_input *input) {
    for (int i = 0; i < world->pad_count; i++) {
        place_points(&world->pads[i], input);
        clear_report(&world->pads[i]);
    }
    add_contacts(world, input);
    for (int i = 0; i < world->pad_count; i++) {
        feel_pad *pad = &world->pads[i];
        finish_points(world, pad);
        add_energy(pad, input->bodies[pad->model.body].x);
        finish_sums(pad);
    }
}
