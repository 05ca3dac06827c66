/* Builds a hand from its definition: shape, flesh as soft bodies, bones with their masses, and the springs between
 * them. The flesh is one soft body, or one per phalanx. */
#include "hand/hand.h"

#include "core/hash.h"
#include "core/text.h"
#include "geometry/meshing.h"
#include "hand/shape.h"
#include "mesh/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hand_bones_names[THENAR_BONES_COUNT] = {"coupled", "split"};
NAMES(thenar_bones, hand_bones_names)

#define JOINT_TAG HAND_BONES /* tag of tets at joints while a model is being built */

/* Mean diagonal of K_ii of a node: (lambda + 4 mu) |grad N_i|^2 V / 3, summed over its tets. */
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

/* A coupled hand: nodes inside bones move with them. */
static thenar_status carry_flesh(const bool *in_bone, const hand_attachment *flesh, soft_model *body,
                                 thenar_error *error) {
    body->carriers = (int(*)[REDUCTION_CARRIERS])MEMORY_ARRAY(int, REDUCTION_CARRIERS *(size_t)flesh->node_count);
    if (!body->carriers) return error_memory(error, "hand");
    for (int i = 0; i < flesh->node_count; i++) {
        for (int c = 0; c < REDUCTION_CARRIERS; c++) body->carriers[i][c] = -1;
        if (!in_bone || !in_bone[i]) continue;
        bones_carriers(flesh, i, body->carriers[i]);
    }
    return THENAR_OK;
}

/* Attaches the nodes of a soft body to bones: the core with the full spring stiffness, the skin with a share of it. */
static thenar_status attach_flesh(const thenar_hand_def *def, bool coupled, const hand_skinning *skinning,
                                  const double *core, const bool *in_bone, const hand_frame *joint, soft_model *body,
                                  hand_attachment *flesh, thenar_error *error) {
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
        if (coupled && in_bone) continue;
        double share = def->skin_share + (1 - def->skin_share) * core[i];
        body->stiffness[i] = share * def->flesh_stiffness;
        body->damping[i] = share * def->flesh_damping;
    }
    body->weightless = !def->weight;
    measure_stiffness(body, flesh->stiffness);
    return coupled ? carry_flesh(in_bone, flesh, body, error) : THENAR_OK;
}

/* Flesh folds where fingers bend: widens the strain limits of tets whose corners follow different bones. False if
 * there are none. */
static bool loosen_joints(const thenar_hand_def *def, const thenar_material *flesh, thenar_soft_region *region) {
    *region = (thenar_soft_region){.region = {.kind = THENAR_REGION_TAG, .tag = JOINT_TAG}, .material = *flesh};
    thenar_material *folds = &region->material;
    bool min = def->joint_stretch_min > 0 && folds->stretch_min > 0;
    bool max = def->joint_stretch_max > 0 && folds->stretch_max > 0;
    if (min) folds->stretch_min = fmin(def->joint_stretch_min, folds->stretch_min);
    if (max) folds->stretch_max = fmax(def->joint_stretch_max, folds->stretch_max);
    return min || max;
}

/* Tags of the tets, with joints marked. The caller frees them. */
static int *mark_joints(const thenar_tet_mesh *mesh, const int *node_bone) {
    int *tags = memory_copy(mesh->tags, (size_t)mesh->tet_count * sizeof *tags);
    for (int t = 0; tags && t < mesh->tet_count; t++)
        for (int a = 1; a < 4; a++)
            if (node_bone[mesh->tets[4 * t + a]] != node_bone[mesh->tets[4 * t]]) tags[t] = JOINT_TAG;
    return tags;
}

#define TISSUE_TAG (JOINT_TAG + 1) /* first tag of the tissues while a model is being built */

/* A graded hand: the material of each tissue. Folds are the limits of joint tissue. */
static int make_tissues(const thenar_hand_def *def, const thenar_material *flesh,
                        thenar_soft_region out[HAND_TISSUES]) {
    const double share[HAND_TISSUES] = {[HAND_TISSUE_SKIN] = def->skin_young,
                                        [HAND_TISSUE_PULP] = 1,
                                        [HAND_TISSUE_JOINT] = def->joint_young,
                                        [HAND_TISSUE_PALM] = def->palm_young};
    thenar_soft_region folds;
    loosen_joints(def, flesh, &folds);
    for (int k = 0; k < HAND_TISSUES; k++) {
        out[k] = (thenar_soft_region){.region = {.kind = THENAR_REGION_TAG, .tag = TISSUE_TAG + k},
                                      .material = k == HAND_TISSUE_JOINT ? folds.material : *flesh};
        out[k].material.young *= share[k];
    }
    return HAND_TISSUES;
}

static int *mark_tissues(const hand_shape *shape) {
    int *tags = MEMORY_ARRAY(int, shape->mesh.tet_count);
    for (int t = 0; tags && t < shape->mesh.tet_count; t++) tags[t] = TISSUE_TAG + shape->tet_tissue[t];
    return tags;
}

/* The definition shared by all flesh of a hand. */
static thenar_soft_def flesh_def(const thenar_hand_def *def, const char *name) {
    thenar_soft_def soft = thenar_soft_def_default();
    soft.name = name;
    soft.material = def->material;
    soft.material.density *= 1 - def->bone_share;
    soft.touches = def->touches;
    soft.friction = def->friction;
    return soft;
}

/* Target spacing of contact points. The caller frees it; NULL in *out means that every vertex is a contact point. */
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
    /* Regions are selected by tag, so joints get a tag of their own until the model is built. */
    thenar_tet_mesh marked = shape->mesh;
    marked.tags = shape->graded ? mark_tissues(shape) : mark_joints(&shape->mesh, shape->node_bone);
    double *spacing = NULL;
    thenar_status status = marked.tags
                               ? space_points(def, shape->contact_spacing, shape->skin.vertex_count, &spacing, error)
                               : error_memory(error, def->name);
    thenar_soft_region regions[HAND_TISSUES];
    soft.mesh = &marked;
    soft.regions = regions;
    soft.region_count =
        shape->graded ? make_tissues(def, &soft.material, regions) : loosen_joints(def, &soft.material, regions);
    soft.contact_spacing_at = spacing;
    soft.contact_groups = shape->vertex_bone;
    soft.self_distance = def->self_distance;
    if (status == THENAR_OK) status = soft_model_create(&soft, &flesh[0], error);
    free(marked.tags);
    free(spacing);
    if (status != THENAR_OK) return status;
    memcpy(flesh[0]->mesh.tags, shape->mesh.tags, (size_t)shape->mesh.tet_count * sizeof *shape->mesh.tags);
    hand->flesh_count = 1;
    return attach_flesh(def, hand->coupled, shape->node_skinning, shape->node_core,
                        shape->graded ? shape->node_in_bone : NULL, shape->joint, flesh[0], &hand->flesh[0], error);
}

/* One phalanx as a soft body. Only the nodes inside its bone are attached, with the full stiffness. */
static thenar_status make_phalanx(const thenar_hand_def *def, bool coupled, const hand_shape *shape,
                                  const hand_phalanx *piece, soft_model **body, hand_attachment *flesh,
                                  thenar_error *error) {
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
    if (status == THENAR_OK)
        status = attach_flesh(&firm, coupled, skinning, core, piece->held, shape->joint, *body, flesh, error);
    free(fill);
    free(core);
    free(spacing);
    free(skinning);
    return status;
}

/* The hand as separate phalanges (talvas2015, section 4); the palm has no flesh. */
static thenar_status make_phalanges(const thenar_hand_def *def, const hand_shape *shape, hand_model *hand,
                                    soft_model **flesh, thenar_error *error) {
    hand_phalanges_options options = hand_phalanges_options_default();
    if (def->tets >= HAND_PHALANGES_TETS_MIN) options.tets = def->tets;
    options.only = def->only;
    hand_phalanges pieces;
    thenar_status status = hand_phalanges_create(shape, &options, &pieces, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < pieces.count && status == THENAR_OK; i++) {
        status = make_phalanx(def, hand->coupled, shape, &pieces.piece[i], &flesh[i], &hand->flesh[i], error);
        hand->flesh_count = i + 1;
    }
    hand_phalanges_free(&pieces);
    return status;
}

/* Index of the flesh of a bone, or -1 for phalanges without flesh. */
static int flesh_of(const thenar_hand_def *def, int bone) {
    if (!def->phalanges) return 0;
    if (def->only && !(def->only >> bone & 1)) return -1;
    int before = 0;
    for (int b = 1; b < bone; b++) before += !def->only || def->only >> b & 1;
    return before;
}

/* The finger pads, on the skin of the flesh that has them. The pad of a finger without flesh on its distal phalanx is
 * empty. */
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

/* Creates the soft bodies of a shape and fills in the hand's attachments. fill: share of each tet that is flesh.
 * flesh: room for HAND_BONES bodies; on error it holds those created so far. */
static thenar_status hand_attach_flesh(const thenar_hand_def *def, const hand_shape *shape, const double *fill,
                                       hand_model *hand, soft_model **flesh, thenar_error *error) {
    thenar_status status = def->phalanges ? make_phalanges(def, shape, hand, flesh, error)
                                          : make_whole(def, shape, fill, hand, flesh, error);
    return status == THENAR_OK ? find_pads(def, shape, flesh, hand, error) : status;
}

/* Flesh whose smallest stretch is above this, as in the papers' hands, cannot fold as far as a fist needs. Muscles would
 * then push bones through it: with limits of 0.9 to 1.1, those of two fingers come as near as 6 mm. */
#define FOLDING_STRETCH 0.7
#define LIGHTEST_BONE 1e-3                      /* kg, of a bone without tets of its own */
#define LARGEST 1e9                             /* largest stiffness or damping */
#define HAND_PHALANGES ((1u << HAND_BONES) - 2) /* bits of bones 1 to 15 */

/* What flesh is made of, by the detail of its tets. */
typedef struct hand_flesh_figures {
    thenar_material material;
    double joint_min, joint_max; /* stretch limits at joints */
} hand_flesh_figures;

/* Coarse flesh has the limits of perez2016. Graded flesh is as soft as the pulp of a fingertip, and its limits are those
 * at which pulp stiffens (bench pad). */
static hand_flesh_figures hand_flesh_default(thenar_hand_detail detail) {
    bool graded = detail != THENAR_HAND_COARSE;
    hand_flesh_figures flesh = {
        .material = thenar_material_default(), .joint_min = graded ? 0.05 : 0.35, .joint_max = graded ? 6 : 1.8};
    flesh.material.young = graded ? 2.5e4 : 6e4;
    flesh.material.poisson = graded ? 0.45 : 0.4;
    flesh.material.density = 1100;
    flesh.material.damping_stiffness = 0.01;
    flesh.material.stretch_min = graded ? 0.35 : 0.9;
    flesh.material.stretch_max = graded ? 2 : 1.1;
    return flesh;
}

thenar_status thenar_hand_def_set_detail(thenar_hand_def *def, thenar_hand_detail detail) {
    if (!def || detail < THENAR_HAND_COARSE || detail > THENAR_HAND_FINE) return THENAR_ERROR_USAGE;
    hand_flesh_figures flesh = hand_flesh_default(detail);
    def->tets = 0;
    def->detail = detail;
    def->material = flesh.material;
    def->joint_stretch_min = flesh.joint_min;
    def->joint_stretch_max = flesh.joint_max;
    return THENAR_OK;
}

thenar_status thenar_hand_def_init(thenar_hand_def *def, size_t size) {
    hand_options shape = hand_options_default();
    retarget_options tracking = retarget_options_default();
    hand_flesh_figures flesh = hand_flesh_default(shape.fineness.detail);
    const thenar_hand_def defaults = {.name = "hand",
                                      .length = shape.length,
                                      .triangles = shape.triangles,
                                      .tets = 0,
                                      .detail = shape.fineness.detail,
                                      .skin_young = 1,
                                      .joint_young = 0.25,
                                      .palm_young = 1,
                                      .pose = {0, 0, 0, 0, 0, 0, 1},
                                      .material = flesh.material,
                                      .joint_stretch_min = flesh.joint_min,
                                      .joint_stretch_max = flesh.joint_max,
                                      .bone_share = 0.2,
                                      .flesh_stiffness = 5000,
                                      .flesh_damping = 1,
                                      .skin_share = 0.02,
                                      .joint_stiffness = 3,
                                      .joint_damping = 0.03,
                                      .base_stiffness = 4000,
                                      .base_damping = 80,
                                      .base_turn_stiffness = 20,
                                      .base_turn_damping = 0.4,
                                      .max_force = 100,
                                      .max_torque = 5,
                                      .bone_coupling = -1,
                                      .touches = true,
                                      .friction = 0.5,
                                      .contact_spacing = 1,
                                      .self_distance = 0.015,
                                      .smoothing = tracking.cutoff,
                                      .fit = true,
                                      .pinch = true,
                                      .smoothing_opening = tracking.opening,
                                      .smoothing_derivative = tracking.derivative_cutoff,
                                      .smoothing_noise = tracking.noise_speed};
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_hand_def");
}

/* A number of the definition and its allowed range. */
typedef struct range {
    const char *name;
    double value, low, high;
    bool above_low;
} range;

static thenar_status check_numbers(const thenar_hand_def *def, thenar_error *error) {
    const range ranges[] = {{"bone_share", def->bone_share, 0.01, 0.99, false},
                            {"joint_stretch_min", def->joint_stretch_min, 0, 1, false},
                            {"joint_stretch_max", def->joint_stretch_max, 0, 1e6, false},
                            {"flesh_stiffness", def->flesh_stiffness, 0, LARGEST, true},
                            {"flesh_damping", def->flesh_damping, 0, LARGEST, false},
                            {"skin_share", def->skin_share, 0, 1, false},
                            {"joint_stiffness", def->joint_stiffness, 0, LARGEST, true},
                            {"joint_damping", def->joint_damping, 0, LARGEST, false},
                            {"base_stiffness", def->base_stiffness, 0, LARGEST, true},
                            {"base_damping", def->base_damping, 0, LARGEST, false},
                            {"base_turn_stiffness", def->base_turn_stiffness, 0, LARGEST, true},
                            {"base_turn_damping", def->base_turn_damping, 0, LARGEST, false},
                            {"most_force", def->max_force, 0, LARGEST, false},
                            {"most_torque", def->max_torque, 0, LARGEST, false},
                            {"bone_coupling", def->bone_coupling, -1, 1e3, false},
                            {"skin_young", def->skin_young, 0, 1e3, true},
                            {"joint_young", def->joint_young, 0, 1e3, true},
                            {"palm_young", def->palm_young, 0, 1e3, true},
                            {"contact_spacing", def->contact_spacing, 0, 100, false},
                            {"self_distance", def->self_distance, 0, 1, false},
                            {"smoothing", def->smoothing, 0, 1e4, false},
                            {"smoothing_opening", def->smoothing_opening, 0, 1e6, false},
                            {"smoothing_derivative", def->smoothing_derivative, 0, 1e4, true},
                            {"smoothing_noise", def->smoothing_noise, 0, 100, false}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const range *r = &ranges[i];
        if ((r->above_low ? r->value > r->low : r->value >= r->low) && r->value <= r->high) continue;
        return error_set(error, THENAR_ERROR_INPUT, "%s is %g; expected %s%g to %g", r->name, r->value,
                         r->above_low ? "above " : "", r->low, r->high);
    }
    if (def->only && (!def->phalanges || def->only & ~HAND_PHALANGES))
        return error_set(error, THENAR_ERROR_INPUT, "only is %#x; expected bones 1 to %d, of a hand of phalanges",
                         def->only, HAND_BONES - 1);
    if (!vec3_is_finite(vec3_load(def->pose)) || !pose_has_orientation(def->pose))
        return error_set(error, THENAR_ERROR_INPUT,
                         "the pose is not finite or has no orientation; expected a position and a quaternion");
    return THENAR_OK;
}

/* Checks and takes over a size that was measured. */
static thenar_status take_size(const thenar_hand_size *from, hand_options *options, thenar_error *error) {
    for (int b = 0; b < HAND_BONES - 1; b++) {
        if (from->bone[b] == 0 || (from->bone[b] >= 0.005 * from->length && from->bone[b] <= from->length)) continue;
        return error_set(error, THENAR_ERROR_INPUT, "bone %d is %g m long; expected 0.005 to 1 of a hand of %g m",
                         b + 1, from->bone[b], from->length);
    }
    for (int i = 0; i < 3 * HAND_FINGERS; i++)
        if (!(fabs(from->root[i]) <= from->length))
            return error_set(error, THENAR_ERROR_INPUT, "the root of finger %d is at %g m; expected it within %g m",
                             i / 3, from->root[i], from->length);
    options->length = from->length;
    options->breadth = from->breadth;
    memcpy(options->bone, from->bone, sizeof options->bone);
    for (int f = 0; f < HAND_FINGERS; f++) options->root[f] = vec3_load(from->root + 3 * f);
    return THENAR_OK;
}

/* The built-in hand with the size of the tracked one. False with a reason if that is impossible. */
static bool make_fitted(const thenar_hand_def *def, hand_options options, hand_shape *shape, thenar_error *reason) {
    hand_size size;
    if (track_measure(def->track, def->left, &size, reason) != THENAR_OK) return false;
    options.length = size.length;
    memcpy(options.bone, size.bone, sizeof options.bone);
    memcpy(options.root, size.root, sizeof options.root);
    /* The breadth is now the thickness of the flesh alone. Some shapes have no tets that cover them; slightly thinner or
     * thicker ones do. */
    static const double thickness[] = {1, 0.97, 1.03, 0.94, 1.06, 0.9, 1.1};
    for (size_t i = 0; i < sizeof thickness / sizeof *thickness; i++) {
        options.breadth = fmax(HAND_SLENDER * size.length, fmin(HAND_BROAD * size.length, thickness[i] * size.breadth));
        thenar_status status = hand_shape_create(&options, shape, reason);
        if (status == THENAR_OK) return true;
        if (status == THENAR_ERROR_MEMORY) return false;
    }
    return false;
}

/* unfit: receives why a hand does not have the size of the tracked one. */
static thenar_status make_shape(const thenar_hand_def *def, hand_shape *shape, thenar_error *unfit,
                                thenar_error *error) {
    unfit->text[0] = 0;
    if (def->shape) return hand_shape_copy(&def->shape->shape, shape, error);
    hand_options options = hand_options_default();
    double slender = options.breadth / options.length;
    options.length = def->length;
    options.breadth = def->breadth > 0 ? def->breadth : slender * def->length;
    options.left = def->left;
    options.fineness = (hand_fineness){def->tets, def->detail};
    options.triangles = def->triangles;
    if (def->measured) {
        thenar_status status = take_size(def->measured, &options, error);
        return status == THENAR_OK ? hand_shape_create(&options, shape, error) : status;
    }
    bool fit = def->fit && def->track && def->track->hands[def->left].count > 0;
    if (fit && make_fitted(def, options, shape, unfit)) {
        unfit->text[0] = 0;
        return THENAR_OK;
    }
    if (unfit->text[0] && unfit->status == THENAR_ERROR_MEMORY) return error_memory(error, def->name);
    return hand_shape_create(&options, shape, error);
}

/* Moves the shape so that its wrist has the given pose, whatever the frame of the wrist in the shape is. */
static void place_shape(hand_shape *shape, vec3 move, quat turn) {
    hand_frame wrist = shape->joint[HAND_WRIST];
    quat R = quat_unit(quat_mul(turn, quat_conjugate(wrist.rotation)));
    double *positions[] = {shape->mesh.positions, shape->skin.positions};
    int counts[] = {shape->mesh.node_count, shape->skin.vertex_count};
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < counts[k]; i++) {
            double *x = positions[k] + 3 * (size_t)i;
            vec3_store(x, vec3_add(move, quat_rotate(R, vec3_sub(vec3_load(x), wrist.position))));
        }
    for (int j = 0; j < HAND_JOINTS; j++) {
        hand_frame *joint = &shape->joint[j];
        joint->position = vec3_add(move, quat_rotate(R, vec3_sub(joint->position, wrist.position)));
        joint->rotation = quat_unit(quat_mul(R, joint->rotation));
    }
}

/* Share of each tet that is flesh. The caller frees it. */
static thenar_status find_fill(const hand_shape *shape, double **out, thenar_error *error) {
    double *fill = *out = MEMORY_ARRAY(double, shape->mesh.tet_count);
    if (!fill) return error_memory(error, "hand");
    thenar_status status = thenar_tet_mesh_fill(&shape->mesh, &shape->skin, fill, error);
    for (int t = 0; t < shape->mesh.tet_count; t++) fill[t] = fmax(HAND_SMALLEST_FILL, fmin(1, fill[t]));
    return status;
}

/* Each bone gets its share of the mass of the tets tagged with it. */
static thenar_status weigh_bones(const hand_shape *shape, const double *fill, double density, hand_skeleton_rest *rest,
                                 thenar_error *error) {
    double *own = MEMORY_ARRAY(double, shape->mesh.tet_count);
    if (!own) return error_memory(error, "hand");
    for (int b = 0; b < HAND_BONES; b++) {
        for (int t = 0; t < shape->mesh.tet_count; t++) own[t] = shape->mesh.tags[t] == b ? fill[t] : 0;
        mass_properties mass = mass_of_tets(&shape->mesh, own, density);
        skeleton_pose frame = rest->joints[hand_bone_joint(b)];
        if (!(mass.mass > LIGHTEST_BONE * 1e-3)) {
            double side = 0.01; /* m: side of a cube of that mass */
            mass = (mass_properties){.mass = LIGHTEST_BONE, .centre = frame.position};
            mass.inertia = mat3_scale(mat3_identity(), LIGHTEST_BONE * side * side / 6);
        }
        mat3 R = quat_to_mat3(frame.orientation);
        rest->bones[b] = (hand_bone_mass){.mass = mass.mass,
                                          .centre = mat3_mul_vec_transposed(R, vec3_sub(mass.centre, frame.position)),
                                          .inertia = mat3_mul(mat3_mul(mat3_transpose(R), mass.inertia), R)};
    }
    free(own);
    return THENAR_OK;
}

static thenar_status make_skeleton(const thenar_hand_def *def, const hand_shape *shape, const double *fill,
                                   hand_model *hand, thenar_error *error) {
    hand_skeleton_rest rest = {.left = shape->left};
    for (int j = 0; j < HAND_JOINTS; j++)
        rest.joints[j] = (skeleton_pose){shape->joint[j].position, shape->joint[j].rotation};
    thenar_status status = weigh_bones(shape, fill, def->bone_share * def->material.density, &rest, error);
    hand_springs springs = hand_springs_default();
    springs.limit_stiffness *= def->joint_stiffness / springs.stiffness;
    springs.stiffness = def->joint_stiffness;
    springs.damping = def->joint_damping;
    if (status == THENAR_OK) status = hand_skeleton_create(&rest, &springs, &hand->skeleton, error);
    if (status == THENAR_OK)
        hand_skeleton_measure_tips(&hand->skeleton, &shape->skin, shape->vertex_bone, shape->joint);
    return status;
}

/* Couplings of the fingers' bones, if the definition leaves them to us: with a third, the tips of a tracked pinch are up
 * to 5.1 mm off (p95), with this 4.3, with 3 3.5; weaker ones yield more to what the hand touches. Scripted hands have none:
 * what they touch meets the springs of their joints. */
#define TRACKED_COUPLING 0.5

static void set_couplings(const thenar_hand_def *def, hand_model *hand) {
    hand->couples_if_tracked = def->bone_coupling < 0;
    for (int b = 0; b < HAND_BONES; b++) {
        double share = b == 0 ? 1 : def->bone_coupling < 0 ? TRACKED_COUPLING : def->bone_coupling;
        if (b > 0 && hand->couples_if_tracked && !hand->coupled) share = 0;
        hand->coupling[b] = (skeleton_coupling){.target = {.orientation = quat_identity()},
                                                .stiffness = share * def->base_stiffness,
                                                .damping = share * def->base_damping,
                                                .turn_stiffness = share * def->base_turn_stiffness,
                                                .turn_damping = share * def->base_turn_damping,
                                                .max_force = share * def->max_force,
                                                .max_torque = share * def->max_torque};
    }
}

static thenar_status make_script(const thenar_hand_def *def, hand_model *hand, thenar_error *error) {
    const hand_script_def script = {.poses = def->keys,
                                    .pose_count = def->key_count,
                                    .keys = def->base_keys,
                                    .key_count = def->base_key_count,
                                    .linear = def->linear};
    return hand_script_create(&script, &hand->skeleton, &hand->script, error);
}

/* Overlap of the skins of thumb and finger in a pinch (retarget_options). The flesh of a coarse hand yields more before
 * its few contact points carry anything, and without muscles it keeps the tips 3 mm behind their targets. Smallest
 * values at which the recorded pinch touched all the time: 0.1, 0.2 and 0.5. */
#define PRESS_GRADED 0.1
#define PRESS_COARSE 0.25
#define PRESS_WITHOUT_MUSCLES 0.5

static thenar_status read_track(const thenar_hand_def *def, bool graded, hand_model *hand, thenar_error *error) {
    hand->retarget = retarget_options_default();
    hand->retarget.cutoff = def->smoothing;
    hand->retarget.opening = def->smoothing_opening;
    hand->retarget.derivative_cutoff = def->smoothing_derivative;
    hand->retarget.noise_speed = def->smoothing_noise;
    hand->retarget.pinch = def->pinch ? 1 : 0;
    hand->retarget.pinch_press = !hand->has_muscles ? PRESS_WITHOUT_MUSCLES : graded ? PRESS_GRADED : PRESS_COARSE;
    if (!def->track) return THENAR_OK;
    hand_model_set_track(hand, def->track);
    return track_expect(def->track, hand->skeleton.left, error);
}

static thenar_status make_hand(const thenar_hand_def *def, hand_shape *shape, hand_model *hand, soft_model **flesh,
                               thenar_error *error) {
    double *fill = NULL;
    place_shape(shape, vec3_load(def->pose), pose_orientation(def->pose));
    thenar_status status = find_fill(shape, &fill, error);
    if (status == THENAR_OK) status = make_skeleton(def, shape, fill, hand, error);
    if (status == THENAR_OK) status = make_script(def, hand, error);
    if (status == THENAR_OK) status = read_track(def, shape->graded, hand, error);
    if (status == THENAR_OK) status = hand_attach_flesh(def, shape, fill, hand, flesh, error);
    set_couplings(def, hand);
    free(fill);
    return status;
}

thenar_status hand_model_create(const thenar_hand_def *def, bool coupled, hand_model **out, soft_model ***flesh,
                                int *flesh_count, thenar_error *error) {
    if (!def->name || !def->name[0] || !text_is_printable(def->name))
        return error_set(error, THENAR_ERROR_INPUT, "a hand without a name; expected printable text");
    thenar_status status = check_numbers(def, error);
    if (status != THENAR_OK) return status;
    hand_shape shape;
    thenar_error unfit;
    status = make_shape(def, &shape, &unfit, error);
    if (status != THENAR_OK) return status;
    hand_model *hand = MEMORY_ARRAY(hand_model, 1);
    soft_model **bodies = MEMORY_ARRAY(soft_model *, HAND_BONES);
    if (hand && bodies) {
        hand->coupled = coupled;
        hand->has_muscles = coupled && !(def->material.stretch_min > FOLDING_STRETCH);
        hand->weight = def->weight;
        hand->flesh_stiffness = def->flesh_stiffness;
        hand->young = def->material.young;
        hand->name = memory_string(def->name);
        snprintf(hand->unfit, sizeof hand->unfit, "%s", unfit.text);
        hand->flesh = MEMORY_ARRAY(hand_attachment, HAND_BONES);
    }
    bool enough = hand && bodies && hand->name && hand->flesh;
    status = enough ? make_hand(def, &shape, hand, bodies, error) : error_memory(error, def->name);
    hand_shape_free(&shape);
    if (status == THENAR_OK) {
        *out = hand;
        *flesh = bodies;
        *flesh_count = hand->flesh_count;
        return status;
    }
    for (int k = 0; bodies && k < HAND_BONES; k++)
        if (bodies[k]) bodies[k]->base.kind->free(&bodies[k]->base);
    free(bodies);
    hand_model_free(hand);
    return status;
}

void hand_model_set_track(hand_model *hand, const track *t) {
    thenar_track_free(hand->track);
    hand->track = t ? track_keep(t) : NULL;
}

void hand_model_free(hand_model *hand) {
    if (!hand) return;
    for (int k = 0; hand->flesh && k < HAND_BONES; k++) {
        free(hand->flesh[k].hold_start);
        free(hand->flesh[k].holds);
        free(hand->flesh[k].stiffness);
    }
    for (int f = 0; f < HAND_FINGERS; f++) hand_region_free(&hand->pad[f].region);
    hand_model_set_track(hand, NULL);
    hand_script_free(&hand->script);
    hand_skeleton_free(&hand->skeleton);
    free(hand->flesh);
    free(hand->name);
    free(hand);
}

uint64_t hand_model_hash(const hand_model *hand) {
    uint64_t hash = skeleton_model_hash(hand->skeleton.model);
    hash = hash_bytes(hash, hand->coupling, sizeof hand->coupling);
    const double numbers[] = {hand->weight, hand->flesh_stiffness, hand->script.path.linear};
    if (hand->coupled) hash = hash_bytes(hash, &hand->coupled, sizeof hand->coupled);
    if (hand->has_muscles) hash = hash_bytes(hash, &hand->has_muscles, sizeof hand->has_muscles);
    hash = hash_bytes(hash, numbers, sizeof numbers);
    hash = hash_bytes(hash, &hand->retarget, sizeof hand->retarget);
    hash = hash_bytes(hash, hand->script.keys, (size_t)hand->script.key_count * sizeof *hand->script.keys);
    hash = hash_bytes(hash, hand->script.path.keys, (size_t)hand->script.path.key_count * sizeof(thenar_key));
    for (int left = 0; left < 2 && hand->track; left++) {
        const track *t = hand->track;
        hash = hash_bytes(hash, t->hands[left].data, t->hands[left].count * sizeof *t->hands[left].data);
        hash = hash_bytes(hash, t->gloves[left].data, t->gloves[left].count * sizeof *t->gloves[left].data);
    }
    for (int k = 0; k < hand->flesh_count; k++) {
        const hand_attachment *flesh = &hand->flesh[k];
        for (int h = 0; h < flesh->hold_start[flesh->node_count]; h++) {
            hash = hash_bytes(hash, &flesh->holds[h].bone, sizeof flesh->holds[h].bone);
            hash = hash_bytes(hash, &flesh->holds[h].weight, sizeof flesh->holds[h].weight);
        }
    }
    return hash;
}
