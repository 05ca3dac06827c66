/* From the definition of a handle to its model: which nodes, mass and inertia, springs. */
#include "body/handle.h"

#include "base/text.h"
#include "body/region.h"

#include <stdlib.h>
#include <string.h>

#define FEWEST_NODES 3
#define FLATTEST 1e-9 /* least inertia of the largest: nodes in line have none about it */
#define STIFFEST 1e9  /* N/m and N m/rad */

thenar_handle_def thenar_handle_def_default(void) {
    return (thenar_handle_def){.spring_stiffness = 2000,
                               .spring_damping = 2,
                               .stiffness = 2000,
                               .damping = 20,
                               .turn_stiffness = 2,
                               .turn_damping = 0.02,
                               .most_force = 100,
                               .most_torque = 5};
}

static thenar_status check_number(const char *name, double value, bool positive, thenar_error *error) {
    if (value >= 0 && value <= STIFFEST && !(positive && value == 0)) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s to %g", name, value, positive ? "above 0" : "0",
                     STIFFEST);
}

static thenar_status check(const thenar_handle_def *def, thenar_error *error) {
    if (!def->name || !def->name[0] || !text_is_printable(def->name))
        return error_set(error, THENAR_ERROR_INPUT, "a handle without a name; expected printable text");
    thenar_status status = check_number("spring_stiffness", def->spring_stiffness, true, error);
    if (status == THENAR_OK) status = check_number("spring_damping", def->spring_damping, false, error);
    if (status == THENAR_OK) status = check_number("stiffness", def->stiffness, false, error);
    if (status == THENAR_OK) status = check_number("damping", def->damping, false, error);
    if (status == THENAR_OK) status = check_number("turn_stiffness", def->turn_stiffness, false, error);
    if (status == THENAR_OK) status = check_number("turn_damping", def->turn_damping, false, error);
    if (status == THENAR_OK) status = check_number("most_force", def->most_force, false, error);
    if (status == THENAR_OK) status = check_number("most_torque", def->most_torque, false, error);
    thenar_support path = {
        .name = def->name, .keys = def->keys, .key_count = def->key_count, .has_pivot = def->has_pivot};
    vec3_store(path.pivot, vec3_load(def->pivot));
    return status == THENAR_OK ? support_check(&path, error) : status;
}

void handle_free(body_model *base) {
    handle_model *handle = (handle_model *)base;
    free(handle->links);
    free(handle->blocks);
    rigid_model_free(base);
}

/* Name, gains and path; on failure nothing is left. */
static handle_model *make(const thenar_handle_def *def) {
    handle_model *handle = MEMORY_ARRAY(handle_model, 1);
    if (!handle) return NULL;
    handle->rigid.base = (body_model){.kind = &handle_class, .name = memory_string(def->name)};
    handle->rigid.orientation = quat_identity();
    handle->rigid.path.keys = memory_copy(def->keys, (size_t)def->key_count * sizeof *def->keys);
    handle->rigid.path.key_count = def->key_count;
    handle->rigid.path.linear = def->linear;
    handle->coupling = (skeleton_coupling){.target = {.orientation = quat_identity()},
                                           .stiffness = def->stiffness,
                                           .damping = def->damping,
                                           .turn_stiffness = def->turn_stiffness,
                                           .turn_damping = def->turn_damping,
                                           .most_force = def->most_force,
                                           .most_torque = def->most_torque};
    handle->hand = handle->bone = -1;
    handle->linearize = def->linearize;
    if (handle->rigid.base.name && handle->rigid.path.keys) return handle;
    handle_free(&handle->rigid.base);
    return NULL;
}

/* The nodes in the sphere, none of which may hang on anything else. */
static thenar_status pick(const thenar_handle_def *def, const soft_model *tool, handle_model *handle,
                          thenar_error *error) {
    thenar_region sphere = {.kind = THENAR_REGION_SPHERE, .radius = def->radius};
    vec3_store(sphere.a, vec3_load(def->seed));
    thenar_status status = region_check(&sphere, error);
    if (status != THENAR_OK) return status;
    int nodes = tool->mesh.node_count;
    bool *marked = MEMORY_ARRAY(bool, nodes);
    handle->links = MEMORY_ARRAY(handle_link, nodes);
    if (!marked || !handle->links) {
        free(marked);
        return error_memory(error, def->name);
    }
    region_mark_nodes(&sphere, &tool->mesh, marked);
    for (int i = 0; i < nodes && status == THENAR_OK; i++) {
        if (!marked[i]) continue;
        if (tool->system_node[i] < 0 || tool->stiffness[i] > 0)
            status = error_set(error, THENAR_ERROR_INPUT,
                               "handle %s: node %d is held by a support, a bone or another handle; expected free nodes "
                               "within %g m of the seed",
                               def->name, i, def->radius);
        handle->links[handle->link_count++] = (handle_link){.body = handle->body, .node = i, .weight = 1};
    }
    free(marked);
    if (status == THENAR_OK && handle->link_count < FEWEST_NODES)
        status = error_set(error, THENAR_ERROR_INPUT,
                           "handle %s: %d nodes of %s lie within %g m of the seed; expected at least %d", def->name,
                           handle->link_count, tool->base.name, def->radius, FEWEST_NODES);
    return status;
}

/* Mass and inertia of the lumped nodes; the frame is at their centre. */
static thenar_status weigh(const soft_model *tool, handle_model *handle, thenar_error *error) {
    rigid_model *rigid = &handle->rigid;
    vec3 sum = {0};
    for (int k = 0; k < handle->link_count; k++) {
        int node = handle->links[k].node;
        rigid->mass += tool->mass[node];
        sum = vec3_mul_add(sum, vec3_load(tool->mesh.positions + 3 * node), tool->mass[node]);
    }
    rigid->position = vec3_scale(sum, 1 / rigid->mass);
    double largest = 0;
    for (int k = 0; k < handle->link_count; k++) {
        handle_link *link = &handle->links[k];
        vec3 r = link->local = vec3_sub(vec3_load(tool->mesh.positions + 3 * link->node), rigid->position);
        mat3 own = mat3_scale(mat3_outer(r, r), -1);
        for (int i = 0; i < 9; i += 4) own.m[i] += vec3_dot(r, r);
        rigid->inertia = mat3_add(rigid->inertia, mat3_scale(own, tool->mass[link->node]));
        largest = fmax(largest, vec3_length(r));
    }
    mat3 I = mat3_scale(rigid->inertia, 1 / (rigid->mass * largest * largest));
    if (mat3_determinant(I) > FLATTEST) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "handle %s: its %d nodes are in line; expected nodes around the seed",
                     rigid->base.name, handle->link_count);
}

thenar_status handle_model_create(const thenar_handle_def *def, soft_model *tool, int body, handle_model **out,
                                  thenar_error *error) {
    *out = NULL;
    thenar_status status = check(def, error);
    if (status != THENAR_OK) return status;
    handle_model *handle = make(def);
    if (!handle) return error_memory(error, def->name);
    handle->body = body;
    status = pick(def, tool, handle, error);
    if (status == THENAR_OK) status = weigh(tool, handle, error);
    handle->blocks = memory_array((size_t)handle->link_count, sizeof *handle->blocks);
    if (status == THENAR_OK && !handle->blocks) status = error_memory(error, def->name);
    if (status != THENAR_OK) {
        handle_free(&handle->rigid.base);
        return status;
    }
    handle->rigid.motion = THENAR_MOTION_DYNAMIC;
    handle->rigid.path.pivot = def->has_pivot ? vec3_load(def->pivot) : handle->rigid.position;
    for (int k = 0; k < handle->link_count; k++) {
        tool->stiffness[handle->links[k].node] = def->spring_stiffness;
        tool->damping[handle->links[k].node] = def->spring_damping;
    }
    *out = handle;
    return THENAR_OK;
}

static double carried_weight(const handle_model *handle, const hand_hold *holds, int count) {
    double sum = 0;
    for (int k = 0; k < count; k++) sum += handle->carries[holds[k].bone] ? holds[k].weight : 0;
    return sum;
}

/* The nodes that hang on bones which the handle carries, over all flesh of the hand. False: out of memory. */
static bool take_holds(const hand_model *hand, handle_model *handle) {
    int nodes = 0;
    for (int k = 0; k < hand->flesh_count; k++) nodes += hand->flesh[k].node_count;
    handle->links = MEMORY_ARRAY(handle_link, nodes);
    if (!handle->links) return false;
    for (int k = 0; k < hand->flesh_count; k++) {
        const hand_flesh *flesh = &hand->flesh[k];
        for (int i = 0; i < flesh->node_count; i++) {
            const hand_hold *holds = flesh->holds + flesh->hold_start[i];
            int count = flesh->hold_start[i + 1] - flesh->hold_start[i];
            double weight = carried_weight(handle, holds, count);
            if (weight > 0)
                handle->links[handle->link_count++] = (handle_link){
                    .body = flesh->body, .node = i, .weight = weight, .holds = holds, .hold_count = count};
        }
    }
    return true;
}

/* The bones beyond it; mass and inertia of all, about its joint, in its axes, at rest. */
static void take_bones(const hand_model *hand, handle_model *handle) {
    const skeleton_model *model = hand->skeleton.model;
    skeleton_pose pose[HAND_BONES] = {{.orientation = quat_identity()}};
    skeleton_place(model, hand->skeleton.rest, pose);
    quat back = quat_conjugate(pose[handle->bone].orientation);
    for (int b = handle->bone; b < HAND_BONES; b++) {
        const skeleton_bone *bone = &model->bones[b];
        handle->carries[b] = b == handle->bone || (bone->parent >= 0 && handle->carries[bone->parent]);
        if (!handle->carries[b]) continue;
        mat3 R = quat_to_mat3(quat_mul(back, pose[b].orientation));
        vec3 r = quat_rotate(back, vec3_sub(pose[b].position, pose[handle->bone].position));
        r = vec3_add(r, mat3_mul_vec(R, bone->centre));
        mat3 own = mat3_add(mat3_mul(mat3_mul(R, bone->inertia), mat3_transpose(R)),
                            mat3_scale(mat3_mul(mat3_skew(r), mat3_skew(r)), -bone->mass));
        handle->rigid.mass += bone->mass;
        handle->rigid.inertia = mat3_add(handle->rigid.inertia, own);
    }
}

thenar_status handle_model_on_bone(const thenar_handle_def *def, const hand_model *hand, int number, handle_model **out,
                                   thenar_error *error) {
    *out = NULL;
    thenar_status status = check(def, error);
    if (status != THENAR_OK) return status;
    int joint = hand_joint_find(def->bone), bone = HAND_BONES - 1;
    while (bone >= 0 && (joint < 0 || hand_bone_joint(bone) != (hand_joint)joint)) bone--;
    if (bone < 0)
        return error_set(error, THENAR_ERROR_INPUT,
                         "handle %s: no bone begins at %s; expected wrist, or a joint of WebXR at which a bone of a "
                         "finger begins, as index-finger-phalanx-distal",
                         def->name, def->bone);
    if (def->key_count > 0)
        return error_set(error, THENAR_ERROR_INPUT,
                         "handle %s: keys for a bone; expected the hand's own keys and poses", def->name);
    handle_model *handle = make(def);
    if (!handle) return error_memory(error, def->name);
    handle->hand = number;
    handle->bone = bone;
    handle->body = hand->first_body;
    handle->rigid.motion = THENAR_MOTION_STATIC;
    take_bones(hand, handle);
    if (!take_holds(hand, handle)) status = error_memory(error, def->name);
    if (status == THENAR_OK)
        *out = handle;
    else
        handle_free(&handle->rigid.base);
    return status;
}

bool handle_couple(const handle_model *handle, const soft_model *tool, int first_node, int tool_first,
                   body_couplings *couplings) {
    bool enough = true;
    for (int k = 0; k < handle->link_count && enough; k++)
        enough = ARRAY_PUSH(&couplings->start, (int)couplings->node.count) &&
                 ARRAY_PUSH(&couplings->node, tool_first + tool->system_node[handle->links[k].node]) &&
                 ARRAY_PUSH(&couplings->node, first_node + RIGID_LINEAR) &&
                 ARRAY_PUSH(&couplings->node, first_node + RIGID_ANGULAR);
    return enough;
}

void handle_bind(handle_model *handle, const soft_model *tool, const block_pattern *pattern, int first_node,
                 int tool_first) {
    for (int k = 0; k < handle->link_count; k++)
        for (int half = 0; half < RIGID_NODES; half++)
            handle->blocks[k][half] =
                block_pattern_find(pattern, first_node + half, tool_first + tool->system_node[handle->links[k].node]);
}
