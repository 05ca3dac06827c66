#include "contact/sweep.h"

#include <math.h>

void sweep_layout(sweep *state, int count, arena *work) {
    state->count = count;
    for (int a = 0; a < 3; a++) state->order[a] = ARENA_ARRAY(work, int, count);
}

void sweep_open(sweep *state) {
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < state->count; i++) state->order[a][i] = i;
}

static double along(vec3 v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* The axis on which the middles of the finite boxes vary most. */
static int choose_axis(const box *boxes, int count) {
    vec3 sum = {0}, squares = {0};
    double finite = 0;
    for (int i = 0; i < count; i++) {
        vec3 middle = vec3_scale(vec3_add(boxes[i].low, boxes[i].high), 0.5);
        if (!vec3_is_finite(middle)) continue;
        sum = vec3_add(sum, middle);
        squares = vec3_add(squares, vec3_make(middle.x * middle.x, middle.y * middle.y, middle.z * middle.z));
        finite++;
    }
    int best = 0;
    double most = -INFINITY;
    for (int a = 0; a < 3 && finite > 0; a++) {
        double mean = along(sum, a) / finite, spread = along(squares, a) / finite - mean * mean;
        if (spread > most) most = spread, best = a;
    }
    return best;
}

static bool stands_before(const box *boxes, int axis, int i, int k) {
    double a = along(boxes[i].low, axis), b = along(boxes[k].low, axis);
    return a < b || (a == b && i < k);
}

static void sort(int *order, int count, const box *boxes, int axis) {
    for (int i = 1; i < count; i++) {
        int item = order[i], k = i;
        for (; k > 0 && stands_before(boxes, axis, item, order[k - 1]); k--) order[k] = order[k - 1];
        order[k] = item;
    }
}

void sweep_find(sweep *state, const box *boxes, int split, sweep_visit visit, void *context) {
    int axis = choose_axis(boxes, state->count), *order = state->order[axis];
    sort(order, state->count, boxes, axis);
    for (int i = 0; i < state->count; i++) {
        int a = order[i];
        double end = along(boxes[a].high, axis);
        for (int k = i + 1; k < state->count && along(boxes[order[k]].low, axis) <= end; k++) {
            int b = order[k];
            if ((a < split) == (b < split) || !box_overlaps(&boxes[a], &boxes[b])) continue;
            visit(context, a < split ? a : b, a < split ? b : a);
        }
    }
}
