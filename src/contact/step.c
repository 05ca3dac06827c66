/* The contacts of a step: found, remembered, made constraints, told. */
#include "contact/contact.h"

#include <float.h>
#include <string.h>

void contacts_layout(contacts_state *state, const contacts_model *contacts, int body_count, int system_count,
                     bool aggregate, int max_nodes, arena *kept, arena *work) {
    *state = (contacts_state){0};
    state->memory_count = ARENA_ARRAY(kept, long long, contacts->pair_count > 0 ? 1 : 0);
    state->memory = ARENA_ARRAY(kept, contact_memory, contacts->capacity);
    state->skins = ARENA_ARRAY(work, contact_skin_state, contacts->skin_count);
    state->skin_pointers = ARENA_ARRAY(work, const contact_skin_state *, contacts->skin_count);
    for (int i = 0; i < contacts->skin_count; i++) {
        contact_skin_state skin = {0};
        contact_skin_layout(&skin, &contacts->skins[i], work);
        if (state->skins) state->skins[i] = skin;
    }
    state->faces = ARENA_ARRAY(work, contact_faces_state, contacts->skin_count);
    state->face_pointers = ARENA_ARRAY(work, contact_faces_state *, contacts->skin_count);
    for (int i = 0; i < contacts->skin_count; i++) {
        contact_faces_state faces = {0};
        contact_faces_layout(&faces, &contacts->faces[i], work);
        if (state->faces) state->faces[i] = faces;
    }
    state->rigids = ARENA_ARRAY(work, const rigid_state *, body_count);
    state->points = ARENA_ARRAY(work, contact_point, contacts->capacity);
    state->before = ARENA_ARRAY(work, contact_memory, contacts->capacity);
    state->remembered = ARENA_ARRAY(work, int, contacts->capacity);
    state->contacts = ARENA_ARRAY(work, contact, contacts->capacity);
    state->terms = ARENA_ARRAY(work, penalty_term, contacts->capacity);
    int max_points = 0;
    for (int i = 0; i < contacts->skin_count; i++)
        if (contacts->skins[i].point_count > max_points) max_points = contacts->skins[i].point_count;
    patch_set_layout(&state->patches, aggregate ? contacts->capacity : 0, max_nodes, max_points, work);
    state->system_start = ARENA_ARRAY(work, int, system_count + 1);
    state->secant = ARENA_ARRAY(work, double, system_count);
    state->reported = ARENA_ARRAY(work, thenar_contact, contacts->capacity);
    /* A pair is told only with a contact. */
    bool few = contacts->pair_count < contacts->capacity;
    state->pair_reports = ARENA_ARRAY(work, thenar_contact_pair, few ? contacts->pair_count : contacts->capacity);
    broad_phase_layout(&state->near, contacts->skin_count + contacts->target_count, work);
    state->reach = ARENA_ARRAY(work, box, contacts->skin_count + contacts->target_count);
    state->near_pairs = ARENA_ARRAY(work, int, contacts->pair_count);
    state->near_room = ARENA_ARRAY(work, int, contacts->pair_count);
}

void contacts_open(contacts_state *state, const contacts_model *contacts, body_state *const *bodies, int body_count,
                   int system_count) {
    for (int i = 0; i < contacts->skin_count; i++) {
        state->skin_pointers[i] = &state->skins[i];
        state->face_pointers[i] = &state->faces[i];
    }
    for (int i = 0; i < body_count; i++)
        state->rigids[i] = bodies[i]->model->kind == &rigid_class ? (const rigid_state *)bodies[i] : NULL;
    broad_phase_open(&state->near);
    patch_set_open(&state->patches);
    state->system_count = system_count;
    memset(state->system_start, 0, ((size_t)system_count + 1) * sizeof *state->system_start);
}

void contacts_reset(contacts_state *state, const contacts_model *contacts) {
    if (contacts->pair_count == 0) return;
    *state->memory_count = 0;
    memset(state->memory, 0, (size_t)contacts->capacity * sizeof *state->memory);
    contacts_clear_report(state);
}

void contacts_clear_report(contacts_state *state) {
    state->report_count = state->pair_report_count = 0;
}

/* The memory has `count` entries from now on; what is behind them is zero, as the state's hash covers it. */
static void cut_memory(contacts_state *state, long long count) {
    long long before = *state->memory_count;
    if (before > count) memset(state->memory + count, 0, (size_t)(before - count) * sizeof *state->memory);
    *state->memory_count = count;
}

bool contacts_check(const contacts_model *contacts, const contacts_state *state, const char *from_kept,
                    const char *kept) {
    if (contacts->pair_count == 0) return true;
    long long count;
    memcpy(&count, from_kept + ((const char *)state->memory_count - kept), sizeof count);
    if (count < 0 || count > contacts->capacity) return false;
    const char *entries = from_kept + ((const char *)state->memory - kept);
    for (long long i = 0; i < count; i++) {
        contact_memory memory;
        memcpy(&memory, entries + (size_t)i * sizeof memory, sizeof memory);
        if (memory.pair < 0 || memory.pair >= contacts->pair_count) return false;
        if (!body_within(memory.force, 3, DBL_MAX) || !body_within(memory.anchor, 3, DBL_MAX)) return false;
        const contact_pair *pair = &contacts->search[memory.pair];
        if (pair->on_skin && !contact_faces_has(&contacts->faces[pair->other], memory.face)) return false;
    }
    return true;
}

void contacts_forget(contacts_state *state, const contacts_model *contacts, int body) {
    if (contacts->pair_count == 0) return;
    long long count = *state->memory_count, kept = 0;
    for (long long i = 0; i < count; i++) {
        const int *pair = contacts->pairs[state->memory[i].pair].body;
        if (pair[0] != body && pair[1] != body) state->memory[kept++] = state->memory[i];
    }
    cut_memory(state, kept);
}

/* Both lists are in the order of pairs and, within a pair, of the skin's points. */
static int remember(const contacts_state *state, const contact_point *point, int *next) {
    for (; *next < *state->memory_count; (*next)++) {
        const contact_memory *memory = &state->before[*next];
        if (memory->pair == point->pair && memory->index == point->index) return (*next)++;
        if (memory->pair > point->pair || (memory->pair == point->pair && memory->index > point->index)) return -1;
    }
    return -1;
}

void contacts_find(contacts_state *state, const contacts_model *contacts, body_state *const *bodies,
                   const body_step *step) {
    if (contacts->pair_count == 0) return;
    memcpy(state->before, state->memory, (size_t)*state->memory_count * sizeof *state->memory);
    for (int i = 0; i < contacts->skin_count; i++) {
        const body_state *body = bodies[contacts->skin_body[i]];
        contact_skin_update(&state->skins[i], body, step->h);
        if (contacts->faces[i].count > 0) contact_faces_update(&state->faces[i], &state->skins[i], body);
    }
    /* What falls from rest within the step must be seen too. */
    double margin = contacts->margin + step->h * step->h * vec3_length(step->gravity);
    contacts_find_near(state, contacts, margin, step->h);
    int found = contact_points_find(state->skin_pointers, state->rigids, state->face_pointers, contacts->search,
                                    state->near_pairs, state->near_count, margin, step->h, step->pool, state->points,
                                    contacts->capacity);
    state->point_count = found < contacts->capacity ? found : contacts->capacity;
    state->lost = found - state->point_count;
    for (int i = 0, next = 0; i < state->point_count; i++)
        state->remembered[i] = remember(state, &state->points[i], &next);
    state->next_point = 0;
    patch_set_clear(&state->patches);
}

/* A body on the other side of a pair's contacts; where its unknowns start is not asked. */
static contact_side other_side(const contacts_state *state, const contacts_model *contacts, int pair,
                               body_state *const *bodies) {
    const contact_pair *search = &contacts->search[pair];
    return (contact_side){.body = bodies[contacts->pairs[pair].body[1]],
                          .skin = search->on_skin ? &state->skins[search->other] : NULL};
}

static int first_node_of(const contact_equations *equations, int body) {
    for (int k = 0; k < equations->body_count; k++)
        if (equations->body[k] == body) return equations->first_node[k];
    return 0;
}

int contacts_build(contacts_state *state, const contacts_model *contacts, body_state *const *bodies, int s,
                   const contact_equations *equations, contact **out) {
    int count = state->system_start[s], i = state->next_point;
    for (; i < state->point_count && contacts->pairs[state->points[i].pair].system == s; i++) {
        const contact_point *point = &state->points[i];
        const contacts_pair *pair = &contacts->pairs[point->pair];
        const contact_memory *memory = state->remembered[i] < 0 ? NULL : &state->before[state->remembered[i]];
        contact_side skin = {.body = bodies[pair->body[0]], .first_node = first_node_of(equations, pair->body[0])};
        contact_side other = other_side(state, contacts, point->pair, bodies);
        other.first_node = first_node_of(equations, pair->body[1]);
        if (!contact_make(&state->contacts[count], point, memory, skin, other, pair->mu, equations)) continue;
        state->contacts[count++].point = i;
    }
    state->next_point = i;
    state->system_start[s + 1] = count;
    *out = state->contacts + state->system_start[s];
    return count - state->system_start[s];
}

/* Only contacts that push leave a memory. */
static void keep_memory(contacts_state *state, const contacts_model *contacts, body_state *const *bodies, int count) {
    long long kept = 0;
    for (int i = 0; i < count; i++) {
        const contact *c = &state->contacts[i];
        const contact_point *point = &state->points[c->point];
        int remembered = state->remembered[c->point];
        if (!(c->lambda.x > 0)) continue;
        state->memory[kept++] = contact_remember(c, point, remembered < 0 ? NULL : &state->before[remembered],
                                                 other_side(state, contacts, point->pair, bodies));
    }
    cut_memory(state, kept);
}

/* Nodes that contacts hold: what bones reckon with in the next step (body/hand_step.c). */
static void touch_nodes(const int node[4], const double weights[4], body_state *body) {
    if (body->model->kind != &soft_class) return;
    for (int k = 0; k < 4; k++) {
        if (weights[k] == 0) continue;
        double *touched = &((soft_state *)body)->touched[node[k]];
        *touched = fmin(1, *touched + fabs(weights[k]));
    }
}

static void note_touched(const contacts_state *state, const contacts_model *contacts, body_state *const *bodies,
                         int count) {
    for (int i = 0; i < contacts->skin_count; i++) {
        body_state *body = bodies[contacts->skin_body[i]];
        if (body->model->kind != &soft_class) continue;
        soft_state *soft = (soft_state *)body;
        memset(soft->touched, 0, (size_t)soft_of(soft)->mesh.node_count * sizeof *soft->touched);
    }
    for (int i = 0; i < count; i++) {
        const contact_point *point = &state->points[state->contacts[i].point];
        const int *pair = contacts->pairs[point->pair].body;
        if (!(state->contacts[i].lambda.x > 0)) continue;
        touch_nodes(point->node, point->weights, bodies[pair[0]]);
        touch_nodes(point->other_node, point->other_weights, bodies[pair[1]]);
    }
}

/* What a contact does to held nodes, their support bears. */
static void load_supports(const int node[4], const double weights[4], vec3 force, body_state *body) {
    if (body->model->kind != &soft_class) return;
    soft_state *state = (soft_state *)body;
    for (int k = 0; k < 4; k++) {
        if (weights[k] == 0 || soft_of(state)->system_node[node[k]] >= 0) continue;
        double *reaction = state->force + 3 * node[k];
        vec3_store(reaction, vec3_mul_add(vec3_load(reaction), force, -weights[k]));
    }
}

/* Where the point is now: the vertex, or the gap away from the other body's closest point. */
static vec3 place(const contact *c, const contact_point *point, const contacts_pair *pair, body_state *const *bodies) {
    const body_state *skin = bodies[pair->body[0]];
    if (skin->model->kind != &soft_class) {
        const rigid_kept *other = ((const rigid_state *)bodies[pair->body[1]])->kept;
        vec3 closest =
            vec3_add(vec3_load(other->position), quat_rotate(rigid_orientation(other->orientation), point->anchor));
        return vec3_mul_add(closest, mat3_row(c->frame, 0), c->u.x - c->allowed_penetration);
    }
    const double *x = ((const soft_state *)skin)->x;
    vec3 p = {0};
    for (int k = 0; k < 4; k++) p = vec3_mul_add(p, vec3_load(x + 3 * point->node[k]), point->weights[k]);
    return p;
}

/* The touched triangle in the numbering of the body's own surface: of a coarser skin, one around its heaviest corner.
 * */
static int touched_face(const contacts_model *contacts, const contact_point *point) {
    const contact_pair *pair = &contacts->search[point->pair];
    if (!pair->on_skin || !contacts->skins[pair->other].around_face) return point->face_b;
    const contact_skin *skin = &contacts->skins[pair->other];
    const int *corner = skin->triangles + 3 * (size_t)point->face_b;
    vec3 w = point->anchor;
    int heaviest = corner[w.x >= w.y && w.x >= w.z ? 0 : w.y >= w.z ? 1 : 2];
    for (int k = skin->around_start[heaviest]; k < skin->around_start[heaviest + 1]; k++)
        if (skin->around[k] == point->face_b) return skin->around_face[k];
    return point->face_b;
}

static thenar_contact tell(const contacts_model *contacts, const contact *c, const contact_point *point,
                           const contacts_pair *pair, body_state *const *bodies) {
    thenar_contact reported = {.body = {pair->body[0], pair->body[1]},
                               .vertex = point->vertex,
                               .face = {point->face_a, touched_face(contacts, point)},
                               .sticks = c->lambda.x > 0 && c->settled == CONE_STICK,
                               .gap = c->u.x - c->allowed_penetration,
                               .force = c->lambda.x,
                               .area = point->area};
    vec3_store(reported.position, place(c, point, pair, bodies));
    vec3_store(reported.normal, mat3_row(c->frame, 0));
    vec3_store(reported.friction, mat3_mul_vec_transposed(c->frame, vec3_make(0, c->lambda.y, c->lambda.z)));
    return reported;
}

/* Adds a contact to the pair's sums; `centre` and `pressure` are sums until the pair is closed. */
static void add_to_pair(thenar_contact_pair *pair, const thenar_contact *reported) {
    vec3 normal = vec3_load(reported->normal), at = vec3_load(reported->position);
    vec3 force = vec3_mul_add(vec3_load(reported->friction), normal, reported->force);
    pair->count++;
    if (!(reported->force > 0)) return;
    pair->touching++;
    vec3_store(pair->force, vec3_add(vec3_load(pair->force), force));
    vec3_store(pair->torque, vec3_add(vec3_load(pair->torque), vec3_cross(at, force)));
    vec3_store(pair->centre, vec3_mul_add(vec3_load(pair->centre), at, reported->force));
    pair->area += reported->area;
    pair->normal_force += reported->force;
}

static void close_pair(thenar_contact_pair *pair) {
    if (pair->normal_force > 0) vec3_store(pair->centre, vec3_scale(vec3_load(pair->centre), 1 / pair->normal_force));
    pair->pressure = pair->area > 0 ? pair->normal_force / pair->area : 0;
}

bool contacts_are_finite(const contacts_state *state) {
    bool is_finite = true;
    for (int i = 0; i < state->report_count; i++) {
        const thenar_contact *reported = &state->reported[i];
        is_finite = is_finite && body_within(reported->position, 3, DBL_MAX) &&
                    body_within(reported->normal, 3, DBL_MAX) && body_within(reported->friction, 3, DBL_MAX) &&
                    isfinite(reported->force) && isfinite(reported->gap);
    }
    for (int i = 0; i < state->pair_report_count; i++) {
        const thenar_contact_pair *reported = &state->pair_reports[i];
        is_finite = is_finite && body_within(reported->force, 3, DBL_MAX) &&
                    body_within(reported->torque, 3, DBL_MAX) && body_within(reported->centre, 3, DBL_MAX) &&
                    isfinite(reported->normal_force) && isfinite(reported->pressure);
    }
    return is_finite;
}

void contacts_publish(contacts_state *state, const contacts_model *contacts, body_state *const *bodies) {
    contacts_clear_report(state);
    if (contacts->pair_count == 0) return;
    int count = state->system_start[state->system_count];
    thenar_contact_pair *open = NULL;
    for (int i = 0, pair_of_open = -1; i < count; i++) {
        const contact *c = &state->contacts[i];
        const contact_point *point = &state->points[c->point];
        const contacts_pair *pair = &contacts->pairs[point->pair];
        vec3 force = mat3_mul_vec_transposed(c->frame, c->lambda);
        load_supports(point->node, point->weights, force, bodies[pair->body[0]]);
        load_supports(point->other_node, point->other_weights, vec3_scale(force, -1), bodies[pair->body[1]]);
        if (point->pair != pair_of_open) {
            if (open) close_pair(open);
            open = &state->pair_reports[state->pair_report_count++];
            *open = (thenar_contact_pair){.body = {pair->body[0], pair->body[1]}, .first = i};
            pair_of_open = point->pair;
        }
        state->reported[i] = tell(contacts, c, point, pair, bodies);
        add_to_pair(open, &state->reported[i]);
    }
    if (open) close_pair(open);
    state->report_count = count;
    keep_memory(state, contacts, bodies, count);
    note_touched(state, contacts, bodies, count);
}
