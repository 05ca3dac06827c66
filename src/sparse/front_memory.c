/* A front's Schur complement waits from the front's turn to its parent's; on the way down, a front's part of
 * the inverse waits until its last child has copied from it. The schedule is known, so every such array gets
 * its place here, first fit, and is free for others when its wait is over: the working set stays small enough
 * for the cache. Pieces run at the same time, hence each has memory of its own. */
#include "sparse/front_memory.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Below so many operations (about 0.2 ms) waking threads costs more than it gains. */
#define PARALLEL_FLOPS 6e6
/* A piece is at most this part of all operations, so that a few threads can share them evenly. */
#define PIECE_PART (1.0 / 12)
/* A front of so many operations (about 20 us) is shared by the threads. */
#define SHARED_FLOPS 1e6
/* Vectors of eight may write, unchanged, what lies behind the end of an array. */
#define OVERHANG 8

double front_flops(const front *f) {
    double k = front_k(f), m = front_m(f);
    return k * (k + 1) * (2 * k + 1) / 6 + k * (k + 1) * m + k * m * (m + 1);
}

workers *front_pool(const front *f, workers *pool) {
    return workers_count(pool) > 1 && front_flops(f) >= SHARED_FLOPS ? pool : NULL;
}

typedef struct placed {
    size_t offset, size;
    int front;
} placed;

/* What is in use, by ascending offset. */
typedef struct place_list {
    placed *items; /* room for all fronts */
    int count;
    size_t end; /* the most that was ever in use */
} place_list;

static size_t place_take(place_list *list, size_t size, int f) {
    size_t offset = 0;
    int i = 0;
    while (i < list->count && list->items[i].offset < offset + size) {
        offset = list->items[i].offset + list->items[i].size;
        i++;
    }
    /* items before i end at or before offset, since the walk only passes those that are in the way or below
     */
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

/* The fronts of `order` one after the other, up the tree and then down again; `base` is where their memory
 * starts. Returns its size. */
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
        /* What pieces read must outlive the whole top of the tree. */
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
        plan->facts.nonzeros += 0.5 * front_k(it) * (front_k(it) + 1) + (double)front_k(it) * front_m(it);
        if (it->child_count > 0) first[f] = first[plan->child[it->child_start]];
        if (it->parent >= 0) subtree[it->parent] += subtree[f];
    }
}

/* Scratch of the front at hand: its pivot columns and, for the inverse, three arrays of about that size. */
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
        if (front_height(it) > plan->most_rows) plan->most_rows = front_height(it);
    }
}

thenar_status front_memory_plan(cholesky_plan *plan, thenar_error *error) {
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
