/* Partition refinement (Jacquelin, Ng and Peyton, "Fast and effective reordering of columns within supernodes
 * using partition refinement", SIAM CSC 2018). The pivots start as one class. The rows that a front below has
 * in here are a set; every class that is partly in the set is split in two, the part in the set towards the
 * other classes of the set. Sets come from the nearest front below to the farthest: a child's set lies within
 * its parent's.
 *
 * On a block of 5,760 tets this brings the rows of a front from 9 runs in its parent to 5.5 (and its
 * factorization from 3.0 to 2.8 ms). */
#include "sparse/front_sort.h"

#include "base/memory.h"

#include <stdlib.h>

/* Rows [start, start + count) of plan->row are pivots of one front. */
typedef struct segment {
    int start, count;
} segment;

/* The segments by the front whose pivots they are: of front f from first[f] to first[f + 1]. */
typedef struct segments {
    int *first;
    segment *list;
} segments;

/* Two passes over all rows, count and place; fronts descending, hence the nearest first. */
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
    int *order;   /* place -> pivot, as numbered before */
    int *other;   /* room for a class */
    bool *begins; /* place: a class begins here */
    bool *inside; /* pivot: in the set at hand */
} refinement;

/* Splits the class of the places [begin, end), `members` of them in the set; these go to the front or to the
 * back. */
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

/* place[position]: where the position moves to. */
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
