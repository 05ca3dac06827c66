/* The flesh of a hand as soft bodies that hang on its bones: as one, or as separate phalanges. */
#include "body/hand_hang.h"

#include "shape/hand_phalanges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JOINT_TAG HAND_BONES /* of tets at joints, while a model is made */

/* Mean of the diagonal of K_ii of a node: (lambda + 4 mu) |grad N_i|^2 V / 3, summed over its tets. */
static void measure_stiffness(const soft_model *body, double *stiffness) {
    for (int t = 0; t < body->mesh.tet_count; t++) {
        const soft_batch *batch = &body->batches[t / SIMD_LANES];
        int lane = t % SIMD_LANES;
        vec3 first = {0};
        for (int a = 3; a >= 0; a--) {
            vec3 gradient = vec3_scale(first, -1);
            if (a > 0) {
                int row = 3 * (a - 1);
                gradient = vec3_make(batch->gradient[row][lane], batch->gradient[row + 1][lane],
                                     batch->gradient[row + 2][lane]);
                first = vec3_add(first, gradient);
            }
            stiffness[batch->node[a][lane]] +=
                (batch->lambda[lane] + 4 * batch->mu[lane]) * vec3_dot(gradient, gradient) / 3;
        }
    }
}

/* What of a soft body hangs on which bones, and how firmly: its core by the full springs, its skin by a share. */
static thenar_status hang_flesh(const thenar_hand_def *def, const hand_skinning *skinning, const double *core,
                                const hand_frame *joint, soft_model *body, hand_flesh *flesh, thenar_error *error) {
    int nodes = flesh->node_count = body->mesh.node_count;
    flesh->hold_start = MEMORY_ARRAY(int, nodes + 1);
    flesh->holds = MEMORY_ARRAY(hand_hold, HAND_SKINNING_BONES * (size_t)nodes);
    flesh->stiffness = MEMORY_ARRAY(double, nodes);
    if (!flesh->hold_start || !flesh->holds || !flesh->stiffness) return error_memory(error, "hand");
    int count = 0;
    for (int i = 0; i < nodes; i++) {
        vec3 x = vec3_load(body->mesh.positions + 3 * i);
        for (int k = 0; k < HAND_SKINNING_BONES && skinning[i].weight[k] > 0; k++) {
            const hand_frame *frame = &joint[hand_bone_joint(skinning[i].bone[k])];
            flesh->holds[count++] =
                (hand_hold){.bone = skinning[i].bone[k],
                            .weight = skinning[i].weight[k],
                            .local = quat_rotate(quat_conjugate(frame->rotation), vec3_sub(x, frame->position))};
        }
        flesh->hold_start[i + 1] = count;
        double share = def->skin_share + (1 - def->skin_share) * core[i];
        body->stiffness[i] = share * def->flesh_stiffness;
        body->damping[i] = share * def->flesh_damping;
    }
    body->weightless = !def->weight;
    measure_stiffness(body, flesh->stiffness);
    return THENAR_OK;
}

/* Where fingers bend, flesh folds: limits are wider in tets whose corners follow different bones. False: nowhere. */
static bool loosen_joints(const thenar_hand_def *def, const thenar_material *flesh, thenar_soft_region *region) {
    *region = (thenar_soft_region){.region = {.kind = THENAR_REGION_TAG, .tag = JOINT_TAG}, .material = *flesh};
    thenar_material *folds = &region->material;
    bool min = def->joint_stretch_min > 0 && folds->stretch_min > 0;
    bool max = def->joint_stretch_max > 0 && folds->stretch_max > 0;
    if (min) folds->stretch_min = fmin(def->joint_stretch_min, folds->stretch_min);
    if (max) folds->stretch_max = fmax(def->joint_stretch_max, folds->stretch_max);
    return min || max;
}

/* Tags of the tets, those of joints marked. free() them. */
static int *mark_joints(const thenar_tet_mesh *mesh, const int *node_bone) {
    int *tags = memory_copy(mesh->tags, (size_t)mesh->tet_count * sizeof *tags);
    for (int t = 0; tags && t < mesh->tet_count; t++)
        for (int a = 1; a < 4; a++)
            if (node_bone[mesh->tets[4 * t + a]] != node_bone[mesh->tets[4 * t]]) tags[t] = JOINT_TAG;
    return tags;
}

/* What all flesh of a hand has in common. */
static thenar_soft_def flesh_def(const thenar_hand_def *def, const char *name) {
    thenar_soft_def soft = thenar_soft_def_default();
    soft.name = name;
    soft.material = def->material;
    soft.material.density *= 1 - def->bone_share;
    soft.touches = def->touches;
    soft.friction = def->friction;
    return soft;
}

/* The wanted distances between points that touch. free() them; NULL in *out: every vertex touches. */
static thenar_status space_points(const thenar_hand_def *def, const double *spacing, int count, double **out,
                                  thenar_error *error) {
    *out = NULL;
    if (!(def->contact_spacing > 0)) return THENAR_OK;
    *out = MEMORY_ARRAY(double, count);
    for (int i = 0; *out && i < count; i++) (*out)[i] = def->contact_spacing * spacing[i];
    return *out ? THENAR_OK : error_memory(error, def->name);
}

/* The hand as one soft body. */
static thenar_status make_whole(const thenar_hand_def *def, const hand_shape *shape, const double *fill,
                                hand_model *hand, soft_model **flesh, thenar_error *error) {
    thenar_soft_def soft = flesh_def(def, def->name);
    soft.surface = &shape->skin;
    soft.embedding = &shape->embedding;
    soft.fill = fill;
    /* Regions are found by tags: joints have one of their own until the model is made. */
    thenar_tet_mesh marked = shape->mesh;
    marked.tags = mark_joints(&shape->mesh, shape->node_bone);
    double *spacing = NULL;
    thenar_status status = marked.tags
                               ? space_points(def, shape->contact_spacing, shape->skin.vertex_count, &spacing, error)
                               : error_memory(error, def->name);
    thenar_soft_region joints;
    soft.mesh = &marked;
    soft.regions = &joints;
    soft.region_count = loosen_joints(def, &soft.material, &joints);
    soft.contact_spacing_at = spacing;
    soft.contact_groups = shape->vertex_bone;
    soft.self_distance = def->self_distance;
    if (status == THENAR_OK) status = soft_model_create(&soft, &flesh[0], error);
    free(marked.tags);
    free(spacing);
    if (status != THENAR_OK) return status;
    memcpy(flesh[0]->mesh.tags, shape->mesh.tags, (size_t)shape->mesh.tet_count * sizeof *shape->mesh.tags);
    hand->flesh_count = 1;
    return hang_flesh(def, shape->node_skinning, shape->node_core, shape->joint, flesh[0], &hand->flesh[0], error);
}

/* One phalanx as a soft body: nodes in its bone are held, by the full springs, and no others. */
static thenar_status make_phalanx(const thenar_hand_def *def, const hand_shape *shape, const hand_phalanx *piece,
                                  soft_model **body, hand_flesh *flesh, thenar_error *error) {
    char name[256];
    snprintf(name, sizeof name, "%s.%s", def->name, hand_bone_name(piece->bone));
    thenar_soft_def soft = flesh_def(def, name);
    int nodes = piece->mesh.node_count, tets = piece->mesh.tet_count;
    double *fill = MEMORY_ARRAY(double, tets), *core = MEMORY_ARRAY(double, nodes), *spacing = NULL;
    hand_skinning *skinning = MEMORY_ARRAY(hand_skinning, nodes);
    thenar_status status = fill && core && skinning
                               ? space_points(def, piece->contact_spacing, piece->skin.vertex_count, &spacing, error)
                               : error_memory(error, name);
    for (int t = 0; t < tets && status == THENAR_OK; t++) fill[t] = fmax(HAND_SMALLEST_FILL, fmin(1, piece->fill[t]));
    for (int i = 0; i < nodes && status == THENAR_OK; i++) {
        core[i] = piece->held[i];
        skinning[i] = (hand_skinning){.bone = {piece->bone}, .weight = {1}};
    }
    soft.mesh = &piece->mesh;
    soft.surface = &piece->skin;
    soft.embedding = &piece->embedding;
    soft.fill = fill;
    soft.contact_spacing_at = spacing;
    if (status == THENAR_OK) status = soft_model_create(&soft, body, error);
    thenar_hand_def firm = *def;
    firm.skin_share = 0;
    if (status == THENAR_OK) status = hang_flesh(&firm, skinning, core, shape->joint, *body, flesh, error);
    free(fill);
    free(core);
    free(spacing);
    free(skinning);
    return status;
}

/* The hand as separate phalanges (talvas2015, section 4), without flesh on its palm. */
static thenar_status make_phalanges(const thenar_hand_def *def, const hand_shape *shape, hand_model *hand,
                                    soft_model **flesh, thenar_error *error) {
    hand_phalanges_options options = hand_phalanges_options_default();
    if (def->tets >= HAND_PHALANGES_TETS_MIN) options.tets = def->tets;
    options.only = def->only;
    hand_phalanges pieces;
    thenar_status status = hand_phalanges_create(shape, &options, &pieces, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < pieces.count && status == THENAR_OK; i++) {
        status = make_phalanx(def, shape, &pieces.piece[i], &flesh[i], &hand->flesh[i], error);
        hand->flesh_count = i + 1;
    }
    hand_phalanges_free(&pieces);
    return status;
}

/* Which of the pieces of flesh is a bone's, or -1: phalanges that have none are left out. */
static int flesh_of(const thenar_hand_def *def, int bone) {
    if (!def->phalanges) return 0;
    if (def->only && !(def->only >> bone & 1)) return -1;
    int before = 0;
    for (int b = 1; b < bone; b++) before += !def->only || def->only >> b & 1;
    return before;
}

/* The pads of the fingers, on the skin of the flesh that has them; a finger whose last phalanx has no flesh has an empty
 * one. */
static thenar_status find_pads(const thenar_hand_def *def, const hand_shape *shape, soft_model *const *flesh,
                               hand_model *hand, thenar_error *error) {
    thenar_status status = THENAR_OK;
    for (int finger = 0; finger < HAND_FINGERS && status == THENAR_OK; finger++) {
        int bone = 3 * finger + 3;
        hand_pad_model *pad = &hand->pad[finger];
        int piece = flesh_of(def, bone);
        pad->frame = shape->joint[hand_bone_joint(bone)];
        if (piece < 0) continue;
        pad->flesh = piece;
        status = hand_region_find_pad(&flesh[piece]->surface, def->phalanges ? NULL : shape->vertex_bone, bone,
                                      shape->joint, &pad->region, error);
    }
    return status;
}

thenar_status hand_hang_flesh(const thenar_hand_def *def, const hand_shape *shape, const double *fill, hand_model *hand,
                              soft_model **flesh, thenar_error *error) {
    thenar_status status = def->phalanges ? make_phalanges(def, shape, hand, flesh, error)
                                          : make_whole(def, shape, fill, hand, flesh, error);
    return status == THENAR_OK ? find_pads(def, shape, flesh, hand, error) : status;
}
