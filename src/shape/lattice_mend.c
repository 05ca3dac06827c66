/* Sets of tets around one node are sets of bits: a node has at most 32 tets around it. */
#include "shape/lattice.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>

typedef struct star {
    int count;
    int tet[GRID_STAR_LIMIT];
    int node[GRID_STAR_LIMIT][4];
    uint32_t next_to[GRID_STAR_LIMIT]; /* the tets that share a face with this one */
    uint32_t all, marked;
} star;

static int lowest_bit(uint32_t set) {
    return __builtin_ctz(set);
}

static bool has_node(const star *s, int i, int node) {
    return s->node[i][0] == node || s->node[i][1] == node || s->node[i][2] == node || s->node[i][3] == node;
}

static int shared_nodes(const star *s, int i, int j) {
    int count = 0;
    for (int k = 0; k < 4; k++) count += has_node(s, i, s->node[j][k]);
    return count;
}

static star star_make(const grid *g, int node, const unsigned char *keep) {
    star s;
    s.count = grid_star(g, node, s.tet);
    s.all = s.marked = 0;
    for (int i = 0; i < s.count; i++) {
        grid_tet(g, s.tet[i], s.node[i]);
        s.next_to[i] = 0;
        s.all |= (uint32_t)1 << i;
        if (keep[s.tet[i]]) s.marked |= (uint32_t)1 << i;
        for (int j = 0; j < i; j++) {
            if (shared_nodes(&s, i, j) != 3) continue;
            s.next_to[i] |= (uint32_t)1 << j;
            s.next_to[j] |= (uint32_t)1 << i;
        }
    }
    return s;
}

static uint32_t neighbours_of(const star *s, uint32_t set) {
    uint32_t result = 0;
    for (; set; set &= set - 1) result |= s->next_to[lowest_bit(set)];
    return result;
}

/* Everything within a set that hangs together with the lowest tet of it. */
static uint32_t first_part(const star *s, uint32_t set) {
    uint32_t part = set & (~set + 1), more;
    while ((more = neighbours_of(s, part) & set & ~part)) part |= more;
    return part;
}

/* Marks a shortest chain of unmarked tets between the first part of the marked ones and another part; false
 * if no chain is possible. */
static bool join_parts(star *s) {
    uint32_t level[GRID_STAR_LIMIT + 1], start = first_part(s, s->marked), seen = start;
    int depth = 0;
    level[0] = start;
    uint32_t goal = s->marked & ~start;
    while (!(level[depth] & goal)) {
        level[depth + 1] = neighbours_of(s, level[depth]) & ~seen;
        seen |= level[++depth];
        if (!level[depth]) return false;
    }
    int at = lowest_bit(level[depth] & goal);
    while (--depth > 0) {
        at = lowest_bit(s->next_to[at] & level[depth]);
        s->marked |= (uint32_t)1 << at;
    }
    return true;
}

static void join_marked(star *s) {
    while (first_part(s, s->marked) != s->marked)
        if (!join_parts(s)) return;
}

/* Of the unmarked tets, only the largest part stays unmarked. */
static void fill_pockets(star *s) {
    uint32_t unmarked = s->all & ~s->marked, largest = 0;
    for (uint32_t rest = unmarked; rest;) {
        uint32_t part = first_part(s, rest);
        if (__builtin_popcount(part) > __builtin_popcount(largest)) largest = part;
        rest &= ~part;
    }
    s->marked |= unmarked & ~largest;
}

/* With the marked tets in one part and the unmarked ones in one part, edges are in order as well: on a small
 * sphere around the node, an edge where two marked sectors meet in a point would part the unmarked ones from
 * each other. */
static void mend_star(star *s) {
    uint32_t before;
    do {
        before = s->marked;
        join_marked(s);
        fill_pockets(s);
    } while (s->marked != before);
}

static bool any_marked_and_not(const star *s) {
    return s->marked && s->marked != s->all;
}

thenar_status lattice_mend(const grid *g, unsigned char *keep, thenar_error *error) {
    /* A node is looked at again when a tet around it has been marked. */
    unsigned char *pending = MEMORY_ARRAY(unsigned char, grid_node_count(g));
    if (!pending) return error_memory(error, "lattice");
    for (int tet = 0; tet < grid_tet_count(g); tet++) {
        int n[4];
        if (!keep[tet] || !grid_tet(g, tet, n)) continue;
        for (int i = 0; i < 4; i++) pending[n[i]] = 1;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (int node = 0; node < grid_node_count(g); node++) {
            if (!pending[node]) continue;
            pending[node] = 0;
            star s = star_make(g, node, keep);
            if (!any_marked_and_not(&s)) continue;
            mend_star(&s);
            for (int i = 0; i < s.count; i++) {
                if (!(s.marked >> i & 1) || keep[s.tet[i]]) continue;
                keep[s.tet[i]] = 1;
                changed = true;
                for (int k = 0; k < 4; k++) pending[s.node[i][k]] = 1;
            }
        }
    }
    free(pending);
    return THENAR_OK;
}
