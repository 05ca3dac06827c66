/* The model of a skeleton: checks, copies, numbers the angles. */
#include "body/skeleton.h"

#include "base/hash.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

#define MOST_BONES 100000

static thenar_status check_axis(const skeleton_axis *axis, int bone, int number, thenar_error *error) {
    if (!(fabs(vec3_length(axis->axis) - 1) < 1e-9))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d, axis %d: (%g, %g, %g) is not a unit vector", bone, number,
                         axis->axis.x, axis->axis.y, axis->axis.z);
    if (!(axis->lower <= axis->rest && axis->rest <= axis->upper) || !isfinite(axis->rest))
        return error_set(error, THENAR_ERROR_INPUT,
                         "bone %d, axis %d: rest angle %g and limits %g..%g; expected the rest angle within the limits",
                         bone, number, axis->rest, axis->lower, axis->upper);
    const double springs[] = {axis->stiffness, axis->damping, axis->limit_stiffness, axis->limit_damping};
    for (int i = 0; i < 4; i++)
        if (!(springs[i] >= 0 && isfinite(springs[i])))
            return error_set(error, THENAR_ERROR_INPUT,
                             "bone %d, axis %d: stiffness or damping is %g; expected >= 0 N m/rad and N m s/rad", bone,
                             number, springs[i]);
    return THENAR_OK;
}

static bool is_definite(mat3 a) {
    const double *m = a.m;
    double size = fabs(m[0]) + fabs(m[4]) + fabs(m[8]);
    if (fabs(m[1] - m[3]) + fabs(m[2] - m[6]) + fabs(m[5] - m[7]) > 1e-9 * size) return false;
    return m[0] > 0 && m[0] * m[4] - m[1] * m[3] > 0 && mat3_determinant(a) > 0 && isfinite(size);
}

static thenar_status check_bone(const skeleton_bone *bone, int number, thenar_error *error) {
    if (bone->parent < -1 || bone->parent >= number)
        return error_set(error, THENAR_ERROR_INPUT, "bone %d hangs on bone %d; expected -1..%d", number, bone->parent,
                         number - 1);
    if (bone->axis_count < 0 || bone->axis_count > SKELETON_AXES)
        return error_set(error, THENAR_ERROR_INPUT, "bone %d has %d axes; expected 0..%d", number, bone->axis_count,
                         SKELETON_AXES);
    if (bone->free && (bone->parent >= 0 || bone->axis_count > 0))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d is free; expected no parent and no axes", number);
    if (!vec3_is_finite(bone->offset) || !vec3_is_finite(bone->centre))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d: offset or centre of mass is not finite", number);
    quat r = bone->rotation;
    if (!(fabs(r.x * r.x + r.y * r.y + r.z * r.z + r.w * r.w - 1) < 1e-9))
        return error_set(error, THENAR_ERROR_INPUT, "bone %d: the rotation is not a unit quaternion", number);
    if (!(bone->mass > 0 && isfinite(bone->mass)) || !is_definite(bone->inertia))
        return error_set(error, THENAR_ERROR_INPUT,
                         "bone %d: mass %g kg or its inertia is out of range; expected > 0, and a positive definite "
                         "inertia",
                         number, bone->mass);
    for (int i = 0; i < bone->axis_count; i++) {
        thenar_status status = check_axis(&bone->axes[i], number, i, error);
        if (status != THENAR_OK) return status;
    }
    return THENAR_OK;
}

thenar_status skeleton_model_create(const skeleton_bone *bones, int bone_count, skeleton_model **out,
                                    thenar_error *error) {
    *out = NULL;
    if (bone_count < 1 || bone_count > MOST_BONES)
        return error_set(error, THENAR_ERROR_INPUT, "a skeleton of %d bones; expected 1..%d", bone_count, MOST_BONES);
    for (int i = 0; i < bone_count; i++) {
        thenar_status status = check_bone(&bones[i], i, error);
        if (status != THENAR_OK) return status;
    }
    skeleton_model *model = MEMORY_ARRAY(skeleton_model, 1);
    if (!model) return error_memory(error, "a skeleton");
    model->bone_count = bone_count;
    model->bones = memory_copy(bones, (size_t)bone_count * sizeof *bones);
    model->first_dof = MEMORY_ARRAY(int, bone_count + 1);
    if (!model->bones || !model->first_dof) {
        skeleton_model_free(model);
        return error_memory(error, "a skeleton");
    }
    for (int i = 0; i < bone_count; i++) {
        model->first_dof[i] = model->dof_count;
        model->dof_count += bones[i].axis_count;
    }
    model->first_dof[bone_count] = model->dof_count;
    *out = model;
    return THENAR_OK;
}

void skeleton_model_free(skeleton_model *model) {
    if (!model) return;
    free(model->bones);
    free(model->first_dof);
    free(model);
}

/* Member by member: structs may have padding. */
uint64_t skeleton_model_hash(const skeleton_model *model) {
    uint64_t hash = hash_bytes(0, &model->bone_count, sizeof model->bone_count);
    for (int i = 0; i < model->bone_count; i++) {
        const skeleton_bone *bone = &model->bones[i];
        const int numbers[] = {bone->parent, bone->free, bone->axis_count};
        hash = hash_bytes(hash, numbers, sizeof numbers);
        hash = hash_bytes(hash, &bone->offset, sizeof bone->offset);
        hash = hash_bytes(hash, &bone->rotation, sizeof bone->rotation);
        hash = hash_bytes(hash, bone->axes, (size_t)bone->axis_count * sizeof *bone->axes);
        hash = hash_bytes(hash, &bone->mass, sizeof bone->mass);
        hash = hash_bytes(hash, &bone->centre, sizeof bone->centre);
        hash = hash_bytes(hash, &bone->inertia, sizeof bone->inertia);
    }
    return hash;
}
