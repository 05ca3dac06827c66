/* The order of elimination: the one with the fewest operations, which columns form a front, and the order of the
 * columns within a front. */
#include "sparse/cholesky_plan.h"

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

/* The elimination tree and the column counts of an order, by walking up the tree from every entry of every row; the
 * time is proportional to the size of L. mark: count ints. */
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

/* The graph without its last nodes, in the integer types of METIS and AMD. */
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

/* Result of a library. Running out of memory is an error and no reason to fall back to another order, which would
 * change the bits of the results. */
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

/* Postorder of a forest (parents -1 at roots), children and roots ascending: order[place] = node. head and
 * next are workspace, n + 1 ints each. */
static void tree_postorder(const int *parent, int n, int *head, int *next, int *order) {
    for (int p = 0; p <= n; p++) head[p] = -1;
    for (int p = n - 1; p >= 0; p--) {
        int above = parent[p] < 0 ? n : parent[p];
        next[p] = head[above];
        head[above] = p;
    }
    /* Descends to the first child while there is one. A node without remaining children is finished; the walk goes on
     * with its parent. */
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

/* Copies e to out in the given order. renamed: n ints. */
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

/* Which columns form a front. A column with the same rows as its parent's column joins it at no cost (fundamental
 * supernodes). Beyond that, a child with k_c pivots and a parent with k pivots and m rows below may be merged to one
 * front of k_c + k pivots and m rows: it stores some zeros and computes with them, but one front less is assembled,
 * and its Schur complement is not added to another. A child is merged if a model of the time predicts a gain.
 *
 * Ashcraft and Grimes, "The influence of relaxed supernode partitions on the multifrontal method", ACM Trans. Math.
 * Softw. 15 (1989), with predicted time in place of the number of zeros. */

/* Predicted time of a front, roughly in cycles. The weights were fitted on meshes of 200 to 5,760 tets (AVX-512, one
 * thread). */
#define COST_FRONT 150.0
#define COST_PIVOT_COLUMN 30.0
#define COST_TILE 14.0
#define COST_UPDATE_COLUMN 8.0
#define COST_UPDATE_VECTOR 1.5

static double front_cost(int pivots, int below) {
    double k = 3.0 * pivots, m = 3.0 * below;
    double k_tiles = (3 * pivots + 7) / 8, m_tiles = (3 * below + 7) / 8;
    double panel = (k_tiles / 2 + m_tiles) * k_tiles, square = m_tiles * (m_tiles + 1) / 2;
    double factor = panel * (COST_TILE + 4 * k + 32) + COST_PIVOT_COLUMN * k;
    double update = square * COST_TILE + k * m * (m_tiles + 1) / 2;
    double assemble = m * (COST_UPDATE_COLUMN + COST_UPDATE_VECTOR * (m_tiles + 1) / 2);
    return COST_FRONT + factor + update + assemble;
}

typedef struct group {
    int pivots, below;
    int parent;
    int first_child, sibling;
    int head, tail; /* its pivots, linked by next_pivot */
    bool is_last, merged;
} group;

static void absorb(group *groups, int s, int child, int previous, int *next_pivot) {
    group *c = &groups[child], *g = &groups[s];
    if (previous < 0)
        g->first_child = c->sibling;
    else
        groups[previous].sibling = c->sibling;
    for (int grand = c->first_child; grand >= 0;) {
        int following = groups[grand].sibling;
        groups[grand].sibling = g->first_child;
        groups[grand].parent = s;
        g->first_child = grand;
        grand = following;
    }
    next_pivot[c->tail] = g->head;
    g->head = c->head;
    g->pivots += c->pivots;
    c->merged = true;
}

/* Merges children into s as long as the best merge saves time. */
static void merge_children(group *groups, int s, int *next_pivot) {
    for (;;) {
        int best = -1, before_best = -1;
        double best_gain = 0;
        const group *g = &groups[s];
        double own = front_cost(g->pivots, g->below);
        for (int c = g->first_child, previous = -1; c >= 0; previous = c, c = groups[c].sibling) {
            if (groups[c].is_last != g->is_last) continue;
            double apart = own + front_cost(groups[c].pivots, groups[c].below);
            double gain = apart - front_cost(g->pivots + groups[c].pivots, g->below);
            if (gain > best_gain) best = c, before_best = previous, best_gain = gain;
        }
        if (best < 0) return;
        absorb(groups, s, best, before_best, next_pivot);
    }
}

/* Groups of columns with the same rows; returns their number. group_of: n ints. */
static int fundamental_groups(const elimination *e, int n, int first_last, group *groups, int *group_of,
                              int *next_pivot) {
    int count = 0;
    for (int p = 0; p < n; p++) {
        bool joins = p > 0 && e->parent[p - 1] == p && e->count[p - 1] == e->count[p] + 1 && p != first_last;
        if (!joins) {
            groups[count++] =
                (group){.parent = -1, .first_child = -1, .head = p, .tail = p, .is_last = p >= first_last};
        } else {
            next_pivot[groups[count - 1].tail] = p;
            groups[count - 1].tail = p;
        }
        group *g = &groups[count - 1];
        g->pivots++;
        g->below = e->count[p] - 1;
        group_of[p] = count - 1;
    }
    for (int s = count - 1; s >= 0; s--) {
        int above = e->parent[groups[s].tail];
        if (above < 0) continue;
        int parent = group_of[above];
        groups[s].parent = parent;
        groups[s].sibling = groups[parent].first_child;
        groups[parent].first_child = s;
    }
    return count;
}

/* Puts the remaining groups in postorder. work: 5 (n + 1) ints. */
static void number_groups(const group *groups, int count, const int *next_pivot, int *work, int n, front_groups *out) {
    int *kept = work, *short_parent = kept + n + 1, *head = short_parent + n + 1, *next = head + n + 1,
        *order = next + n + 1;
    int *number = head; /* group -> its number among those kept */
    for (int s = 0; s < count; s++)
        if (!groups[s].merged) number[s] = out->count, kept[out->count++] = s;
    for (int i = 0; i < out->count; i++) {
        int parent = groups[kept[i]].parent;
        short_parent[i] = parent < 0 ? -1 : number[parent];
    }
    tree_postorder(short_parent, out->count, head, next, order);
    int filled = 0;
    int *place = head; /* number -> place in the postorder */
    for (int i = 0; i < out->count; i++) {
        const group *g = &groups[kept[order[i]]];
        place[order[i]] = i;
        for (int p = g->head, left = g->pivots; left > 0; left--, p = next_pivot[p]) out->member[filled++] = p;
        out->start[i + 1] = filled;
    }
    for (int i = 0; i < out->count; i++) {
        int parent = short_parent[order[i]];
        out->parent[i] = parent < 0 ? -1 : place[parent];
    }
}

thenar_status front_groups_create(const elimination *e, int n, int first_last, front_groups *out, thenar_error *error) {
    *out = (front_groups){0, MEMORY_ARRAY(int, n + 1), MEMORY_ARRAY(int, n), MEMORY_ARRAY(int, n)};
    group *groups = MEMORY_ARRAY(group, n);
    int *next_pivot = MEMORY_ARRAY(int, n), *work = MEMORY_ARRAY(int, 5 * ((size_t)n + 1));
    bool ready = out->start && out->parent && out->member && groups && next_pivot && work;
    if (ready) {
        int count = fundamental_groups(e, n, first_last, groups, work, next_pivot);
        for (int s = 0; s < count; s++) merge_children(groups, s, next_pivot);
        number_groups(groups, count, next_pivot, work, n, out);
    } else {
        front_groups_free(out);
    }
    free(groups), free(next_pivot), free(work);
    return ready ? THENAR_OK : error_memory(error, "elimination order");
}

void front_groups_free(front_groups *groups) {
    free(groups->start), free(groups->parent), free(groups->member);
    *groups = (front_groups){0};
}

/* The order of columns within a front: partition refinement (Jacquelin, Ng and Peyton, "Fast and effective reordering
 * of columns within supernodes using partition refinement", SIAM CSC 2018). The pivots start as one class. The rows
 * that a descendant has among them form a set. Every class that is partly in the set is split in two, with the part in
 * the set next to the other classes of the set. Sets are taken from the nearest descendant to the farthest, since a
 * child's set is a subset of its parent's.
 *
 * On a block of 5,760 tets this reduces the number of runs that the rows of a front form in its parent from 9 to 5.5,
 * and the time of a factorization from 3.0 to 2.8 ms. */

/* Rows [start, start + count) of plan->row are pivots of one front. */
typedef struct segment {
    int start, count;
} segment;

/* The segments sorted by the front that owns their pivots: those of front f start at first[f] and end at first[f + 1]. */
typedef struct segments {
    int *first;
    segment *list;
} segments;

/* Two passes over all rows, to count and to store. Fronts are visited in descending order, so the nearest come first. */
static bool segments_create(const cholesky_plan *plan, segments *out) {
    *out = (segments){.first = MEMORY_ARRAY(int, plan->front_count + 2)};
    if (!out->first) return false;
    int *next = out->first + 1; /* counts, then the next free place, then the start of the following front */
    for (int pass = 0; pass < 2; pass++) {
        for (int f = plan->front_count - 1; f >= 0; f--) {
            int end = plan->fronts[f].row_start + plan->fronts[f].below;
            for (int r = plan->fronts[f].row_start, stop; r < end; r = stop) {
                int owner = plan->front_of[plan->row[r]];
                for (stop = r + 1; stop < end && plan->front_of[plan->row[stop]] == owner;) stop++;
                if (pass == 0)
                    next[owner + 1]++;
                else
                    out->list[next[owner]++] = (segment){r, stop - r};
            }
        }
        if (pass == 1) break;
        for (int f = 1; f <= plan->front_count; f++) next[f] += next[f - 1];
        out->list = MEMORY_ARRAY(segment, next[plan->front_count]);
        if (!out->list) return false;
    }
    return true;
}

static void segments_free(segments *s) {
    free(s->first);
    free(s->list);
}

/* The pivots of one front while they are sorted. */
typedef struct refinement {
    int count;
    int *order;   /* place -> pivot, in the old numbering */
    int *other;   /* scratch for a class */
    bool *begins; /* place: a class begins here */
    bool *inside; /* pivot: in the current set */
} refinement;

/* Splits the class of the places [begin, end), of which `members` are in the set; those go first or last. */
static void split_class(refinement *r, int begin, int end, int members, bool to_front) {
    int in = to_front ? begin : end - members, out = to_front ? begin + members : begin;
    r->begins[to_front ? out : in] = true;
    for (int i = begin; i < end; i++) r->other[i] = r->order[i];
    for (int i = begin; i < end; i++)
        if (r->inside[r->other[i]])
            r->order[in++] = r->other[i];
        else
            r->order[out++] = r->other[i];
}

static void refine(refinement *r, const int *set, int set_count, int first) {
    if (set_count == r->count) return;
    for (int i = 0; i < set_count; i++) r->inside[set[i] - first] = true;
    bool met = false;
    for (int begin = 0, end; begin < r->count; begin = end) {
        int members = r->inside[r->order[begin]];
        for (end = begin + 1; end < r->count && !r->begins[end]; end++) members += r->inside[r->order[end]];
        if (members > 0 && members < end - begin) split_class(r, begin, end, members, met);
        met |= members > 0;
    }
    for (int i = 0; i < set_count; i++) r->inside[set[i] - first] = false;
}

/* place[position]: the new position. */
static void sort_front(const cholesky_plan *plan, const front *f, const segment *list, const segment *end,
                       refinement *r, int *place) {
    r->count = f->pivots;
    for (int i = 0; i < f->pivots; i++) {
        r->order[i] = i;
        r->begins[i] = false;
    }
    for (; list < end; list++) refine(r, plan->row + list->start, list->count, f->first);
    for (int i = 0; i < f->pivots; i++) place[f->first + r->order[i]] = f->first + i;
}

static int compare_ints(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

static void renumber(cholesky_plan *plan, const int *place) {
    for (int i = 0; i < plan->node_count; i++) {
        plan->position[i] = place[plan->position[i]];
        plan->node[plan->position[i]] = i;
    }
    for (int f = 0; f < plan->front_count; f++) {
        int *row = plan->row + plan->fronts[f].row_start, count = plan->fronts[f].below;
        for (int r = 0; r < count; r++) row[r] = place[row[r]];
        if (count > 1) qsort(row, (size_t)count, sizeof *row, compare_ints);
    }
}

bool front_sort_pivots(cholesky_plan *plan, int first_last) {
    int n = plan->node_count;
    segments s;
    refinement r = {.order = MEMORY_ARRAY(int, n),
                    .other = MEMORY_ARRAY(int, n),
                    .begins = MEMORY_ARRAY(bool, n),
                    .inside = MEMORY_ARRAY(bool, n)};
    int *place = MEMORY_ARRAY(int, n);
    bool ready = segments_create(plan, &s) && r.order && r.other && r.begins && r.inside && place;
    if (ready) {
        for (int p = 0; p < n; p++) place[p] = p;
        for (int f = 0; f < plan->front_count && plan->fronts[f].first < first_last; f++)
            sort_front(plan, &plan->fronts[f], s.list + s.first[f], s.list + s.first[f + 1], &r, place);
        renumber(plan, place);
    }
    segments_free(&s);
    free(r.order), free(r.other), free(r.begins), free(r.inside), free(place);
    return ready;
}
