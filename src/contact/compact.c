/* Halves along the longest side, where a group ends, until a group is left. */
#include "contact/compact.h"

static double along(vec3 p, int axis) {
    return axis == 0 ? p.x : axis == 1 ? p.y : p.z;
}

static int longest_axis(const vec3 *place, const int *order, int count) {
    vec3 low = place[order[0]], high = low;
    for (int i = 1; i < count; i++) {
        low = vec3_min(low, place[order[i]]);
        high = vec3_max(high, place[order[i]]);
    }
    vec3 side = vec3_sub(high, low);
    return side.x >= side.y && side.x >= side.z ? 0 : side.y >= side.z ? 1 : 2;
}

/* By the coordinate, then by number, so that there are no ties. */
static int is_before(const vec3 *place, int axis, int a, int b) {
    double x = along(place[a], axis), y = along(place[b], axis);
    return x < y || (x == y && a < b);
}

/* Puts the first `first` in the order along the axis before the others: quickselect. */
static void part(const vec3 *place, int axis, int *order, int count, int first) {
    int low = 0, high = count - 1;
    while (low < high) {
        int pivot = order[low + (high - low) / 2], i = low, j = high;
        while (i <= j) {
            while (is_before(place, axis, order[i], pivot)) i++;
            while (is_before(place, axis, pivot, order[j])) j--;
            if (i > j) break;
            int kept = order[i];
            order[i++] = order[j];
            order[j--] = kept;
        }
        if (first <= j)
            high = j;
        else if (first >= i)
            low = i;
        else
            return;
    }
}

static void halve(const vec3 *place, int *order, int count, int group) {
    if (count <= group) return;
    int first = (count / 2 + group - 1) / group * group;
    part(place, longest_axis(place, order, count), order, count, first);
    halve(place, order, first, group);
    halve(place, order + first, count - first, group);
}

void compact_order(const vec3 *place, int count, int group, int *order) {
    for (int i = 0; i < count; i++) order[i] = i;
    halve(place, order, count, group);
}
