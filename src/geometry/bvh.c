#include "geometry/bvh.h"

#include "core/memory.h"

#include <stdlib.h>

#define LEAF_SIZE 4

typedef struct builder {
    const box *boxes;
    bvh *tree;
    double *key; /* by item: position of the box's centre along the current split axis */
} builder;

static bool is_before(const builder *b, int left, int right) {
    return b->key[left] != b->key[right] ? b->key[left] < b->key[right] : left < right;
}

/* Partitions the items of [first, end) around the middle-th one (quickselect; item numbers break ties, so that the
 * order depends on nothing but the input). */
static void split_at(builder *b, int first, int end, int middle) {
    int *item = b->tree->item;
    while (end - first > 1) {
        int pivot = item[first + (end - first) / 2], low = first, high = end - 1;
        while (low <= high) {
            while (is_before(b, item[low], pivot)) low++;
            while (is_before(b, pivot, item[high])) high--;
            if (low > high) break;
            int kept = item[low];
            item[low++] = item[high];
            item[high--] = kept;
        }
        if (middle <= high)
            end = high + 1;
        else if (middle >= low)
            first = low;
        else
            return;
    }
}

static double along(vec3 v, int axis) {
    return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

/* Splits along the axis in which the centres of the boxes vary most. */
static void set_keys(builder *b, int first, int end) {
    const int *item = b->tree->item;
    vec3 low = {INFINITY, INFINITY, INFINITY}, high = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = first; i < end; i++) {
        vec3 middle = vec3_add(b->boxes[item[i]].low, b->boxes[item[i]].high);
        low = vec3_min(low, middle);
        high = vec3_max(high, middle);
    }
    vec3 spread = vec3_sub(high, low);
    int axis = spread.x >= spread.y && spread.x >= spread.z ? 0 : spread.y >= spread.z ? 1 : 2;
    for (int i = first; i < end; i++)
        b->key[item[i]] = along(b->boxes[item[i]].low, axis) + along(b->boxes[item[i]].high, axis);
}

static int build(builder *b, int first, int end) {
    int index = b->tree->node_count++;
    bvh_node node = {.bounds = b->boxes[b->tree->item[first]], .first = first, .count = end - first};
    for (int i = first + 1; i < end; i++) node.bounds = box_join(node.bounds, b->boxes[b->tree->item[i]]);
    if (node.count > LEAF_SIZE) {
        int middle = first + (end - first) / 2;
        set_keys(b, first, end);
        split_at(b, first, end, middle);
        node.count = 0;
        build(b, first, middle);
        node.right = build(b, middle, end);
    }
    b->tree->node[index] = node;
    return index;
}

thenar_status bvh_create(const box *boxes, int count, bvh *out, thenar_error *error) {
    *out = (bvh){0};
    if (count == 0) return THENAR_OK;
    out->item = MEMORY_ARRAY(int, count);
    out->node = MEMORY_ARRAY(bvh_node, 2 * (size_t)count);
    builder b = {boxes, out, MEMORY_ARRAY(double, count)};
    if (!out->item || !out->node || !b.key) {
        free(b.key);
        bvh_free(out);
        return error_memory(error, "box tree");
    }
    for (int i = 0; i < count; i++) out->item[i] = i;
    build(&b, 0, count);
    free(b.key);
    return THENAR_OK;
}

void bvh_free(bvh *tree) {
    free(tree->node);
    free(tree->item);
    *tree = (bvh){0};
}

void bvh_overlap(const bvh *tree, box query, bvh_visit visit, void *context) {
    int stack[BVH_STACK], depth = 0;
    if (tree->node_count > 0) stack[depth++] = 0;
    while (depth > 0) {
        int index = stack[--depth];
        const bvh_node *node = tree->node + index;
        if (!box_overlaps(&node->bounds, &query)) continue;
        if (node->count == 0) {
            stack[depth++] = node->right;
            stack[depth++] = index + 1;
            continue;
        }
        for (int i = 0; i < node->count; i++)
            if (!visit(context, tree->item[node->first + i])) return;
    }
}
