/* Meshes and matrices to try the sparse solver on: cells of five tets, and a matrix with the pattern of the
 * mesh. */
#ifndef TEST_BOX_MESH_H
#define TEST_BOX_MESH_H

#include "core/memory.h"
#include "random.h"
#include "sparse/cholesky.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct box_mesh {
    int node_count, tet_count;
    int *tets;  /* 4 a tet */
    int *start; /* 4 t: the groups of block_pattern_create */
} box_mesh;

/* The mesh of the cells (x, y, z) of a grid for which present(x, y, z) holds; nodes are numbered in order of
 * use. */
static inline box_mesh box_mesh_create(int nx, int ny, int nz, bool (*present)(int x, int y, int z)) {
    static const int corners[2][5][4] = {{{0, 3, 5, 6}, {1, 0, 3, 5}, {2, 0, 3, 6}, {4, 0, 5, 6}, {7, 3, 5, 6}},
                                         {{1, 2, 4, 7}, {0, 1, 2, 4}, {3, 1, 2, 7}, {5, 1, 4, 7}, {6, 2, 4, 7}}};
    box_mesh mesh = {0};
    int cells = nx * ny * nz, *name = MEMORY_ARRAY(int, (nx + 1) * (ny + 1) * (nz + 1));
    mesh.tets = MEMORY_ARRAY(int, 20 * cells);
    mesh.start = MEMORY_ARRAY(int, 5 * cells + 1);
    for (int i = 0; i < cells; i++) {
        int x = i / (ny * nz), y = i / nz % ny, z = i % nz;
        if (present && !present(x, y, z)) continue;
        for (int t = 0; t < 5; t++)
            for (int c = 0; c < 4; c++) {
                int corner = corners[(x + y + z) & 1][t][c];
                int *n = &name[((x + (corner & 1)) * (ny + 1) + y + (corner >> 1 & 1)) * (nz + 1) + z + (corner >> 2)];
                if (!*n) *n = ++mesh.node_count;
                mesh.tets[4 * mesh.tet_count + c] = *n - 1;
                if (c < 3) continue;
                mesh.tet_count++;
                mesh.start[mesh.tet_count] = 4 * mesh.tet_count;
            }
    }
    free(name);
    return mesh;
}

static inline void box_mesh_free(box_mesh *mesh) {
    free(mesh->tets);
    free(mesh->start);
}

/* For a grid of 11 x 9 x 2: a palm of 8 x 5 x 2 cells, four fingers of 4 slices and a thumb of 3; 590 tets.
 */
static inline bool box_mesh_hand(int x, int y, int z) {
    (void)z;
    if (x >= 8) return y == 1;
    return y < 5 || x % 2 == 0;
}

/* A random symmetric positive definite matrix with the pattern: random blocks, with a diagonal that just
 * dominates them. */
static inline double *random_matrix(const block_pattern *pattern, uint64_t seed) {
    random_source source = {seed};
    double *blocks = MEMORY_ARRAY(double, 9 * (size_t)pattern->block_count);
    double *sum = MEMORY_ARRAY(double, 3 * (size_t)pattern->node_count);
    for (int j = 0; j < pattern->node_count; j++)
        for (int k = pattern->column_start[j] + 1; k < pattern->column_start[j + 1]; k++)
            for (int e = 0; e < 9; e++) {
                double a = blocks[9 * k + e] = random_uniform(&source, -1, 1);
                sum[3 * pattern->row[k] + e / 3] += fabs(a);
                sum[3 * j + e % 3] += fabs(a);
            }
    for (int j = 0; j < pattern->node_count; j++) {
        double *d = blocks + 9 * (size_t)pattern->column_start[j];
        d[1] = d[3] = random_uniform(&source, -0.1, 0.1);
        d[2] = d[6] = random_uniform(&source, -0.1, 0.1);
        d[5] = d[7] = random_uniform(&source, -0.1, 0.1);
        for (int c = 0; c < 3; c++) d[4 * c] = sum[3 * j + c] + 0.3;
    }
    free(sum);
    return blocks;
}

#endif
