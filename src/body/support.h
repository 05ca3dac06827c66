/* A support: nodes held and moved as one rigid piece, by keys or by a driver, firmly or by springs. */
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
    double stiffness, damping; /* of the springs of one node, N/m and N s/m; 0: held firmly */
} support_model;

/* What a snapshot keeps of a support. */
typedef struct support_state {
    double move[3], turn[3];
    long long driven; /* 1 once thenar_sim_drive took it over; a whole word, so that no padding is hashed */
} support_state;

thenar_status support_check(const thenar_support *def, thenar_error *error);

/* The pose at a time: by its keys, unless it was taken over. */
void support_pose(const support_model *support, const support_state *state, double time, vec3 *move, vec3 *turn);

/* Where a node at `rest` is in that pose. */
static inline vec3 support_place(const support_model *support, vec3 move, quat turn, vec3 rest) {
    return vec3_add(vec3_add(support->pivot, quat_rotate(turn, vec3_sub(rest, support->pivot))), move);
}

void support_free(support_model *support);

/* Which nodes and tets of a mesh lie in a region. */

/* The region's own numbers make sense: finite, radius > 0, corners in order, a direction that is one. */
thenar_status region_check(const thenar_region *region, thenar_error *error);

/* One flag per node or per tet of the mesh. */
void region_mark_nodes(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);
void region_mark_tets(const thenar_region *region, const thenar_tet_mesh *mesh, bool *marked);

#endif
