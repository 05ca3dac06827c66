#include "tactile/feel.h"

#include "shape/hand_joints.h"

#include <string.h>

#define SLIP_BEGINS 0.5 /* share of the normal force on points that slip */
#define SLIP_ENDS 0.2

static void place_points(feel_pad *pad, const feel_moment *moment) {
    pad_model *model = &pad->model;
    int joint = (int)hand_bone_joint(3 * (int)model->finger + 3);
    pad->frame = pad_frame(model, moment->joints + 7 * (HAND_JOINTS * model->hand + joint));
    pad->turn = quat_to_mat3(pad->frame.rotation);
    const double *x = moment->bodies[model->body].x;
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

static void begin(feel_pad *pad) {
    thenar_tactile_pad *told = &pad->told;
    pad->force_before = told->normal_force;
    pad->friction = 0;
    pad->own_contacts = 0;
    memset(told->force, 0, sizeof told->force);
    memset(told->centre, 0, sizeof told->centre);
    memset(told->region, 0, sizeof told->region);
    told->normal_force = told->peak_pressure = told->slip = told->slip_speed = 0;
}

/* Velocity of a vertex of a soft body's skin. */
static vec3 vertex_velocity(const pad_skin *skin, const feel_motion *motion, int vertex) {
    const int *node = skin->mesh->tets + 4 * skin->embedding->tet[vertex];
    vec3 sum = {0};
    for (int k = 0; k < 4; k++)
        sum = vec3_mul_add(sum, vec3_load(motion->v + 3 * node[k]), skin->embedding->weights[4 * vertex + k]);
    return sum;
}

/* Velocity of the side of a contact: its vertex, or the middle of its triangle, or a point of a rigid body. */
static vec3 side_velocity(const feel_world *world, const feel_moment *moment, const thenar_contact *c, int side) {
    int body = c->body[side];
    const pad_skin *skin = &world->skins[body];
    const feel_motion *motion = &moment->bodies[body];
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

static void add_slip(const feel_world *world, const feel_moment *moment, const thenar_contact *c, feel_pad *pad) {
    if (c->sticks) return;
    vec3 n = vec3_load(c->normal);
    vec3 v = vec3_sub(side_velocity(world, moment, c, 0), side_velocity(world, moment, c, 1));
    v = vec3_mul_add(v, n, -vec3_dot(v, n));
    pad->told.slip += c->force;
    pad->told.slip_speed += c->force * vec3_length(v);
}

/* A contact at a vertex of a pad; flipped: the pad is what is touched. */
static void add_contact(const feel_world *world, const feel_moment *moment, const thenar_contact *c, feel_slot slot,
                        bool flipped) {
    feel_pad *pad = &world->pads[slot.pad];
    pad_model *model = &pad->model;
    double sign = flipped ? -1 : 1;
    vec3 at = mat3_mul_vec_transposed(pad->turn, vec3_sub(vec3_load(c->position), pad->frame.position));
    vec3 n = mat3_mul_vec_transposed(pad->turn, vec3_scale(vec3_load(c->normal), sign));
    vec3 friction = mat3_mul_vec_transposed(pad->turn, vec3_scale(vec3_load(c->friction), sign));
    double above = (flipped ? 0 : c->gap) - vec3_dot(n, at), sum = 0;
    /* Whether its plane counts: that of a touched pad only where the pad touches nothing itself. */
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
    thenar_tactile_pad *told = &pad->told;
    vec3_store(told->force, vec3_add(vec3_load(told->force), vec3_mul_add(friction, n, c->force)));
    vec3_store(told->centre, vec3_mul_add(vec3_load(told->centre), at, c->force));
    told->normal_force += c->force;
    pad->friction += vec3_length(friction);
    if (c->area > 0) told->peak_pressure = fmax(told->peak_pressure, c->force / c->area);
    add_slip(world, moment, c, pad);
}

/* The pad's vertex that a triangle has, if any. */
static feel_slot slot_of_face(const feel_world *world, int body, int face) {
    const thenar_surface *surface = world->skins[body].surface;
    feel_slot none = {-1, 0};
    for (int k = 0; k < 3 && face >= 0; k++) {
        feel_slot slot = world->slots[body][surface->triangles[3 * face + k]];
        if (slot.pad >= 0) return slot;
    }
    return none;
}

/* First contacts of the pads' own points, then those in which they are touched. */
static void add_contacts(const feel_world *world, const feel_moment *moment) {
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < moment->contact_count; i++) {
            const thenar_contact *c = &moment->contacts[i];
            if (!world->slots[c->body[side]]) continue;
            feel_slot slot =
                side == 0 ? world->slots[c->body[0]][c->vertex] : slot_of_face(world, c->body[1], c->face[1]);
            if (slot.pad >= 0) add_contact(world, moment, c, slot, side == 1);
        }
}

static void finish_points(const feel_world *world, feel_pad *pad) {
    thenar_tactile_pad *told = &pad->told;
    told->contact_count = 0;
    told->area = 0;
    pad->least_gap = FEEL_FAR;
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
        pad->least_gap = fmin(pad->least_gap, point->gap);
        told->region[pad->model.part[p]].pressure += point->force;
        told->region[pad->model.part[p]].shear += vec3_length(vec3_load(point->friction));
    }
    pad->apart = told->normal_force > 0 ? fmin(0, pad->least_gap) : pad->least_gap;
    double base = told->normal_force > 0 ? fmax(0, pad->least_gap) : 0;
    for (int p = 0; p < pad->model.point_count; p++) {
        thenar_tactile_point *point = &pad->model.points[p];
        point->touches = point->gap - base <= (point->touches ? world->leaving : world->touching);
        told->contact_count += point->touches;
        if (point->touches) told->area += point->area;
    }
}

/* Elastic energy of tets at the chosen depth by the volume of their flesh. */
static void add_energy(feel_pad *pad, const double *x) {
    pad_model *model = &pad->model;
    thenar_tactile_pad *told = &pad->told;
    double density[SIMD_LANES];
    double *of_region[THENAR_PAD_REGION_COUNT];
    for (int r = 0; r < THENAR_PAD_REGION_COUNT; r++) of_region[r] = &told->region[r].energy_density;
    told->energy_density = 0;
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
            told->energy_density += part;
            *of_region[model->part[p]] += part;
        }
    }
    told->energy_density /= model->area;
}

static void finish_sums(feel_pad *pad) {
    thenar_tactile_pad *told = &pad->told;
    double force = told->normal_force, before = told->slips ? SLIP_ENDS : SLIP_BEGINS;
    if (force > 0) {
        for (int k = 0; k < 3; k++) told->centre[k] /= force;
        if (told->slip > 0) told->slip_speed /= told->slip;
        told->slip /= force;
    }
    bool slips = told->slip > before;
    told->slip_onsets += slips && !told->slips;
    told->slips = slips;
    told->pressure = told->area > 0 ? force / told->area : 0;
    told->shear = told->area > 0 ? pad->friction / told->area : 0;
    for (int r = 0; r < THENAR_PAD_REGION_COUNT; r++) {
        double area = pad->model.part_area[r], scale = area > 0 ? 1 / area : 0;
        told->region[r].pressure *= scale;
        told->region[r].shear *= scale;
        told->region[r].energy_density *= scale;
    }
    vec3_store(told->frame, pad->frame.position);
    const quat q = pad->frame.rotation;
    told->frame[3] = q.x, told->frame[4] = q.y, told->frame[5] = q.z, told->frame[6] = q.w;
}

void feel_reset(feel_world *world) {
    for (int i = 0; i < world->pad_count; i++) {
        feel_pad *pad = &world->pads[i];
        for (int p = 0; p < pad->model.point_count; p++) pad->model.points[p].touches = false;
        pad->told.normal_force = 0;
        pad->told.slips = false;
        pad->told.slip_onsets = 0;
    }
}

void feel_update(feel_world *world, const feel_moment *moment) {
    for (int i = 0; i < world->pad_count; i++) {
        place_points(&world->pads[i], moment);
        begin(&world->pads[i]);
    }
    add_contacts(world, moment);
    for (int i = 0; i < world->pad_count; i++) {
        feel_pad *pad = &world->pads[i];
        finish_points(world, pad);
        add_energy(pad, moment->bodies[pad->model.body].x);
        finish_sums(pad);
    }
}
