/* API: reading a model. */
#include "world/model.h"

#include "thenar/handle.h"

#include <math.h>
#include <string.h>

#define BODY(result) USAGE_BODY(model, model, result)
#define SOFT(result) USAGE_KIND(model, model, false, result)
#define RIGID(result) USAGE_KIND(model, model, true, result)
#define HAND(result) USAGE_HAND(model, model, result)
#define HANDLE(result) USAGE_HANDLE(model, model, result)

static const char *const body_kinds[] = {"soft", "rigid"};
NAMES(thenar_body_kind, body_kinds)

const char *thenar_model_name(const thenar_model *model) {
    USAGE_POINTER(model, "");
    return model->name;
}

double thenar_model_dt(const thenar_model *model) {
    USAGE_POINTER(model, NAN);
    return model->dt;
}

int thenar_model_dof_count(const thenar_model *model) {
    int nodes = 0;
    USAGE_POINTER(model, 0);
    for (int i = 0; i < model->system_count; i++) nodes += model->systems[i].pattern.node_count;
    return 3 * nodes;
}

int thenar_model_body_count(const thenar_model *model) {
    USAGE_POINTER(model, 0);
    return model->body_count;
}

int thenar_model_find_body(const thenar_model *model, const char *name) {
    USAGE_POINTER(model, -1);
    USAGE_POINTER(name, -1);
    for (int i = 0; i < model->body_count; i++)
        if (strcmp(model->bodies[i]->name, name) == 0) return i;
    return -1;
}

const char *thenar_model_body_name(const thenar_model *model, int body) {
    BODY(NULL);
    return model->bodies[body]->name;
}

int thenar_model_body_kind(const thenar_model *model, int body) {
    BODY(-1);
    return model_is_rigid(model, body) ? THENAR_BODY_RIGID : THENAR_BODY_SOFT;
}

/* Number of nodes of the bodies before `end`. */
static int count_nodes(const thenar_model *model, int end) {
    int count = 0;
    for (int i = 0; i < end; i++) count += model_is_rigid(model, i) ? 0 : model_soft(model, i)->mesh.node_count;
    return count;
}

int thenar_model_node_count(const thenar_model *model, int body) {
    USAGE_POINTER(model, 0);
    if (body == THENAR_ALL_BODIES) return count_nodes(model, model->body_count);
    BODY(0);
    return model_is_rigid(model, body) ? 0 : model_soft(model, body)->mesh.node_count;
}

int thenar_model_first_node(const thenar_model *model, int body) {
    BODY(-1);
    return count_nodes(model, body);
}

static int count_vertices(const thenar_model *model, int first, int end) {
    int count = 0;
    for (int i = first; i < end; i++) count += model->bodies[i]->surface->vertex_count;
    return count;
}

int thenar_model_vertex_count(const thenar_model *model, int body) {
    USAGE_POINTER(model, 0);
    if (body == THENAR_ALL_BODIES) return count_vertices(model, 0, model->body_count);
    BODY(0);
    return count_vertices(model, body, body + 1);
}

int thenar_model_first_vertex(const thenar_model *model, int body) {
    BODY(-1);
    return count_vertices(model, 0, body);
}

int thenar_model_rigid_count(const thenar_model *model) {
    int count = 0;
    USAGE_POINTER(model, 0);
    for (int i = 0; i < model->body_count; i++) count += model_is_rigid(model, i);
    return count;
}

double thenar_model_mass(const thenar_model *model, int body) {
    BODY(NAN);
    return model->bodies[body]->mass;
}

thenar_status thenar_model_inertia(const thenar_model *model, int body, double inertia[9]) {
    RIGID(THENAR_ERROR_USAGE);
    USAGE_POINTER(inertia, THENAR_ERROR_USAGE);
    memcpy(inertia, model_rigid(model, body)->inertia.m, 9 * sizeof *inertia);
    return THENAR_OK;
}

int thenar_model_motion(const thenar_model *model, int body) {
    RIGID(-1);
    return (int)model_rigid(model, body)->motion;
}

int thenar_model_support_count(const thenar_model *model, int body) {
    SOFT(0);
    return model_soft(model, body)->support_count;
}

const char *thenar_model_support_name(const thenar_model *model, int body, int support) {
    SOFT(NULL);
    USAGE_INDEX(support, model_soft(model, body)->support_count, NULL);
    const char *name = model_soft(model, body)->supports[support].name;
    return name ? name : "";
}

int thenar_model_find_support(const thenar_model *model, int body, const char *name) {
    SOFT(-1);
    USAGE_POINTER(name, -1);
    const soft_model *soft = model_soft(model, body);
    for (int i = 0; i < soft->support_count; i++)
        if (soft->supports[i].name && strcmp(soft->supports[i].name, name) == 0) return i;
    return -1;
}

const thenar_tet_mesh *thenar_model_mesh(const thenar_model *model, int body) {
    SOFT(NULL);
    return &model_soft(model, body)->mesh;
}

const thenar_surface *thenar_model_surface(const thenar_model *model, int body) {
    BODY(NULL);
    return model->bodies[body]->surface;
}

const thenar_embedding *thenar_model_embedding(const thenar_model *model, int body) {
    SOFT(NULL);
    return &model_soft(model, body)->embedding;
}

const double *thenar_model_masses(const thenar_model *model, int body) {
    SOFT(NULL);
    return model_soft(model, body)->mass;
}

bool thenar_model_stretch_limits(const thenar_model *model, int body, double *limits) {
    SOFT(false);
    USAGE_POINTER(limits, false);
    const soft_model *soft = model_soft(model, body);
    for (int t = 0; t < soft->mesh.tet_count; t++) {
        const soft_batch *batch = &soft->batches[t / SIMD_LANES];
        double min = batch->s_min[t % SIMD_LANES], max = batch->s_max[t % SIMD_LANES];
        limits[2 * t] = min > 0 ? min : 0;
        limits[2 * t + 1] = max < SOFT_NO_LIMIT ? max : 0;
    }
    return soft->base.limited;
}

int thenar_model_contact_pair_count(const thenar_model *model) {
    USAGE_POINTER(model, 0);
    return model->contacts.pair_count;
}

thenar_status thenar_model_contact_pair(const thenar_model *model, int pair, int body[2]) {
    USAGE_POINTER(model, THENAR_ERROR_USAGE);
    USAGE_POINTER(body, THENAR_ERROR_USAGE);
    USAGE_INDEX(pair, model->contacts.pair_count, THENAR_ERROR_USAGE);
    memcpy(body, model->contacts.pairs[pair].body, sizeof model->contacts.pairs[pair].body);
    return THENAR_OK;
}

int thenar_model_warning_count(const thenar_model *model) {
    USAGE_POINTER(model, 0);
    return model->warning_count;
}

const char *thenar_model_warning(const thenar_model *model, int index) {
    USAGE_POINTER(model, NULL);
    USAGE_INDEX(index, model->warning_count, NULL);
    return model->warnings[index];
}

int thenar_model_tactile_count(const thenar_model *model) {
    USAGE_POINTER(model, 0);
    return model->tactile_count;
}

const thenar_tactile_def *thenar_model_tactile(const thenar_model *model, int index) {
    USAGE_POINTER(model, NULL);
    USAGE_INDEX(index, model->tactile_count, NULL);
    return &model->tactile[index];
}

/* ---- Hands ---- */

int thenar_model_hand_count(const thenar_model *model) {
    USAGE_POINTER(model, 0);
    return model->hand_count;
}

int thenar_model_find_hand(const thenar_model *model, const char *name) {
    USAGE_POINTER(model, -1);
    USAGE_POINTER(name, -1);
    for (int i = 0; i < model->hand_count; i++)
        if (strcmp(model->hands[i]->name, name) == 0) return i;
    return -1;
}

const char *thenar_model_hand_name(const thenar_model *model, int hand) {
    HAND(NULL);
    return model->hands[hand]->name;
}

bool thenar_model_hand_is_left(const thenar_model *model, int hand) {
    HAND(false);
    return model->hands[hand]->skeleton.left;
}

int thenar_model_hand_bodies(const thenar_model *model, int hand, int *first) {
    HAND(0);
    if (first) *first = model->hands[hand]->first_body;
    return model->hands[hand]->flesh_count;
}

int thenar_model_hand_of_body(const thenar_model *model, int body) {
    BODY(-1);
    for (int i = 0; i < model->hand_count; i++) {
        const hand_model *hand = model->hands[i];
        if (body >= hand->first_body && body < hand->first_body + hand->flesh_count) return i;
    }
    return -1;
}

thenar_status thenar_model_hand_rest(const thenar_model *model, int hand, double joints[7 * THENAR_HAND_JOINTS]) {
    HAND(THENAR_ERROR_USAGE);
    USAGE_POINTER(joints, THENAR_ERROR_USAGE);
    const hand_skeleton *skeleton = &model->hands[hand]->skeleton;
    const skeleton_bone *palm = &skeleton->model->bones[0];
    skeleton_pose bones[HAND_BONES] = {{palm->offset, palm->rotation}}, frames[HAND_JOINTS];
    skeleton_place(skeleton->model, skeleton->rest, bones);
    hand_skeleton_joints(skeleton, bones, frames);
    for (int j = 0; j < HAND_JOINTS; j++) pose_store(joints + 7 * j, frames[j].position, frames[j].orientation);
    return THENAR_OK;
}

thenar_status thenar_model_hand_limits(const thenar_model *model, int hand, double angle_min[THENAR_HAND_ANGLES],
                                       double angle_max[THENAR_HAND_ANGLES]) {
    HAND(THENAR_ERROR_USAGE);
    const hand_skeleton *skeleton = &model->hands[hand]->skeleton;
    if (angle_min) memcpy(angle_min, skeleton->lower, sizeof skeleton->lower);
    if (angle_max) memcpy(angle_max, skeleton->upper, sizeof skeleton->upper);
    return THENAR_OK;
}

thenar_status thenar_model_hand_pose(const thenar_model *model, int hand, thenar_hand_pose pose,
                                     double angles[THENAR_HAND_ANGLES]) {
    HAND(THENAR_ERROR_USAGE);
    USAGE_INDEX(pose, THENAR_HAND_POSE_COUNT, THENAR_ERROR_USAGE);
    USAGE_POINTER(angles, THENAR_ERROR_USAGE);
    hand_pose_angles(&model->hands[hand]->skeleton, pose, angles);
    return THENAR_OK;
}

double thenar_model_track_time(const thenar_model *model) {
    double longest = 0;
    USAGE_POINTER(model, NAN);
    for (int i = 0; i < model->hand_count; i++)
        if (model->hands[i]->track) longest = fmax(longest, thenar_track_duration(model->hands[i]->track));
    return longest;
}

/* ---- Handles ---- */

thenar_bones thenar_model_bones(const thenar_model *model) {
    USAGE_POINTER(model, THENAR_BONES_COUPLED);
    return model->bones;
}

int thenar_model_handle_count(const thenar_model *model) {
    USAGE_POINTER(model, 0);
    return model->handle_count;
}

int thenar_model_find_handle(const thenar_model *model, const char *name) {
    USAGE_POINTER(model, -1);
    USAGE_POINTER(name, -1);
    for (int i = 0; i < model->handle_count; i++)
        if (strcmp(model_handle(model, i)->rigid.base.name, name) == 0) return i;
    return -1;
}

const char *thenar_model_handle_name(const thenar_model *model, int handle) {
    HANDLE(NULL);
    return model_handle(model, handle)->rigid.base.name;
}

int thenar_model_handle_body(const thenar_model *model, int handle) {
    HANDLE(-1);
    return model_handle(model, handle)->body;
}

thenar_status thenar_model_handle_bone(const thenar_model *model, int handle, int *hand, int *bone) {
    HANDLE(THENAR_ERROR_USAGE);
    if (hand) *hand = model_handle(model, handle)->hand;
    if (bone) *bone = model_handle(model, handle)->bone;
    return THENAR_OK;
}

int thenar_model_handle_node_count(const thenar_model *model, int handle) {
    HANDLE(0);
    return model_handle(model, handle)->link_count;
}

thenar_status thenar_model_handle_mass(const thenar_model *model, int handle, double *mass, double inertia[9]) {
    HANDLE(THENAR_ERROR_USAGE);
    const rigid_model *rigid = &model_handle(model, handle)->rigid;
    if (mass) *mass = rigid->base.mass;
    if (inertia) memcpy(inertia, rigid->inertia.m, sizeof rigid->inertia.m);
    return THENAR_OK;
}
