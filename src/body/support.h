/* Supports: nodes held and moved as one rigid piece, by keys or by a driver, firmly or by springs. Regions: which
 * nodes and tets of a mesh to select. */
#ifndef BODY_SUPPORT_H
#define BODY_SUPPORT_H

#include "core/error.h"
#include "core/vec3.h"

#include "thenar/model.h"

#include <stdbool.h>

typedef struct support_model {
    char *name; /* may be NULL */
    int node_count;
    int *nodes; /* mesh nodes, ascending */
    vec3 pivot;
    int key_count;
    thenar_key *keys;
    bool linear;
    double stiffness, damping; /* springs of each node, N/m and N s/m; 0: held firmly */
} support_model;

/* Saved state of a support. */
typedef struct support_state {
    double move[3], turn[3];
    long long driven; /* 1 once thenar_sim_drive has taken over; a whole word, so that no padding is hashed */
} support_state;

thenar_status support_check(const thenar_support *def, thenar_error *error);

/* The pose at a time, by keys unless a driver has taken over. */
void support_pose(const support_model *support, const support_state *state, double time, vec3 *move, vec3 *turn);

/* Position of a node in that pose; `rest`: its rest position. */
static inline vec3 support_place(const support_model *support, vec3 move, quat turn, vec3 rest) {
    return vec3_add(vec3_add(support->pivot, quat_rotate(turn, vec3_sub(rest, support->pivot))), move);
}

void support_free(support_model *support);

/* Checks the numbers of a region: finite, radius > 0, corners in order, a nonzero direction. */
thenar_status region_check(const thenar_region *region, thenar_error *error);

/* One flag per node or per tet of the mesh. */
void region_mark_nodes(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);
void region_mark_tets(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);

#endif
