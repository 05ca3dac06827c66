#include "sparse/cholesky.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare_pairs(const void *a, const void *b) {
    unsigned long long left, right;
    memcpy(&left, a, sizeof left);
    memcpy(&right, b, sizeof right);
    return (left > right) - (left < right);
}

/* A coupled pair as one sortable number: column in the high half, row in the low one. */
static unsigned long long pair_key(int a, int b) {
    int column = a < b ? a : b, row = a < b ? b : a;
    return (unsigned long long)(unsigned)column << 32 | (unsigned)row;
}

static size_t collect_pairs(int node_count, int group_count, const int *group_start, const int *group_node,
                            unsigned long long *pairs) {
    size_t count = 0;
    for (int i = 0; i < node_count; i++) pairs[count++] = pair_key(i, i);
    for (int g = 0; g < group_count; g++)
        for (int a = group_start[g]; a < group_start[g + 1]; a++)
            for (int b = group_start[g]; b < a; b++) pairs[count++] = pair_key(group_node[a], group_node[b]);
    return count;
}

thenar_status block_pattern_create(int node_count, int group_count, const int *group_start, const int *group_node,
                                   block_pattern *out, thenar_error *error) {
    *out = (block_pattern){0};
    size_t pair_bound = (size_t)node_count;
    for (int g = 0; g < group_count; g++) {
        size_t size = (size_t)(group_start[g + 1] - group_start[g]);
        pair_bound += size * (size - (size > 0)) / 2;
    }
    unsigned long long *pairs = MEMORY_ARRAY(unsigned long long, pair_bound);
    if (!pairs) return error_memory(error, "matrix pattern");
    size_t pair_count = collect_pairs(node_count, group_count, group_start, group_node, pairs);
    qsort(pairs, pair_count, sizeof *pairs, compare_pairs);
    size_t unique = 0;
    for (size_t i = 0; i < pair_count; i++)
        if (i == 0 || pairs[i] != pairs[i - 1]) pairs[unique++] = pairs[i];

    block_pattern pattern = {.node_count = node_count};
    pattern.column_start = MEMORY_ARRAY(int, node_count + 1);
    pattern.row = MEMORY_ARRAY(int, unique);
    if (unique > INT_MAX || !pattern.column_start || !pattern.row) {
        free(pairs);
        block_pattern_free(&pattern);
        return error_memory(error, "matrix pattern");
    }
    pattern.block_count = (int)unique;
    for (size_t i = 0; i < unique; i++) {
        pattern.row[i] = (int)(pairs[i] & 0xffffffffu);
        pattern.column_start[(pairs[i] >> 32) + 1]++;
    }
    for (int j = 0; j < node_count; j++) pattern.column_start[j + 1] += pattern.column_start[j];
    free(pairs);
    *out = pattern;
    return THENAR_OK;
}

void block_pattern_free(block_pattern *pattern) {
    free(pattern->column_start);
    free(pattern->row);
    *pattern = (block_pattern){0};
}

int block_pattern_find(const block_pattern *pattern, int row, int column) {
    assert(row >= column);
    int low = pattern->column_start[column], high = pattern->column_start[column + 1];
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (pattern->row[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < pattern->column_start[column + 1] && pattern->row[low] == row ? low : -1;
}

void block_pattern_multiply(const block_pattern *pattern, const double *blocks, const double *x, double *y) {
    memset(y, 0, (size_t)pattern->node_count * 3 * sizeof *y);
    for (int j = 0; j < pattern->node_count; j++) {
        const double *xj = x + 3 * (size_t)j;
        double sum0 = 0, sum1 = 0, sum2 = 0;
        int k = pattern->column_start[j];
        for (bool diagonal = true; k < pattern->column_start[j + 1]; k++, diagonal = false) {
            const double *b = blocks + 9 * (size_t)k, *xi = x + 3 * (size_t)pattern->row[k];
            double *yi = y + 3 * (size_t)pattern->row[k];
            yi[0] += b[0] * xj[0] + b[1] * xj[1] + b[2] * xj[2];
            yi[1] += b[3] * xj[0] + b[4] * xj[1] + b[5] * xj[2];
            yi[2] += b[6] * xj[0] + b[7] * xj[1] + b[8] * xj[2];
            if (diagonal) continue;
            sum0 += b[0] * xi[0] + b[3] * xi[1] + b[6] * xi[2];
            sum1 += b[1] * xi[0] + b[4] * xi[1] + b[7] * xi[2];
            sum2 += b[2] * xi[0] + b[5] * xi[1] + b[8] * xi[2];
        }
        y[3 * (size_t)j] += sum0, y[3 * (size_t)j + 1] += sum1, y[3 * (size_t)j + 2] += sum2;
    }
}
