/* Which bodies may touch, and how that couples their linear systems. */
#include "contact/contact.h"

#include <stdlib.h>
#include <string.h>

const char *const contact_method_names[CONTACT_METHODS] = {[CONTACT_POINT] = "point",
                                                           [CONTACT_AGGREGATE] = "aggregate",
                                                           [CONTACT_PENALTY] = "penalty",
                                                           [CONTACT_NONE] = "none"};
NAMES(thenar_contact_method, contact_method_names)

const char *const contact_pressure_names[THENAR_CONTACT_PRESSURE_COUNT] = {"adaptive", "penetration", "uniform"};
NAMES(thenar_contact_pressure, contact_pressure_names)

#define MAX_CONTACTS 2048 /* at a time; their memory is part of every snapshot */
#define MAX_DYNAMIC 256   /* rigid bodies that may touch: all their unknowns are coupled */
#define MAX_SOFT 256      /* soft bodies that may touch: any two are a pair */

static bool can_move(const body_model *body) {
    return body->system_node_count > 0;
}

static bool is_rigid(const body_model *body) {
    return body->kind == &rigid_class;
}

/* Soft bodies and dynamic rigid bodies have contact points. */
static bool has_points(const body_model *body) {
    return body->touches && (!is_rigid(body) || ((const rigid_model *)body)->motion == THENAR_MOTION_DYNAMIC);
}

static double self_distance(const body_model *body) {
    return is_rigid(body) ? 0 : ((const soft_model *)body)->self_distance;
}

/* The other body is rigid, or both are soft. Only a soft body touches itself. */
static bool may_touch(const body_model *skin, const body_model *other) {
    if (skin != other && skin->family != 0 && skin->family == other->family) return false;
    return has_points(skin) && other->touches && (can_move(skin) || can_move(other)) &&
           (skin == other ? self_distance(skin) > 0 : is_rigid(other) || !is_rigid(skin));
}

/* The bodies that may be touched: usually few of many. */
typedef struct touchable {
    int *bodies;
    int count;
} touchable;

static thenar_status find_touchable(body_model *const *bodies, int body_count, touchable *out, thenar_error *error) {
    *out = (touchable){.bodies = MEMORY_ARRAY(int, body_count)};
    if (!out->bodies) return error_memory(error, "contacts");
    int dynamic = 0, soft = 0;
    for (int i = 0; i < body_count; i++) {
        if (!bodies[i]->touches) continue;
        out->bodies[out->count++] = i;
        dynamic += is_rigid(bodies[i]) && can_move(bodies[i]);
        soft += !is_rigid(bodies[i]);
    }
    bool many_dynamic = dynamic > MAX_DYNAMIC;
    if (!many_dynamic && soft <= MAX_SOFT) return THENAR_OK;
    return error_set(
        error, THENAR_ERROR_INPUT, "%d %s bodies that may touch; expected at most %d, the others with touches: false",
        many_dynamic ? dynamic : soft, many_dynamic ? "dynamic rigid" : "soft", many_dynamic ? MAX_DYNAMIC : MAX_SOFT);
}

/* Creates the faces of a soft body if its own points or those of another body may touch it. */
static thenar_status create_faces(contact_model *contacts, body_model *const *bodies, int skin, const touchable *others,
                                  thenar_error *error) {
    int body = contacts->skin_body[skin];
    bool wanted = false;
    for (int k = 0; k < others->count && !wanted; k++) wanted = may_touch(bodies[others->bodies[k]], bodies[body]);
    if (is_rigid(bodies[body]) || !wanted) return THENAR_OK;
    return contact_faces_create(&contacts->skins[skin], self_distance(bodies[body]), &contacts->faces[skin], error);
}

static thenar_status create_skins(contact_model *contacts, body_model *const *bodies, int body_count,
                                  const touchable *others, thenar_error *error) {
    contacts->skins = MEMORY_ARRAY(contact_skin, body_count);
    contacts->faces = MEMORY_ARRAY(contact_faces, body_count);
    contacts->skin_of = MEMORY_ARRAY(int, body_count);
    contacts->skin_body = MEMORY_ARRAY(int, body_count);
    if (!contacts->skins || !contacts->faces || !contacts->skin_of || !contacts->skin_body)
        return error_memory(error, "contacts");
    for (int i = 0; i < body_count; i++) {
        bool wanted = false;
        for (int k = 0; k < others->count && !wanted; k++) wanted = may_touch(bodies[i], bodies[others->bodies[k]]);
        contacts->skin_of[i] = -1;
        if (!wanted) continue;
        thenar_status status = contact_skin_create(bodies[i], &contacts->skins[contacts->skin_count], error);
        if (status != THENAR_OK) return status;
        contacts->skin_body[contacts->skin_count] = i;
        contacts->skin_of[i] = contacts->skin_count++;
        status = create_faces(contacts, bodies, contacts->skin_of[i], others, error);
        if (status != THENAR_OK) return status;
    }
    return THENAR_OK;
}

/* Each body has a coefficient of friction; a pair has the geometric mean. Equal coefficients are kept, and nothing
 * sticks to a body without friction. */
static thenar_status create_pairs(contact_model *contacts, body_model *const *bodies, int body_count,
                                  const touchable *others, thenar_error *error) {
    ARRAY(contact_pair) pairs = {0};
    bool enough = true;
    for (int i = 0; i < body_count && enough; i++)
        for (int r = 0; r < others->count && enough; r++) {
            int k = others->bodies[r];
            if (!may_touch(bodies[i], bodies[k])) continue;
            contact_pair pair = {.body = {i, k},
                                 .skin = contacts->skin_of[i],
                                 .faces = is_rigid(bodies[k]) ? -1 : contacts->skin_of[k],
                                 .mu = sqrt(bodies[i]->friction * bodies[k]->friction)};
            enough = ARRAY_PUSH(&pairs, pair);
        }
    contacts->pairs = pairs.data;
    contacts->pair_count = (int)pairs.count;
    return enough ? THENAR_OK : error_memory(error, "contacts");
}

thenar_status contact_model_create(body_model *const *bodies, int body_count, double margin, penalty_law law,
                                   contact_model *out, thenar_error *error) {
    *out = (contact_model){.margin = margin, .law = law};
    touchable others;
    thenar_status status = find_touchable(bodies, body_count, &others, error);
    if (status == THENAR_OK) status = create_skins(out, bodies, body_count, &others, error);
    if (status == THENAR_OK) status = create_pairs(out, bodies, body_count, &others, error);
    free(others.bodies);
    if (status != THENAR_OK) contact_model_free(out);
    return status;
}

void contact_model_free(contact_model *contacts) {
    for (int i = 0; i < contacts->skin_count; i++) {
        contact_faces_free(&contacts->faces[i]);
        contact_skin_free(&contacts->skins[i]);
    }
    free(contacts->skins);
    free(contacts->faces);
    free(contacts->skin_of);
    free(contacts->skin_body);
    free(contacts->pairs);
    free(contacts->targets);
    free(contacts->pair_of);
    *contacts = (contact_model){0};
}

/* The first body of an island, with path halving. */
static int first_of(int *island, int body) {
    while (island[body] != body) body = island[body] = island[island[body]];
    return body;
}

void contact_join_islands(const contact_model *contacts, body_model *const *bodies, int body_count, int *island) {
    for (int i = 0; i < body_count; i++) island[i] = i;
    for (int k = 0; k < contacts->pair_count; k++) {
        int a = contacts->pairs[k].body[0], b = contacts->pairs[k].body[1];
        if (!can_move(bodies[a]) || !can_move(bodies[b])) continue;
        a = first_of(island, a), b = first_of(island, b);
        island[a > b ? a : b] = a < b ? a : b;
    }
    for (int i = 0; i < body_count; i++) island[i] = first_of(island, i);
}

static int find_in(const int *bodies, int count, int body) {
    for (int k = 0; k < count; k++)
        if (bodies[k] == body) return k;
    return -1;
}

static bool couple_three(body_couplings *couplings, int node, int rigid_node) {
    return ARRAY_PUSH(&couplings->start, (int)couplings->node.count) && ARRAY_PUSH(&couplings->node, node) &&
           ARRAY_PUSH(&couplings->node, rigid_node + RIGID_LINEAR) &&
           ARRAY_PUSH(&couplings->node, rigid_node + RIGID_ANGULAR);
}

/* Any free node of the skin may come to touch the rigid body. */
static bool couple_soft(const contact_skin *skin, int first_node, int rigid_node, body_couplings *couplings) {
    const soft_model *soft = (const soft_model *)skin->body;
    bool *carries = MEMORY_ARRAY(bool, soft->mesh.node_count);
    bool enough = carries != NULL;
    for (int i = 0; i < skin->point_count && enough; i++)
        for (int k = 0; k < 4; k++)
            if (skin->holds[i].weights[k] != 0) carries[skin->holds[i].node[k]] = true;
    for (int i = 0; i < soft->mesh.node_count && enough; i++)
        if (carries[i] && soft->system_node[i] >= 0)
            enough = couple_three(couplings, first_node + soft->system_node[i], rigid_node);
    free(carries);
    return enough;
}

bool contact_couple(const contact_model *contacts, body_model *const *bodies, const int *system_bodies,
                    const int *first_node, int system_body_count, body_couplings *couplings) {
    bool enough = true;
    for (int k = 0; k < contacts->pair_count && enough; k++) {
        const body_model *skin = bodies[contacts->pairs[k].body[0]], *rigid = bodies[contacts->pairs[k].body[1]];
        int a = find_in(system_bodies, system_body_count, contacts->pairs[k].body[0]);
        int b = find_in(system_bodies, system_body_count, contacts->pairs[k].body[1]);
        /* Two soft bodies are not coupled: any two nodes may meet, and few do at a time (solver/soft_coupling.c). */
        if (a < 0 || b < 0 || !is_rigid(rigid) || !can_move(skin) || !can_move(rigid)) continue;
        int first = first_node[a], rigid_node = first_node[b];
        if (is_rigid(skin))
            enough = couple_three(couplings, first + RIGID_LINEAR, rigid_node) &&
                     couple_three(couplings, first + RIGID_ANGULAR, rigid_node);
        else
            enough = couple_soft(&contacts->skins[contacts->skin_of[contacts->pairs[k].body[0]]], first, rigid_node,
                                 couplings);
    }
    return enough;
}

static int compare_pairs(const void *one, const void *two) {
    const contact_pair *a = one, *b = two;
    if (a->system != b->system) return a->system < b->system ? -1 : 1;
    if (a->body[0] != b->body[0]) return a->body[0] < b->body[0] ? -1 : 1;
    return a->body[1] < b->body[1] ? -1 : a->body[1] > b->body[1];
}

/* Lists the targets, and fills the table from skins and targets to pairs. */
static thenar_status list_targets(contact_model *contacts, int body_count, thenar_error *error) {
    int *place = MEMORY_ARRAY(int, body_count); /* among the targets */
    contacts->targets = MEMORY_ARRAY(int, body_count);
    if (place && contacts->targets) {
        for (int k = 0; k < contacts->pair_count; k++) place[contacts->pairs[k].body[1]] = 1;
        for (int i = 0; i < body_count; i++) {
            if (!place[i]) continue;
            place[i] = contacts->target_count;
            contacts->targets[contacts->target_count++] = i;
        }
        size_t slots = (size_t)contacts->skin_count * (size_t)contacts->target_count;
        contacts->pair_of = MEMORY_ARRAY(int, slots);
        if (contacts->pair_of) memset(contacts->pair_of, -1, slots * sizeof *contacts->pair_of);
    }
    for (int k = 0; k < contacts->pair_count && contacts->pair_of; k++) {
        const contact_pair *pair = &contacts->pairs[k];
        contacts->pair_of[(size_t)pair->skin * (size_t)contacts->target_count + (size_t)place[pair->body[1]]] = k;
    }
    free(place);
    return contacts->pair_of ? THENAR_OK : error_memory(error, "contacts");
}

thenar_status contact_model_assign(contact_model *contacts, body_model *const *bodies, int body_count,
                                   const int *system_of, thenar_error *error) {
    for (int k = 0; k < contacts->pair_count; k++) {
        contact_pair *pair = &contacts->pairs[k];
        pair->system = system_of[can_move(bodies[pair->body[0]]) ? pair->body[0] : pair->body[1]];
    }
    if (contacts->pair_count > 0)
        qsort(contacts->pairs, (size_t)contacts->pair_count, sizeof *contacts->pairs, compare_pairs);
    for (int k = 0; k < contacts->pair_count; k++)
        contacts->capacity += contacts->skins[contacts->pairs[k].skin].point_count;
    if (contacts->capacity > MAX_CONTACTS) contacts->capacity = MAX_CONTACTS;
    return list_targets(contacts, body_count, error);
}

int contact_system_capacity(const contact_model *contacts, int system, bool *couples_soft) {
    int max = 0;
    *couples_soft = false;
    for (int k = 0; k < contacts->pair_count; k++) {
        if (contacts->pairs[k].system != system) continue;
        max += contacts->skins[contacts->pairs[k].skin].point_count;
        if (max > contacts->capacity) max = contacts->capacity;
        *couples_soft = *couples_soft || contacts->pairs[k].faces >= 0;
    }
    return max;
}
