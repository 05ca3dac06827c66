#include "sparse/cholesky_plan.h"

#include "core/memory.h"

#include <amd.h>
#include <metis.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* METIS starts from random vertices, and the best imbalance of its halves is unknown: on meshes of 600 to 60,000
 * tets the best of a few tries saves 5-25 % of the operations. A plan is made once; large graphs get fewer tries. */
#define METIS_TRIES 12
#define METIS_TRIES_LARGE 4
#define METIS_LARGE_NODES 5000
#define METIS_UNEVEN 400 /* imbalance of the halves in thousandths; the default is 200 */
/* METIS does not dissect smaller graphs. */
#define METIS_NODES_MIN 40

typedef struct edge {
    int a, b;
} edge;

static size_t collect_edges(const block_pattern *pattern, int last_count, edge *edges) {
    size_t count = 0;
    int n = pattern->node_count;
    for (int j = 0; j < n; j++)
        for (int k = pattern->column_start[j] + 1; k < pattern->column_start[j + 1]; k++)
            edges[count++] = (edge){pattern->row[k], j};
    for (int j = n - last_count; j + 1 < n; j++)
        if (block_pattern_find(pattern, j + 1, j) < 0) edges[count++] = (edge){j + 1, j};
    return count;
}

thenar_status graph_create(const block_pattern *pattern, int last_count, graph *out, thenar_error *error) {
    int n = pattern->node_count;
    size_t bound = (size_t)(pattern->block_count - n) + (size_t)last_count;
    edge *edges = MEMORY_ARRAY(edge, bound);
    *out = (graph){n, MEMORY_ARRAY(int, n + 2), MEMORY_ARRAY(int, 2 * bound)};
    if (!edges || !out->start || !out->neighbour) {
        free(edges);
        graph_free(out);
        return error_memory(error, "elimination order");
    }
    size_t count = collect_edges(pattern, last_count, edges);
    int *next = out->start + 1; /* counts, then the next free place of a node, then the start of the following one */
    for (size_t e = 0; e < count; e++) next[edges[e].a + 1]++, next[edges[e].b + 1]++;
    for (int i = 1; i <= n; i++) next[i] += next[i - 1];
    for (size_t e = 0; e < count; e++) {
        out->neighbour[next[edges[e].a]++] = edges[e].b;
        out->neighbour[next[edges[e].b]++] = edges[e].a;
    }
    free(edges);
    return THENAR_OK;
}

void graph_free(graph *g) {
    free(g->start);
    free(g->neighbour);
    *g = (graph){0};
}

/* The elimination tree and the column counts of an order, by walking up the tree from every entry of every
 * row: the work is the size of L. mark: count ints. */
static void analyse(const graph *g, elimination *e, int *position, int *mark) {
    int n = g->count;
    for (int p = 0; p < n; p++) position[e->node[p]] = p;
    e->flops = 0;
    for (int p = 0; p < n; p++) {
        e->parent[p] = -1;
        e->count[p] = 1;
        mark[p] = p;
        int i = e->node[p];
        for (int k = g->start[i]; k < g->start[i + 1]; k++)
            for (int q = position[g->neighbour[k]]; q < p && mark[q] != p; q = e->parent[q]) {
                if (e->parent[q] < 0) e->parent[q] = p;
                e->count[q]++;
                mark[q] = p;
            }
    }
    /* A scalar column with c entries below its diagonal takes c divisions and c (c + 1) operations of the
     * update. */
    for (int p = 0; p < n; p++)
        for (int axis = 0; axis < 3; axis++) {
            double below = 3.0 * e->count[p] - 1 - axis;
            e->flops += below * (below + 2) + 1;
        }
}

static bool elimination_allocate(elimination *e, int n) {
    *e = (elimination){MEMORY_ARRAY(int, n), MEMORY_ARRAY(int, n), MEMORY_ARRAY(int, n), "", 0};
    if (e->node && e->parent && e->count) return true;
    elimination_free(e);
    return false;
}

void elimination_free(elimination *e) {
    free(e->node);
    free(e->parent);
    free(e->count);
    *e = (elimination){0};
}

/* The graph without its last nodes, in the integers of METIS and AMD. */
typedef struct free_graph {
    int count;
    idx_t *start, *neighbour;
    idx_t *order, *place;
    int *amd_start, *amd_neighbour, *amd_order;
} free_graph;

static void free_graph_free(free_graph *f) {
    free(f->start), free(f->neighbour), free(f->order), free(f->place);
    free(f->amd_start), free(f->amd_neighbour), free(f->amd_order);
}

static bool free_graph_create(const graph *g, int last_count, free_graph *f) {
    int n = g->count - last_count;
    size_t room = (size_t)g->start[g->count];
    *f = (free_graph){.count = n,
                      .start = MEMORY_ARRAY(idx_t, n + 1),
                      .neighbour = MEMORY_ARRAY(idx_t, room),
                      .order = MEMORY_ARRAY(idx_t, n),
                      .place = MEMORY_ARRAY(idx_t, n),
                      .amd_start = MEMORY_ARRAY(int, n + 1),
                      .amd_neighbour = MEMORY_ARRAY(int, room),
                      .amd_order = MEMORY_ARRAY(int, n)};
    if (!f->start || !f->neighbour || !f->order || !f->place || !f->amd_start || !f->amd_neighbour || !f->amd_order) {
        free_graph_free(f);
        *f = (free_graph){0};
        return false;
    }
    int entries = 0;
    for (int i = 0; i < n; i++) {
        for (int k = g->start[i]; k < g->start[i + 1]; k++)
            if (g->neighbour[k] < n) {
                f->amd_neighbour[entries] = g->neighbour[k];
                f->neighbour[entries++] = g->neighbour[k];
            }
        f->amd_start[i + 1] = entries;
        f->start[i + 1] = entries;
    }
    return true;
}

/* Result of a library. Running out of memory is an error and not a reason to use another order, which would change
 * the bits of the results. */
typedef enum order_result { ORDER_FOUND, ORDER_NONE, ORDER_NO_MEMORY } order_result;

/* METIS seeds and uses rand(), which threads share, so only one order is computed at a time. The state of the
 * program's rand() is restored afterwards. A program that calls rand() in another thread while a model is compiled
 * may get another order, and so other last digits. */
static pthread_mutex_t metis_mutex = PTHREAD_MUTEX_INITIALIZER;
static _Alignas(8) char metis_random[128]; /* the size of the default state of rand(): the same generator */

static order_result order_metis(free_graph *f, int trial, int *node) {
    if (f->start[f->count] == 0) return ORDER_NONE; /* METIS needs edges */
    idx_t options[METIS_NOPTIONS], count = f->count;
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_NUMBERING] = 0;
    options[METIS_OPTION_SEED] = trial;
    if (trial % 3 != 0) options[METIS_OPTION_UFACTOR] = METIS_UNEVEN;
    pthread_mutex_lock(&metis_mutex);
    char *before = initstate(1, metis_random, sizeof metis_random);
    int result = METIS_NodeND(&count, f->start, f->neighbour, NULL, options, f->order, f->place);
    setstate(before);
    pthread_mutex_unlock(&metis_mutex);
    if (result != METIS_OK) return result == METIS_ERROR_MEMORY ? ORDER_NO_MEMORY : ORDER_NONE;
    for (int p = 0; p < f->count; p++) node[p] = (int)f->order[p];
    return ORDER_FOUND;
}

static order_result order_amd(free_graph *f, int *node) {
    if (f->count == 0) return ORDER_FOUND;
    int result = amd_order(f->count, f->amd_start, f->amd_neighbour, f->amd_order, NULL, NULL);
    if (result < AMD_OK) return result == AMD_OUT_OF_MEMORY ? ORDER_NO_MEMORY : ORDER_NONE;
    memcpy(node, f->amd_order, (size_t)f->count * sizeof *node);
    return ORDER_FOUND;
}

static void swap(elimination *a, elimination *b) {
    elimination c = *a;
    *a = *b;
    *b = c;
}

/* Tries the orders that `wanted` allows on `trial` and leaves the one with the fewest operations in `best`. False: out
 * of memory. */
static bool pick_order(const graph *g, free_graph *f, cholesky_ordering wanted, elimination *best, elimination *trial,
                       int *position, int *mark) {
    best->name = "natural";
    for (int i = 0; i < g->count; i++) best->node[i] = trial->node[i] = i;
    analyse(g, best, position, mark);
    if (wanted == CHOLESKY_ORDERING_NATURAL) return true;
    bool found = false, dissect = wanted != CHOLESKY_ORDERING_AMD && f->count >= METIS_NODES_MIN;
    order_result result = ORDER_NONE;
    if (wanted != CHOLESKY_ORDERING_METIS || !dissect) result = order_amd(f, trial->node);
    if (result == ORDER_FOUND) {
        trial->name = "amd";
        analyse(g, trial, position, mark);
        swap(best, trial);
        found = true;
    }
    for (int i = f->count; i < g->count; i++) trial->node[i] = i;
    int tries = !dissect ? 0 : f->count < METIS_LARGE_NODES ? METIS_TRIES : METIS_TRIES_LARGE;
    for (int t = 1; t <= tries && result != ORDER_NO_MEMORY; t++) {
        result = order_metis(f, t, trial->node);
        if (result != ORDER_FOUND) break;
        trial->name = "metis";
        analyse(g, trial, position, mark);
        if (found && trial->flops >= best->flops) continue;
        swap(best, trial);
        found = true;
        for (int i = f->count; i < g->count; i++) trial->node[i] = i;
    }
    return result != ORDER_NO_MEMORY;
}

void tree_postorder(const int *parent, int n, int *head, int *next, int *order) {
    for (int p = 0; p <= n; p++) head[p] = -1;
    for (int p = n - 1; p >= 0; p--) {
        int above = parent[p] < 0 ? n : parent[p];
        next[p] = head[above];
        head[above] = p;
    }
    /* Down to the first child while there is one; a node without children left is done, and so on with its
     * parent. */
    int place = 0;
    for (int p = n;;) {
        int child = head[p];
        if (child >= 0) {
            head[p] = next[child];
            p = child;
            continue;
        }
        if (p == n) return;
        order[place++] = p;
        p = parent[p] < 0 ? n : parent[p];
    }
}

/* Rearranges e along `order` into out. renamed: n ints. */
static void reorder(const elimination *e, int n, const int *order, int *renamed, elimination *out) {
    for (int p = 0; p < n; p++) renamed[order[p]] = p;
    for (int p = 0; p < n; p++) {
        int old = order[p];
        out->node[p] = e->node[old];
        out->count[p] = e->count[old];
        out->parent[p] = e->parent[old] < 0 ? -1 : renamed[e->parent[old]];
    }
    out->name = e->name;
    out->flops = e->flops;
}

thenar_status elimination_create(const graph *g, const cholesky_options *options, elimination *out,
                                 thenar_error *error) {
    int n = g->count;
    elimination best = {0}, trial = {0};
    free_graph f = {0};
    int *head = MEMORY_ARRAY(int, n + 1), *next = MEMORY_ARRAY(int, n + 1), *order = MEMORY_ARRAY(int, n);
    bool ready = head && next && order && elimination_allocate(&best, n) && elimination_allocate(&trial, n) &&
                 free_graph_create(g, options->last_count, &f);
    ready = ready && pick_order(g, &f, options->ordering, &best, &trial, head, next);
    if (ready) {
        tree_postorder(best.parent, n, head, next, order);
        reorder(&best, n, order, head, &trial);
        *out = trial;
    } else {
        elimination_free(&trial);
    }
    free_graph_free(&f);
    elimination_free(&best);
    free(head), free(next), free(order);
    return ready ? THENAR_OK : error_memory(error, "elimination order");
}
