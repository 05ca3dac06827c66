/* Symbolic factorization: from the pattern of A to fronts.
 *
 * The rows of a front below its pivots are the rows of A in the pivot columns and the rows below of its children,
 * without the pivots themselves. Duff and Reid, "The multifrontal solution of indefinite sparse symmetric linear
 * equations", ACM Trans. Math. Softw. 9 (1983); Liu, SIAM Review 34 (1992). */
#include "sparse/cholesky_plan.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Memory. The Schur complement of a front is needed until its parent is assembled. On the way down, a front's part of
 * the inverse is needed until its last child has copied from it. The order of the fronts is known, so every such array
 * gets a fixed offset here, first fit, and its memory is reused afterwards: the working set stays small enough for the
 * cache. Pieces run at the same time, so each has memory of its own. */

/* Below this number of operations (about 0.2 ms), waking threads costs more than it saves. */
#define PARALLEL_FLOPS 6e6
/* A piece has at most this share of all operations, so that a few threads can divide them evenly. */
#define PIECE_PART (1.0 / 12)
/* Threads share a front of this many operations (about 20 us). */
#define SHARED_FLOPS 1e6
/* Stores of eight doubles may rewrite, unchanged, the values behind the end of an array. */
#define OVERHANG 8

/* Operations of one front. */
static double front_flops(const front *f) {
    double k = front_k(f), m = front_m(f);
    return k * (k + 1) * (2 * k + 1) / 6 + k * (k + 1) * m + k * m * (m + 1);
}

static size_t front_update_size(int mp) {
    return (size_t)mp * (size_t)(mp + 8) / 2;
}

static size_t front_spread_size(const front *f) {
    return (size_t)front_height(f) * (size_t)front_m(f);
}

workers *front_pool(const front *f, workers *pool) {
    return workers_count(pool) > 1 && front_flops(f) >= SHARED_FLOPS ? pool : NULL;
}

typedef struct placed {
    size_t offset, size;
    int front;
} placed;

/* The arrays in use, by ascending offset. */
typedef struct place_list {
    placed *items; /* room for all fronts */
    int count;
    size_t end; /* maximum size in use */
} place_list;

static size_t place_take(place_list *list, size_t size, int f) {
    size_t offset = 0;
    int i = 0;
    while (i < list->count && list->items[i].offset < offset + size) {
        offset = list->items[i].offset + list->items[i].size;
        i++;
    }
    /* Items before i end at or before offset: the loop only passes items that overlap the range or lie below it. */
    memmove(list->items + i + 1, list->items + i, (size_t)(list->count - i) * sizeof *list->items);
    list->items[i] = (placed){offset, size, f};
    list->count++;
    if (offset + size > list->end) list->end = offset + size;
    return offset;
}

static void place_release(place_list *list, int f) {
    for (int i = 0; i < list->count; i++)
        if (list->items[i].front == f) {
            list->count--;
            memmove(list->items + i, list->items + i + 1, (size_t)(list->count - i) * sizeof *list->items);
            return;
        }
}

static size_t round_up(size_t doubles) {
    return (doubles + OVERHANG + 7) / 8 * 8;
}

/* Assigns memory to the fronts of `order`, up the tree and then down again; `base` is where their memory starts.
 * Returns its size. */
static size_t place_fronts(cholesky_plan *plan, const int *order, int count, const bool *in_piece, size_t base,
                           place_list *list) {
    list->count = 0;
    list->end = 0;
    for (int i = 0; i < count; i++) {
        front *f = &plan->fronts[order[i]];
        f->update = base + place_take(list, round_up(front_update_size(front_mp(f))), order[i]);
        for (int c = 0; c < f->child_count; c++) place_release(list, plan->child[f->child_start + c]);
    }
    list->count = 0;
    for (int i = count - 1; i >= 0; i--) {
        front *f = &plan->fronts[order[i]];
        f->spread = base + place_take(list, round_up(front_spread_size(f)), order[i]);
        if (f->child_count == 0) place_release(list, order[i]);
        bool last_reader = f->parent >= 0 && plan->child[plan->fronts[f->parent].child_start] == order[i];
        /* Pieces read it after the whole top of the tree is done. */
        bool pieces_read = false;
        if (last_reader)
            for (int c = 0; c < plan->fronts[f->parent].child_count; c++)
                pieces_read |= in_piece[plan->child[plan->fronts[f->parent].child_start + c]] != in_piece[f->parent];
        if (last_reader && !pieces_read) place_release(list, f->parent);
    }
    return list->end;
}

static int compare_pieces(const void *a, const void *b) {
    const front_piece *left = a, *right = b;
    if (left->flops != right->flops) return left->flops > right->flops ? -1 : 1;
    return left->first < right->first ? -1 : 1;
}

/* Pieces are the largest subtrees below the limit, the heaviest first. first: the first front of each
 * subtree. */
static void cut_pieces(cholesky_plan *plan, const double *subtree, const int *first, bool *in_piece) {
    double total = plan->facts.flops, limit = total * PIECE_PART;
    for (int f = plan->front_count - 1; f >= 0 && total >= PARALLEL_FLOPS; f--) {
        int parent = plan->fronts[f].parent;
        bool parent_in = parent >= 0 && in_piece[parent];
        in_piece[f] = parent_in || subtree[f] <= limit;
        if (in_piece[f] && !parent_in)
            plan->piece[plan->piece_count++] = (front_piece){.first = first[f], .end = f + 1, .flops = subtree[f]};
    }
    qsort(plan->piece, (size_t)plan->piece_count, sizeof *plan->piece, compare_pieces);
    for (int f = 0; f < plan->front_count; f++)
        if (!in_piece[f]) plan->top[plan->top_count++] = f;
    plan->facts.piece_count = plan->piece_count;
}

static void measure_subtrees(cholesky_plan *plan, double *subtree, int *first) {
    for (int f = 0; f < plan->front_count; f++) {
        const front *it = &plan->fronts[f];
        first[f] = f;
        subtree[f] += front_flops(it);
        plan->facts.flops += front_flops(it);
        if (it->child_count > 0) first[f] = first[plan->child[it->child_start]];
        if (it->parent >= 0) subtree[it->parent] += subtree[f];
    }
}

/* Scratch of a front: its pivot columns or, for the inverse, three arrays of about that size. */
static size_t scratch_of(const front *f) {
    return 3 * (size_t)front_height(f) * (size_t)front_kp(f);
}

static void place_all(cholesky_plan *plan, int *order, const bool *in_piece, place_list *list) {
    for (int i = 0; i < plan->piece_count; i++) {
        front_piece *piece = &plan->piece[i];
        size_t scratch = 0;
        for (int f = piece->first; f < piece->end; f++) {
            order[f - piece->first] = f;
            if (scratch_of(&plan->fronts[f]) > scratch) scratch = scratch_of(&plan->fronts[f]);
        }
        piece->scratch = plan->scratch_size;
        plan->scratch_size += round_up(scratch);
        plan->work_size += place_fronts(plan, order, piece->end - piece->first, in_piece, plan->work_size, list);
    }
    size_t scratch = 0;
    for (int i = 0; i < plan->top_count; i++)
        if (scratch_of(&plan->fronts[plan->top[i]]) > scratch) scratch = scratch_of(&plan->fronts[plan->top[i]]);
    plan->top_scratch = plan->scratch_size;
    plan->scratch_size += round_up(scratch);
    plan->work_size += place_fronts(plan, plan->top, plan->top_count, in_piece, plan->work_size, list);
    for (int f = 0; f < plan->front_count; f++) {
        front *it = &plan->fronts[f];
        it->panel = plan->panel_size;
        plan->panel_size += round_up((size_t)front_height(it) * (size_t)front_k(it));
        if (front_height(it) > plan->max_rows) plan->max_rows = front_height(it);
    }
}

/* Divides the tree into pieces and fills in the offsets and sizes of all arrays of a factor. The fronts of the plan
 * have their rows and children. */
static thenar_status front_memory_plan(cholesky_plan *plan, thenar_error *error) {
    int count = plan->front_count;
    double *subtree = MEMORY_ARRAY(double, count);
    int *first = MEMORY_ARRAY(int, count), *order = MEMORY_ARRAY(int, count);
    bool *in_piece = MEMORY_ARRAY(bool, count);
    place_list list = {.items = MEMORY_ARRAY(placed, count + 1)};
    plan->piece = MEMORY_ARRAY(front_piece, count);
    plan->top = MEMORY_ARRAY(int, count);
    bool ready = subtree && first && order && in_piece && list.items && plan->piece && plan->top;
    if (ready) {
        measure_subtrees(plan, subtree, first);
        cut_pieces(plan, subtree, first, in_piece);
        place_all(plan, order, in_piece, &list);
    }
    free(subtree), free(first), free(order), free(in_piece), free(list.items);
    return ready ? THENAR_OK : error_memory(error, "fronts");
}

int front_find_row(const cholesky_plan *plan, const front *f, int position) {
    if (position < f->first) return -1;
    if (position < f->first + f->pivots) return 3 * (position - f->first);
    const int *row = plan->row + f->row_start;
    int low = 0, high = f->below;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (row[middle] < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low < f->below && row[low] == position ? front_kp(f) + 3 * low : -1;
}

static int compare_ints(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

static bool allocate_fronts(cholesky_plan *plan, const front_groups *groups) {
    int n = plan->node_count;
    plan->front_count = groups->count;
    plan->position = MEMORY_ARRAY(int, n);
    plan->node = MEMORY_ARRAY(int, n);
    plan->front_of = MEMORY_ARRAY(int, n);
    plan->fronts = MEMORY_ARRAY(front, groups->count);
    plan->child = MEMORY_ARRAY(int, groups->count);
    return plan->position && plan->node && plan->front_of && plan->fronts && plan->child;
}

/* The fronts with their pivots and children; the final order of the nodes. */
static void name_fronts(cholesky_plan *plan, const elimination *e, const front_groups *groups) {
    for (int g = 0; g < groups->count; g++) {
        int first = groups->start[g], pivots = groups->start[g + 1] - first;
        plan->fronts[g] = (front){.first = first, .pivots = pivots, .parent = groups->parent[g]};
        for (int p = first; p < first + pivots; p++) {
            int node = e->node[groups->member[p]];
            plan->node[p] = node;
            plan->position[node] = p;
            plan->front_of[p] = g;
        }
    }
    for (int g = 0; g < groups->count; g++)
        if (groups->parent[g] >= 0) plan->fronts[groups->parent[g]].child_count++;
    int start = 0;
    for (int g = 0; g < groups->count; g++) {
        plan->fronts[g].child_start = start;
        start += plan->fronts[g].child_count;
        plan->fronts[g].child_count = 0;
    }
    for (int g = 0; g < groups->count; g++)
        if (groups->parent[g] >= 0) {
            front *parent = &plan->fronts[groups->parent[g]];
            plan->child[parent->child_start + parent->child_count++] = g;
        }
}

typedef ARRAY(int) int_list;

/* Appends the rows of front f to `rows`. mark[position] is f for rows already appended. */
static bool collect_rows(cholesky_plan *plan, const graph *g, int f, int *mark, int_list *rows) {
    front *it = &plan->fronts[f];
    int end = it->first + it->pivots;
    size_t start = rows->count;
    for (int p = it->first; p < end; p++) {
        int node = plan->node[p];
        for (int k = g->start[node]; k < g->start[node + 1]; k++) {
            int q = plan->position[g->neighbour[k]];
            if (q < end || mark[q] == f) continue;
            mark[q] = f;
            if (!ARRAY_PUSH(rows, q)) return false;
        }
    }
    for (int c = 0; c < it->child_count; c++) {
        const front *child = &plan->fronts[plan->child[it->child_start + c]];
        for (int r = 0; r < child->below; r++) {
            int q = rows->data[child->row_start + r];
            if (q < end || mark[q] == f) continue;
            mark[q] = f;
            if (!ARRAY_PUSH(rows, q)) return false;
        }
    }
    if (rows->count > INT_MAX) return false;
    it->row_start = (int)start;
    it->below = (int)(rows->count - start);
    if (it->below > 0) qsort(rows->data + start, (size_t)it->below, sizeof *rows->data, compare_ints);
    return true;
}

static bool find_rows(cholesky_plan *plan, const graph *g) {
    int *mark = MEMORY_ARRAY(int, plan->node_count);
    int_list rows = {0};
    bool ready = mark && ARRAY_RESERVE(&rows, 1);
    for (int p = 0; ready && p < plan->node_count; p++) mark[p] = -1;
    for (int f = 0; ready && f < plan->front_count; f++) ready = collect_rows(plan, g, f, mark, &rows);
    free(mark);
    plan->row = rows.data;
    return ready;
}

typedef ARRAY(front_run) run_list;

/* Where the rows of front f are in its parent. */
static bool find_runs(cholesky_plan *plan, front *f, run_list *runs) {
    f->run_start = (int)runs->count;
    if (f->parent < 0) return true;
    const front *parent = &plan->fronts[f->parent];
    for (int r = 0; r < f->below; r++) {
        int to = front_find_row(plan, parent, plan->row[f->row_start + r]);
        assert(to >= 0);
        if (to < front_k(parent)) f->inner = 3 * (r + 1);
        front_run *last = runs->count > (size_t)f->run_start ? &runs->data[runs->count - 1] : NULL;
        /* A run does not cross from the parent's pivots to its other rows, even where no padding lies
         * between. */
        bool continues = last && last->to + last->count == to && to != front_kp(parent);
        if (continues)
            last->count += 3;
        else if (!ARRAY_PUSH(runs, (front_run){3 * r, to, 3}))
            return false;
    }
    f->run_count = (int)runs->count - f->run_start;
    return true;
}

static bool find_all_runs(cholesky_plan *plan) {
    run_list runs = {0};
    bool ready = ARRAY_RESERVE(&runs, 1);
    for (int f = 0; ready && f < plan->front_count; f++) ready = find_runs(plan, &plan->fronts[f], &runs);
    plan->run = runs.data;
    return ready;
}

static bool find_scatter(cholesky_plan *plan, const block_pattern *pattern) {
    plan->scatter = MEMORY_ARRAY(front_scatter, pattern->block_count);
    if (!plan->scatter) return false;
    int n = plan->node_count, start = 0;
    const int *position = plan->position;
    for (int j = 0; j < n; j++)
        for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1]; k++) {
            int p = position[pattern->row[k]], q = position[j];
            plan->fronts[plan->front_of[p < q ? p : q]].scatter_count++;
        }
    for (int f = 0; f < plan->front_count; f++) {
        plan->fronts[f].scatter_start = start;
        start += plan->fronts[f].scatter_count;
        plan->fronts[f].scatter_count = 0;
    }
    for (int j = 0; j < n; j++)
        for (int k = pattern->column_start[j]; k < pattern->column_start[j + 1]; k++) {
            int p = position[pattern->row[k]], q = position[j];
            int column = p < q ? p : q, row = p < q ? q : p;
            front *f = &plan->fronts[plan->front_of[column]];
            int target = 3 * (column - f->first) * front_height(f) + front_find_row(plan, f, row);
            plan->scatter[f->scatter_start + f->scatter_count++] = (front_scatter){2 * k + (p < q), target};
        }
    return true;
}

static thenar_status build(cholesky_plan *plan, const block_pattern *pattern, const cholesky_options *options,
                           thenar_error *error) {
    int n = pattern->node_count;
    graph g = {0};
    elimination e = {0};
    front_groups groups = {0};
    thenar_status status = graph_create(pattern, options->last_count, &g, error);
    if (status == THENAR_OK) status = elimination_create(&g, options, &e, error);
    if (status == THENAR_OK) status = front_groups_create(&e, n, n - options->last_count, &groups, error);
    if (status == THENAR_OK) {
        plan->facts.ordering = e.name;
        bool ready = allocate_fronts(plan, &groups);
        if (ready) name_fronts(plan, &e, &groups);
        ready = ready && find_rows(plan, &g) && front_sort_pivots(plan, n - options->last_count) &&
                find_all_runs(plan) && find_scatter(plan, pattern);
        status = ready ? front_memory_plan(plan, error) : error_memory(error, "fronts");
    }
    graph_free(&g);
    elimination_free(&e);
    front_groups_free(&groups);
    return status;
}

thenar_status cholesky_plan_create(const block_pattern *pattern, const cholesky_options *options, cholesky_plan **out,
                                   thenar_error *error) {
    const cholesky_options defaults = {0};
    if (!options) options = &defaults;
    assert(options->last_count >= 0 && options->last_count <= pattern->node_count);
    *out = NULL;
    cholesky_plan *plan = MEMORY_ARRAY(cholesky_plan, 1);
    if (!plan) return error_memory(error, "fronts");
    plan->node_count = pattern->node_count;
    thenar_status status = build(plan, pattern, options, error);
    if (status != THENAR_OK) {
        cholesky_plan_free(plan);
        return status;
    }
    plan->facts.front_count = plan->front_count;
    *out = plan;
    return THENAR_OK;
}

void cholesky_plan_free(cholesky_plan *plan) {
    if (!plan) return;
    free(plan->position), free(plan->node), free(plan->front_of), free(plan->fronts), free(plan->row);
    free(plan->child), free(plan->run), free(plan->scatter), free(plan->piece), free(plan->top);
    free(plan);
}

cholesky_facts cholesky_plan_facts(const cholesky_plan *plan) {
    return plan->facts;
}

const int *cholesky_plan_position(const cholesky_plan *plan) {
    return plan->position;
}

/* What the solves write to. */
static void layout_workspace(cholesky_factor *factor, const cholesky_plan *plan, arena *memory) {
    factor->vector = ARENA_ARRAY(memory, double, 24 * (size_t)plan->node_count);
    factor->rows = ARENA_ARRAY(memory, double, 8 * ((size_t)plan->max_rows + 8));
    factor->reached = ARENA_ARRAY(memory, int, plan->front_count);
    factor->visited = ARENA_ARRAY(memory, bool, plan->front_count);
    if (factor->visited) memset(factor->visited, 0, (size_t)plan->front_count * sizeof *factor->visited);
}

void cholesky_view_layout(cholesky_factor *view, const cholesky_plan *plan, arena *memory) {
    *view = (cholesky_factor){.plan = plan};
    layout_workspace(view, plan, memory);
}

void cholesky_view_open(cholesky_factor *view, const cholesky_factor *factor) {
    view->panels = factor->panels;
    view->inverse = factor->inverse;
}

void cholesky_factor_layout(cholesky_factor *factor, const cholesky_plan *plan, arena *memory) {
    factor->plan = plan;
    factor->panels = ARENA_ARRAY(memory, double, plan->panel_size);
    factor->inverse = ARENA_ARRAY(memory, double, plan->panel_size);
    factor->work = ARENA_ARRAY(memory, double, plan->work_size);
    factor->scratch = ARENA_ARRAY(memory, double, plan->scratch_size);
    layout_workspace(factor, plan, memory);
    factor->failed = ARENA_ARRAY(memory, int, plan->piece_count + 1);
}
