#include "shape/hand_skinning.h"

#include "base/memory.h"
#include "shape/mesh.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_WEIGHT 0.02

hand_skinning hand_skinning_of(const double weight[HAND_BONES]) {
    hand_skinning s = {{0}, {0}};
    double total = 0, kept = 0;
    for (int b = 0; b < HAND_BONES; b++) total += weight[b];
    for (int b = 0; b < HAND_BONES && total > 0; b++) {
        double w = weight[b] / total;
        if (w < LEAST_WEIGHT || w <= s.weight[3]) continue;
        int k = 3;
        for (; k > 0 && w > s.weight[k - 1]; k--) {
            s.weight[k] = s.weight[k - 1];
            s.bone[k] = s.bone[k - 1];
        }
        s.weight[k] = w;
        s.bone[k] = b;
    }
    for (int k = 0; k < HAND_SKINNING_BONES; k++) kept += s.weight[k];
    if (!(kept > 0)) return (hand_skinning){{0}, {1}};
    for (int k = 0; k < HAND_SKINNING_BONES; k++) s.weight[k] /= kept;
    return s;
}

thenar_status hand_skinning_smooth(const thenar_surface *skin, int rounds, double *weight, thenar_error *error) {
    size_t count = (size_t)skin->vertex_count;
    double *sum = MEMORY_ARRAY(double, HAND_BONES *count);
    int *around = MEMORY_ARRAY(int, count);
    if (!sum || !around) {
        free(sum);
        free(around);
        return error_memory(error, "skinning");
    }
    for (int i = 0; i < 3 * skin->triangle_count; i++) around[skin->triangles[i]] += 2;
    for (int round = 0; round < rounds; round++) {
        memset(sum, 0, HAND_BONES * count * sizeof *sum);
        for (int t = 0; t < skin->triangle_count; t++)
            for (int k = 0; k < 3; k++) {
                double *to = sum + HAND_BONES * (size_t)surface_triangle(skin, t)[k];
                const double *a = weight + HAND_BONES * (size_t)surface_triangle(skin, t)[(k + 1) % 3];
                const double *b = weight + HAND_BONES * (size_t)surface_triangle(skin, t)[(k + 2) % 3];
                for (int i = 0; i < HAND_BONES; i++) to[i] += a[i] + b[i];
            }
        for (size_t v = 0; v < count; v++)
            for (int i = 0; i < HAND_BONES && around[v] > 0; i++)
                weight[HAND_BONES * v + (size_t)i] =
                    (weight[HAND_BONES * v + (size_t)i] + sum[HAND_BONES * v + (size_t)i] / around[v]) / 2;
    }
    free(sum);
    free(around);
    return THENAR_OK;
}

vec3 hand_skinning_point(const hand_skinning *skinning, const hand_frame rest[HAND_JOINTS],
                         const hand_frame posed[HAND_JOINTS], vec3 point) {
    vec3 sum = {0};
    for (int k = 0; k < HAND_SKINNING_BONES && skinning->weight[k] > 0; k++) {
        hand_joint joint = hand_bone_joint(skinning->bone[k]);
        vec3 local = quat_rotate(quat_conjugate(rest[joint].rotation), vec3_sub(point, rest[joint].position));
        vec3 there = vec3_add(posed[joint].position, quat_rotate(posed[joint].rotation, local));
        sum = vec3_mul_add(sum, there, skinning->weight[k]);
    }
    return sum;
}

void hand_skinning_apply(const hand_skinning *skinning, int count, const hand_frame rest[HAND_JOINTS],
                         const hand_frame posed[HAND_JOINTS], const double *positions, double *out) {
    for (int i = 0; i < count; i++)
        vec3_store(out + 3 * (size_t)i,
                   hand_skinning_point(&skinning[i], rest, posed, vec3_load(positions + 3 * (size_t)i)));
}

void hand_bend(const hand_frame rest[HAND_JOINTS], const quat turn[HAND_JOINTS], hand_frame posed[HAND_JOINTS]) {
    for (int j = 0; j < HAND_JOINTS; j++) {
        /* Each finger's joints hang on the one before, the first ones on the wrist. */
        int parent = j == HAND_WRIST                                                      ? -1
                     : j == HAND_THUMB_METACARPAL || (j - HAND_INDEX_METACARPAL) % 5 == 0 ? HAND_WRIST
                                                                                          : j - 1;
        hand_frame from = {{0, 0, 0}, quat_identity()}, to = from;
        if (parent >= 0) {
            from = rest[parent];
            to = posed[parent];
        }
        quat carry = quat_mul(to.rotation, quat_conjugate(from.rotation));
        posed[j].position = vec3_add(to.position, quat_rotate(carry, vec3_sub(rest[j].position, from.position)));
        posed[j].rotation = quat_unit(quat_mul(quat_mul(carry, rest[j].rotation), turn[j]));
    }
}
