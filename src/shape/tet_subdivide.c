#include "shape/tet_subdivide.h"

#include "base/memory.h"
#include "shape/mesh.h"

#include <stdlib.h>
#include <string.h>

typedef struct place {
    tet_share share; /* corners in the order of their numbers, those without parts left out */
    size_t use;      /* 4 * tet + corner of the finer mesh */
} place;

static int compare_shares(const tet_share *a, const tet_share *b) {
    for (int i = 0; i < 4; i++) {
        if (a->node[i] != b->node[i]) return a->node[i] < b->node[i] ? -1 : 1;
        if (a->parts[i] != b->parts[i]) return a->parts[i] < b->parts[i] ? -1 : 1;
    }
    return 0;
}

static int compare_places(const void *a, const void *b) {
    const place *p = a, *q = b;
    int order = compare_shares(&p->share, &q->share);
    return order ? order : p->use < q->use ? -1 : 1;
}

/* From chain coordinates cut >= t1 >= t2 >= t3 >= 0: corner 0 has cut - t1 parts, corner 1 has t1 - t2, and so on. */
static tet_share share_at(const int corner[4], int cut, const int t[3]) {
    int parts[4] = {cut - t[0], t[0] - t[1], t[1] - t[2], t[2]};
    tet_share s = {{-1, -1, -1, -1}, {0}};
    for (int i = 0, k = 0; i < 4; i++) {
        if (parts[i] == 0) continue;
        s.node[k] = corner[i];
        s.parts[k++] = parts[i];
    }
    return s;
}

static bool in_chain(int cut, const int t[3]) {
    return cut >= t[0] && t[0] >= t[1] && t[1] >= t[2] && t[2] >= 0;
}

/* The tets of one coarse tet: those of the six in each cube of the grid that lie in the chain. Returns how many. */
static size_t cut_tet(const int corner[4], int cut, size_t first, place *out) {
    static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    size_t count = 0;
    for (int a = 0; a < cut; a++)
        for (int b = 0; b <= a; b++)
            for (int c = 0; c <= b; c++)
                for (int path = 0; path < 6; path++) {
                    int t[4][3] = {{a, b, c}};
                    bool inside = true;
                    for (int step = 0; step < 3; step++) {
                        memcpy(t[step + 1], t[step], sizeof t[step]);
                        t[step + 1][order[path][step]]++;
                        inside = inside && in_chain(cut, t[step + 1]);
                    }
                    if (!inside) continue;
                    for (int k = 0; k < 4; k++) {
                        size_t use = 4 * (first + count) + (size_t)k;
                        out[use] = (place){share_at(corner, cut, t[k]), use};
                    }
                    count++;
                }
    return count;
}

static void sort_four(int node[4]) {
    for (int i = 1; i < 4; i++)
        for (int k = i; k > 0 && node[k] < node[k - 1]; k--) {
            int swap = node[k];
            node[k] = node[k - 1];
            node[k - 1] = swap;
        }
}

static vec3 position_of(const thenar_tet_mesh *mesh, const tet_share *s, int cut) {
    vec3 sum = {0};
    for (int i = 0; i < 4 && s->node[i] >= 0; i++)
        sum = vec3_mul_add(sum, tet_mesh_node(mesh, s->node[i]), (double)s->parts[i] / cut);
    return sum;
}

thenar_status tet_subdivide(const thenar_tet_mesh *mesh, int cut, thenar_tet_mesh *out, tet_share **share,
                            thenar_error *error) {
    *out = (thenar_tet_mesh){0};
    *share = NULL;
    size_t each = (size_t)cut * (size_t)cut * (size_t)cut, tets = each * (size_t)mesh->tet_count, nodes = 0;
    place *places = MEMORY_ARRAY(place, 4 * tets);
    tet_share *shares = MEMORY_ARRAY(tet_share, 4 * tets);
    int *number = MEMORY_ARRAY(int, 4 * tets);
    thenar_status status = places && shares && number ? THENAR_OK : error_memory(error, "finer tets");
    if (status == THENAR_OK) {
        size_t first = 0;
        for (int t = 0; t < mesh->tet_count; t++) {
            int corner[4];
            memcpy(corner, tet_mesh_tet(mesh, t), sizeof corner);
            sort_four(corner);
            first += cut_tet(corner, cut, first, places);
        }
        qsort(places, 4 * tets, sizeof *places, compare_places);
        for (size_t i = 0; i < 4 * tets; i++) {
            if (i == 0 || compare_shares(&places[i].share, &places[i - 1].share) != 0)
                shares[nodes++] = places[i].share;
            number[places[i].use] = (int)nodes - 1;
        }
        status = tet_mesh_create((int)nodes, (int)tets, mesh->tags != NULL, out, error);
    }
    for (size_t n = 0; n < nodes && status == THENAR_OK; n++)
        vec3_store(out->positions + 3 * n, position_of(mesh, &shares[n], cut));
    for (size_t t = 0; t < tets && status == THENAR_OK; t++) {
        int *node = out->tets + 4 * t;
        memcpy(node, number + 4 * t, 4 * sizeof(int));
        vec3 corner[4];
        tet_mesh_corners(out, (int)t, corner);
        if (tet_volume(corner) < 0) {
            int swap = node[2];
            node[2] = node[3];
            node[3] = swap;
        }
        if (mesh->tags) out->tags[t] = mesh->tags[t / each];
    }
    free(places);
    free(number);
    if (status == THENAR_OK)
        *share = shares;
    else
        free(shares);
    return status;
}
