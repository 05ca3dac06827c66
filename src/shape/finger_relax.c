/* Moving nodes. Node by node, steps along the axes and against them, as long as they make the worst tet around the node
 * better by its radius ratio; then steps half as long. */
#include "shape/finger_half.h"

#include "shape/quality.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SWEEPS 6
#define FIRST_STEP 0.2 /* of the mean edge around the node */

typedef struct stars {
    int *start; /* nodes + 1 */
    int *tets;  /* around each node */
} stars;

static void list_stars(const finger_half *half, stars *s) {
    for (size_t t = 0; t < half->tets.count; t++)
        for (int i = 0; i < 4; i++) s->start[half->tets.data[t].node[i] + 1]++;
    for (size_t n = 0; n < half->nodes.count; n++) s->start[n + 1] += s->start[n];
    /* Filled from behind, each node's end becomes its start. */
    for (size_t t = half->tets.count; t-- > 0;)
        for (int i = 0; i < 4; i++) s->tets[--s->start[half->tets.data[t].node[i] + 1]] = (int)t;
    memmove(s->start, s->start + 1, half->nodes.count * sizeof *s->start);
    s->start[half->nodes.count] = (int)(4 * half->tets.count);
}

static void corners(const finger_half *half, int tet, vec3 corner[4]) {
    for (int i = 0; i < 4; i++) corner[i] = half->nodes.data[half->tets.data[tet].node[i]].place;
}

static double worst_around(const finger_half *half, const stars *s, int node) {
    double worst = INFINITY;
    for (int k = s->start[node]; k < s->start[node + 1]; k++) {
        vec3 corner[4];
        corners(half, s->tets[k], corner);
        worst = fmin(worst, tet_radius_ratio(corner));
    }
    return worst;
}

static double reach_around(const finger_half *half, const stars *s, int node) {
    double sum = 0;
    for (int k = s->start[node]; k < s->start[node + 1]; k++) {
        vec3 corner[4];
        corners(half, s->tets[k], corner);
        for (int i = 0; i < 4; i++) sum += vec3_distance(corner[i], half->nodes.data[node].place);
    }
    return sum / (3 * fmax(s->start[node + 1] - s->start[node], 1));
}

static void move_node(finger_half *half, const stars *s, int number) {
    half_node *node = &half->nodes.data[number];
    bool in_middle = node->place.x == 0, in_cut = node->place.z == half->length;
    double worst = worst_around(half, s, number), step = FIRST_STEP * reach_around(half, s, number);
    for (int halvings = 0; halvings < 3; halvings++, step /= 2)
        for (int way = 0; way < 6; way++) {
            if ((in_middle && way / 2 == 0) || (in_cut && way / 2 == 2)) continue;
            vec3 from = node->place, along = {0};
            *(way / 2 == 0 ? &along.x : way / 2 == 1 ? &along.y : &along.z) = way % 2 ? -step : step;
            node->place = vec3_add(from, along);
            if (node->on_skin && node->place.z > 0) node->place = finger_skin_above(node->place);
            double now = worst_around(half, s, number);
            if (now > worst && node->place.x >= 0 && node->place.z <= half->length)
                worst = now;
            else
                node->place = from;
        }
}

bool finger_half_relax(finger_half *half) {
    stars s = {MEMORY_ARRAY(int, half->nodes.count + 1), MEMORY_ARRAY(int, 4 * half->tets.count)};
    bool done = s.start && s.tets;
    if (done) list_stars(half, &s);
    for (int i = 0; i < SWEEPS && done; i++)
        for (size_t n = 0; n < half->nodes.count; n++) {
            const half_node *node = &half->nodes.data[n];
            /* The tip stays the tip. */
            if (!node->of_bone && node->place.z > 0) move_node(half, &s, (int)n);
        }
    free(s.start);
    free(s.tets);
    return done;
}
