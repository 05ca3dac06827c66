/* The contacts of a step: memory of the state, search, constraints, and memory for the next step (contact.h). */
#include "contact/contact.h"

#include <float.h>
#include <string.h>

void contact_state_layout(contact_state *state, const contact_model *contacts, int body_count, int system_count,
                          bool aggregate, int max_nodes, arena *kept, arena *work) {
    *state = (contact_state){0};
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
    /* Only pairs with a contact are reported. */
    bool few = contacts->pair_count < contacts->capacity;
    state->pair_reports = ARENA_ARRAY(work, thenar_contact_pair, few ? contacts->pair_count : contacts->capacity);
    broad_phase_layout(&state->near, contacts->skin_count + contacts->target_count, work);
    state->reach = ARENA_ARRAY(work, box, contacts->skin_count + contacts->target_count);
    state->near_pairs = ARENA_ARRAY(work, int, contacts->pair_count);
    state->near_room = ARENA_ARRAY(work, int, contacts->pair_count);
}

void contact_state_open(contact_state *state, const contact_model *contacts, body_state *const *bodies, int body_count,
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

void contact_state_reset(contact_state *state, const contact_model *contacts) {
    if (contacts->pair_count == 0) return;
    *state->memory_count = 0;
    memset(state->memory, 0, (size_t)contacts->capacity * sizeof *state->memory);
    contact_report_clear(state);
}

/* Truncates the memory to `count` entries and clears the rest, which the state hash covers. */
static void truncate_memory(contact_state *state, long long count) {
    long long before = *state->memory_count;
    if (before > count) memset(state->memory + count, 0, (size_t)(before - count) * sizeof *state->memory);
    *state->memory_count = count;
}

/* Whether this is a triangle of the skin that has corners. */
static bool has_triangle(const contact_faces *faces, int triangle) {
    return triangle >= 0 && triangle < faces->triangle_count && faces->skin->triangles[3 * (size_t)triangle] >= 0;
}

bool contact_memory_is_valid(const contact_model *contacts, const contact_state *state, const char *from_kept,
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
        int faces = contacts->pairs[memory.pair].faces;
        if (faces >= 0 && !has_triangle(&contacts->faces[faces], memory.face)) return false;
    }
    return true;
}

void contact_forget(contact_state *state, const contact_model *contacts, int body) {
    if (contacts->pair_count == 0) return;
    long long count = *state->memory_count, kept = 0;
    for (long long i = 0; i < count; i++) {
        const int *pair = contacts->pairs[state->memory[i].pair].body;
        if (pair[0] != body && pair[1] != body) state->memory[kept++] = state->memory[i];
    }
    truncate_memory(state, kept);
}

/* The memory of a point, or -1. Points and memory are both sorted by pair and index. */
static int find_memory(const contact_state *state, const contact_point *point, int *next) {
    for (; *next < *state->memory_count; (*next)++) {
        const contact_memory *memory = &state->before[*next];
        if (memory->pair == point->pair && memory->index == point->index) return (*next)++;
        if (memory->pair > point->pair || (memory->pair == point->pair && memory->index > point->index)) return -1;
    }
    return -1;
}

void contact_find(contact_state *state, const contact_model *contacts, body_state *const *bodies,
                  const body_step *step) {
    if (contacts->pair_count == 0) return;
    memcpy(state->before, state->memory, (size_t)*state->memory_count * sizeof *state->memory);
    for (int i = 0; i < contacts->skin_count; i++) {
        const body_state *body = bodies[contacts->skin_body[i]];
        contact_skin_update(&state->skins[i], body, step->h);
        if (contacts->faces[i].count > 0) contact_faces_update(&state->faces[i], &state->skins[i], body);
    }
    /* A body that starts to fall within the step must be found, too. */
    double margin = contacts->margin + step->h * step->h * vec3_length(step->gravity);
    contact_find_pairs(state, contacts, margin, step->h);
    int found = contact_find_points(state->skin_pointers, state->rigids, state->face_pointers, contacts->pairs,
                                    state->near_pairs, state->near_count, margin, step->h, step->pool, state->points,
                                    contacts->capacity);
    state->point_count = found < contacts->capacity ? found : contacts->capacity;
    state->lost = found - state->point_count;
    for (int i = 0, next = 0; i < state->point_count; i++)
        state->remembered[i] = find_memory(state, &state->points[i], &next);
    state->next_point = 0;
    patch_set_clear(&state->patches);
}

/* The other side of the contacts of a pair; the caller sets first_node. */
static contact_side other_side(const contact_state *state, const contact_model *contacts, int pair,
                               body_state *const *bodies) {
    const contact_pair *p = &contacts->pairs[pair];
    return (contact_side){.body = bodies[p->body[1]], .skin = p->faces >= 0 ? &state->skins[p->faces] : NULL};
}

static int first_node_of(const contact_equations *equations, int body) {
    for (int k = 0; k < equations->body_count; k++)
        if (equations->body[k] == body) return equations->first_node[k];
    return 0;
}

int contact_build(contact_state *state, const contact_model *contacts, body_state *const *bodies, int s,
                  const contact_equations *equations, contact **out) {
    int count = state->system_start[s], i = state->next_point;
    for (; i < state->point_count && contacts->pairs[state->points[i].pair].system == s; i++) {
        const contact_point *point = &state->points[i];
        const contact_pair *pair = &contacts->pairs[point->pair];
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

/* Only active contacts are stored. */
void contact_keep_memory(contact_state *state, const contact_model *contacts, body_state *const *bodies) {
    if (contacts->pair_count == 0) return;
    int count = state->system_start[state->system_count];
    long long kept = 0;
    for (int i = 0; i < count; i++) {
        const contact *c = &state->contacts[i];
        const contact_point *point = &state->points[c->point];
        int remembered = state->remembered[c->point];
        if (!(c->lambda.x > 0)) continue;
        state->memory[kept++] = contact_remember(c, point, remembered < 0 ? NULL : &state->before[remembered],
                                                 other_side(state, contacts, point->pair, bodies));
    }
    truncate_memory(state, kept);
}
