/* The row compliance: with P A P^T = L L^T,
 *
 *   W = Y^T Y,   Y = L^-1 P J^T
 *
 * takes half a solve for each row, and only over the rows of L that it reaches: the path from its nodes to the root
 * of the elimination tree. The product of two rows needs the rows that both reach. Rows of two bodies that meet at a
 * third one share only that body, which is close to the root. A whole solve for each row, times J, would visit all
 * bodies for each of them.
 *
 * Eight rows form a group, and two groups a tile of W. Groups of Y are kept while there is room. If there is not
 * enough for all, those beyond the kept ones are computed once for the products with these, and again when it is
 * their turn to be kept. */
#include "sparse/cholesky.h"

#include "sparse/reduction.h"
#include "sparse/tile.h"

#include <string.h>

#define GROUP 8
#define MAX_KEPT (1u << 19) /* doubles: 4 MB, unless a group alone needs more */

struct compliance_group {
    size_t kept;  /* its first number */
    size_t first; /* of its ranges */
    int ranges;
};

void row_compliance_layout(row_compliance *g, const cholesky_plan *plan, int node_count, int max_rows, arena *memory) {
    size_t nodes = max_rows > 0 ? (size_t)node_count : 0, one = 3 * GROUP * nodes;
    size_t groups = ((size_t)max_rows + GROUP - 1) / GROUP;
    size_t room = groups * one < MAX_KEPT ? groups * one : MAX_KEPT;
    if (room < one) room = one;
    *g = (row_compliance){
        .right = ARENA_ARRAY(memory, double, one),
        .nodes = ARENA_ARRAY(memory, int, GROUP *REDUCTION_CARRIERS *nodes),
        .reach = ARENA_ARRAY(memory, cholesky_range, nodes > 0 ? cholesky_plan_facts(plan).front_count : 0),
        .filled = ARENA_ARRAY(memory, int, max_rows),
        .groups = ARENA_ARRAY(memory, compliance_group, groups),
        .kept = ARENA_ARRAY(memory, double, room),
        .ranges = ARENA_ARRAY(memory, cholesky_range, room / (3 * GROUP)), /* each has one node or more */
        .room = room};
    if (g->right) memset(g->right, 0, one * sizeof *g->right);
}

/* Adds the gradient at a dependent node to the right-hand side at its carriers; returns their number. */
static int add_carried(row_compliance *g, const int *position, int dependent, vec3 gradient, int lane, int *nodes) {
    vec3 part[REDUCTION_CARRIERS];
    int count = reduction_gradient(g->reduction, dependent, gradient, nodes, part);
    for (int k = 0; k < count; k++) {
        double *right = g->right + 3 * GROUP * (size_t)position[nodes[k]] + lane;
        right[0] += part[k].x, right[GROUP] += part[k].y, right[2 * GROUP] += part[k].z;
    }
    return count;
}

/* Y of a group to g->right, in elimination order; returns the number of ranges that are not zero. */
static int substitute(row_compliance *g, cholesky_factor *factor, const compliance_row *rows, const int *filled,
                      int count) {
    const int *position = cholesky_plan_position(factor->plan);
    int nodes = 0;
    for (int lane = 0; lane < count; lane++) {
        const compliance_row *row = &rows[filled[lane]];
        for (int k = 0; k < row->count; k++) {
            int dependent = g->reduction ? g->reduction->model->index[row->node[k]] : -1;
            if (dependent >= 0) {
                nodes += add_carried(g, position, dependent, row->gradient[k], lane, g->nodes + nodes);
                continue;
            }
            double *right = g->right + 3 * GROUP * (size_t)position[row->node[k]] + lane;
            right[0] = row->gradient[k].x, right[GROUP] = row->gradient[k].y, right[2 * GROUP] = row->gradient[k].z;
            g->nodes[nodes++] = row->node[k];
        }
    }
    return cholesky_forward_reach(factor, g->nodes, nodes, g->right, g->reach);
}

static void clear(row_compliance *g, int ranges) {
    for (int r = 0; r < ranges; r++)
        memset(g->right + GROUP * (size_t)g->reach[r].first, 0, GROUP * (size_t)g->reach[r].count * sizeof *g->right);
}

/* Appends g->right to the kept groups; false if there is no room. */
static bool keep(row_compliance *g, compliance_group *group, const compliance_group *before, int ranges) {
    *group = (compliance_group){.ranges = ranges};
    if (before) {
        group->first = before->first + (size_t)before->ranges;
        group->kept = before->kept;
        for (int r = 0; r < before->ranges; r++)
            group->kept += GROUP * (size_t)g->ranges[before->first + (size_t)r].count;
    }
    size_t size = 0;
    for (int r = 0; r < ranges; r++) size += GROUP * (size_t)g->reach[r].count;
    if (group->kept + size > g->room) return false;
    double *to = g->kept + group->kept;
    for (int r = 0; r < ranges; r++) {
        size_t numbers = GROUP * (size_t)g->reach[r].count;
        memcpy(to, g->right + GROUP * (size_t)g->reach[r].first, numbers * sizeof *to);
        to += numbers;
    }
    memcpy(g->ranges + group->first, g->reach, (size_t)ranges * sizeof *g->ranges);
    return true;
}

/* Products of the rows of a kept group with the current ones. A range is a front, so two are equal or disjoint. */
static tile multiply(const row_compliance *g, const compliance_group *group, int ranges) {
    tile sum = tile_zero();
    const cholesky_range *own = g->ranges + group->first, *end = own + group->ranges;
    const double *kept = g->kept + group->kept;
    for (int r = 0; r < ranges; r++) {
        for (; own < end && own->first < g->reach[r].first; own++) kept += GROUP * (size_t)own->count;
        if (own == end) break;
        if (own->first > g->reach[r].first) continue;
        sum = tile_add(sum, tile_product(kept, g->right + GROUP * (size_t)own->first, own->count, GROUP), GROUP);
    }
    return sum;
}

static void put(double *W, int stride, const int *rows, int row_count, const int *columns, int column_count, tile t) {
    double values[GROUP * GROUP];
    tile_store(values, GROUP, t, GROUP);
    for (int c = 0; c < column_count; c++)
        for (int r = 0; r < row_count; r++) {
            W[(size_t)rows[r] * (size_t)stride + (size_t)columns[c]] = values[GROUP * c + r];
            W[(size_t)columns[c] * (size_t)stride + (size_t)rows[r]] = values[GROUP * c + r];
        }
}

static int size_of(int group, int filled) {
    int left = filled - GROUP * group;
    return left < GROUP ? left : GROUP;
}

void row_compliance_product(row_compliance *g, cholesky_factor *factor, const compliance_row *rows, int count,
                            double *W, int stride) {
    int filled = 0;
    for (int i = 0; i < count; i++) {
        memset(W + (size_t)i * (size_t)stride, 0, (size_t)(count + 7) / 8 * 8 * sizeof *W);
        if (rows[i].count > 0) g->filled[filled++] = i;
    }
    int groups = (filled + GROUP - 1) / GROUP;
    for (int begin = 0, end; begin < groups; begin = end) {
        end = begin;
        for (int at = begin; at < groups; at++) {
            const int *own = g->filled + GROUP * at;
            int ranges = substitute(g, factor, rows, own, size_of(at, filled));
            if (end == at && keep(g, &g->groups[at], at > begin ? &g->groups[at - 1] : NULL, ranges)) end = at + 1;
            for (int k = begin; k < end; k++)
                put(W, stride, g->filled + GROUP * k, size_of(k, filled), own, size_of(at, filled),
                    multiply(g, &g->groups[k], ranges));
            clear(g, ranges);
        }
    }
}
