/* A column whose parent's column has the same rows joins its parent at no cost (fundamental supernodes).
 * Beyond that, a child with pivots k_c and a parent with pivots k and rows below m may merge to one front of
 * k_c + k pivots and the same rows m: some zeros are stored and computed with, but a front less is assembled,
 * and its Schur complement is not added to another. A child is merged where a model of the time says that it
 * pays.
 *
 * Ashcraft and Grimes, "The influence of relaxed supernode partitions on the multifrontal method", ACM Trans.
 * Math. Softw. 15 (1989), with predicted time in place of a count of zeros. */
#include "sparse/cholesky_plan.h"

#include "core/memory.h"

#include <stdlib.h>

/* Time of a front in cycles or so; the weights were fitted on meshes of 200 to 5,760 tets (AVX-512, one
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

/* Merges children into s as long as the best of them gains. */
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

/* Puts the groups that are left in postorder. work: 5 (n + 1) ints. */
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

/* Partition refinement (Jacquelin, Ng and Peyton, "Fast and effective reordering of columns within supernodes
 * using partition refinement", SIAM CSC 2018). The pivots start as one class. The rows that a front below has
 * in here are a set; every class that is partly in the set is split in two, the part in the set towards the
 * other classes of the set. Sets come from the nearest front below to the farthest: a child's set lies within
 * its parent's.
 *
 * On a block of 5,760 tets this brings the rows of a front from 9 runs in its parent to 5.5 (and its
 * factorization from 3.0 to 2.8 ms). */

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
