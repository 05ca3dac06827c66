#include "shape/hand_spacing.h"

#include "base/memory.h"
#include "shape/mesh.h"
#include "shape/surface.h"

#include <stdlib.h>

/* Of a hand of 190 mm, m. */
#define LENGTH 0.19
#define ON_PADS 0.0025
#define ON_FINGERS 0.0035 /* their palmar sides, and the tips up to the nails */
#define ON_FINGER_BACKS 0.007
#define ON_PALM 0.007
#define ON_BACK 0.01  /* of the palm, and the cut of the wrist */
#define PALMAR (-0.5) /* cosine between the normal and straight out of the back of the hand, at most */
#define TIP 0.2       /* and on the last phalanges */
#define WEB_SHARE 0.3 /* of the first phalanx: what is before it belongs to the palm */
#define CHAIN 0.99    /* of the length: from the wrist along the bones of the middle finger (Buchholz) */

static double length_of(const hand_shape *hand) {
    const vec3 wrist = hand->joint[HAND_WRIST].position;
    double length = vec3_distance(hand->joint[HAND_MIDDLE_PROXIMAL].position, wrist);
    for (int j = HAND_MIDDLE_PROXIMAL; j < HAND_MIDDLE_TIP; j++)
        length += vec3_distance(hand->joint[j + 1].position, hand->joint[j].position);
    return length / CHAIN;
}

static double spacing_at(const hand_shape *hand, int vertex, vec3 normal) {
    int bone = hand->vertex_bone[vertex], phalanx = (bone + 2) % 3;
    const hand_frame *frame = &hand->joint[hand_bone_joint(bone)], *next = frame + 1;
    vec3 from = vec3_sub(surface_vertex(&hand->skin, vertex), frame->position);
    double up = vec3_dot(normal, hand_frame_up(frame)), along = vec3_dot(from, hand_frame_along(frame));
    bool palmar = up < PALMAR;
    /* The thumb's metacarpal lies in the palm, and so does what is before the web. */
    if (bone <= 1) return palmar && surface_vertex(&hand->skin, vertex).z < 0 ? ON_PALM : ON_BACK;
    if (palmar && phalanx == 0 && along < WEB_SHARE * vec3_distance(next->position, frame->position)) return ON_PALM;
    return palmar || (phalanx == 2 && up < TIP && along > 0) ? ON_FINGERS : ON_FINGER_BACKS;
}

thenar_status hand_spacing(const hand_shape *hand, double **spacing, thenar_error *error) {
    int count = hand->skin.vertex_count;
    vec3 *normal = MEMORY_ARRAY(vec3, count);
    *spacing = MEMORY_ARRAY(double, count);
    if (!normal || !*spacing) {
        free(normal);
        return error_memory(error, "hand");
    }
    surface_vertex_normals(&hand->skin, normal);
    double scale = length_of(hand) / LENGTH;
    for (int v = 0; v < count; v++) (*spacing)[v] = scale * spacing_at(hand, v, normal[v]);
    for (int finger = 0; finger < HAND_FINGERS; finger++)
        for (int i = 0; i < hand->pad[finger].count; i++) (*spacing)[hand->pad[finger].vertex[i]] = scale * ON_PADS;
    free(normal);
    return THENAR_OK;
}
