/* How the elements of a soft body meet the blocks of its system: couplings and gathering lists. */
#include "body/soft_bind.h"

#include <stdlib.h>

/* The unknown of local node a of a tet, or -1; tets are numbered as in the mesh. */
static int tet_unknown(const soft_model *body, int t, int a) {
    return body->system_node[body->batches[t / SIMD_LANES].node[a][t % SIMD_LANES]];
}

bool soft_couple(const body_model *base, int first_node, body_couplings *couplings) {
    const soft_model *body = (const soft_model *)base;
    for (int t = 0; t < body->mesh.tet_count; t++) {
        if (!ARRAY_PUSH(&couplings->start, (int)couplings->node.count)) return false;
        for (int a = 0; a < 4; a++) {
            int unknown = tet_unknown(body, t, a);
            if (unknown >= 0 && !ARRAY_PUSH(&couplings->node, first_node + unknown)) return false;
        }
    }
    return true;
}

/* Calls a visitor for each element block between two unknowns: system block, tet, local nodes a >= b. */
typedef void (*block_visitor)(soft_model *body, int *slot_of_block, int block, int t, int a, int b);

static void visit_blocks(soft_model *body, const block_pattern *pattern, int first_node, int *slot_of_block,
                         block_visitor visit) {
    for (int t = 0; t < body->mesh.tet_count; t++)
        for (int a = 0; a < 4; a++)
            for (int b = 0; b <= a; b++) {
                int row = tet_unknown(body, t, a), column = tet_unknown(body, t, b);
                if (row < 0 || column < 0) continue;
                int block = block_pattern_find(pattern, first_node + row, first_node + column);
                visit(body, slot_of_block, block, t, a, b);
            }
}

static void count_block(soft_model *body, int *slot_of_block, int block, int t, int a, int b) {
    (void)body, (void)t, (void)a, (void)b;
    slot_of_block[block]++;
}

/* block_start[slot + 1] is where the next source of a slot goes; it ends up at the end of the slot. */
static void place_block(soft_model *body, int *slot_of_block, int block, int t, int a, int b) {
    int slot = slot_of_block[block];
    body->block_source[body->block_start[slot + 1]++] = t * SOFT_RECORD + 9 * (a * (a + 1) / 2 + b);
    if (a == b) body->diagonal_node[slot] = body->batches[t / SIMD_LANES].node[a][t % SIMD_LANES];
}

static thenar_status bind_blocks(soft_model *body, const block_pattern *pattern, int first_node, thenar_error *error) {
    int *slot_of_block = MEMORY_ARRAY(int, pattern->block_count);
    if (!slot_of_block) return error_memory(error, body->base.name);
    visit_blocks(body, pattern, first_node, slot_of_block, count_block);
    int slots = 0, sources = 0;
    for (int k = 0; k < pattern->block_count; k++) slots += slot_of_block[k] > 0, sources += slot_of_block[k];
    body->block_count = slots;
    body->block_target = MEMORY_ARRAY(int, slots);
    body->diagonal_node = MEMORY_ARRAY(int, slots);
    body->block_start = MEMORY_ARRAY(int, slots + 2);
    body->block_source = MEMORY_ARRAY(int, sources);
    if (!body->block_target || !body->diagonal_node || !body->block_start || !body->block_source) {
        free(slot_of_block);
        return error_memory(error, body->base.name);
    }
    for (int k = 0, slot = 0, start = 0; k < pattern->block_count; k++) {
        if (slot_of_block[k] == 0) continue;
        body->block_target[slot] = k;
        body->diagonal_node[slot] = -1;
        body->block_start[slot + 1] = start;
        start += slot_of_block[k];
        slot_of_block[k] = slot++;
    }
    visit_blocks(body, pattern, first_node, slot_of_block, place_block);
    free(slot_of_block);
    return THENAR_OK;
}

static thenar_status bind_forces(soft_model *body, thenar_error *error) {
    int nodes = body->mesh.node_count, tets = body->mesh.tet_count;
    body->force_start = MEMORY_ARRAY(int, nodes + 2);
    body->force_source = MEMORY_ARRAY(int, 4 * (size_t)tets);
    if (!body->force_start || !body->force_source) return error_memory(error, body->base.name);
    for (int i = 0; i < 4 * tets; i++) body->force_start[body->mesh.tets[i] + 2]++;
    for (int i = 0; i < nodes; i++) body->force_start[i + 2] += body->force_start[i + 1];
    for (int t = 0; t < tets; t++)
        for (int a = 0; a < 4; a++) {
            int node = body->batches[t / SIMD_LANES].node[a][t % SIMD_LANES];
            body->force_source[body->force_start[node + 1]++] = t * SOFT_RECORD + SOFT_RECORD_FORCE + 3 * a;
        }
    return THENAR_OK;
}

thenar_status soft_bind(body_model *base, const block_pattern *pattern, int first_node, thenar_error *error) {
    soft_model *body = (soft_model *)base;
    thenar_status status = bind_blocks(body, pattern, first_node, error);
    return status == THENAR_OK ? bind_forces(body, error) : status;
}
