/* Hands from glTF, up to where tets would be made of them. */
#include "fuzz.h"

#include "io/file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    thenar_error error = {0};
    hand_shape hand;
    double *weight;
    thenar_status status = hand_gltf_parse("fuzz.glb", fuzz_bytes(data, size), &hand, &weight, &error);
    fuzz_status(status, &error);
    fuzz_check((status == THENAR_OK) == (weight != NULL));
    for (int i = 0; i < 3 * hand.skin.triangle_count; i++)
        fuzz_check(hand.skin.triangles[i] >= 0 && hand.skin.triangles[i] < hand.skin.vertex_count);
    for (int v = 0; v < 3 * hand.skin.vertex_count; v++) fuzz_check(isfinite(hand.skin.positions[v]));
    for (int i = 0; i < HAND_BONES * hand.skin.vertex_count; i++) fuzz_check(weight[i] >= 0 && weight[i] <= 1);
    for (int j = 0; j < HAND_JOINTS && status == THENAR_OK; j++) fuzz_check(vec3_is_finite(hand.joint[j].position));
    free(weight);
    hand_shape_free(&hand);
    return 0;
}
