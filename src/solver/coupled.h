/* Handles and tools solved apart (garre2009, section 5.2): both stay what they are, and meet in a Schur complement.
 *
 *   [ H_t   H_th ] [ x_t ]   [ r_t ]        S = H_h - H_ht Z,   Z = H_t^-1 H_th,
 *   [ H_ht  H_h  ] [ x_h ] = [ r_h ]        x_h = S^-1 (r_h - H_ht y),   y = H_t^-1 r_t,   x_t = y - Z x_h
 *
 * (Eqs. 12 and 13). The tool, with all that it touches, is the leading part of the system: a matrix that can be solved,
 * by its own factor or by the paper's conjugate gradients; handles are six rows each. What the paper solves last, Eq.
 * 12 with x_h known, is Z again. The default is to solve all as one matrix with the handles eliminated last, which is
 * the same arithmetic in another order; this is there to compare with, and for tools that are solved elsewhere. */
#ifndef SOLVER_COUPLED_H
#define SOLVER_COUPLED_H

#include "base/arena.h"
#include "base/workers.h"
#include "sparse/cholesky.h"

#include <stdbool.h>

/* The first is the default. */
typedef enum coupling_method { COUPLING_MONOLITHIC, COUPLING_SCHUR, COUPLING_CG, COUPLING_METHODS } coupling_method;
extern const char *const coupling_method_names[COUPLING_METHODS];
/* COUPLING_METHODS if there is none of that name. */
coupling_method coupling_method_find(const char *name);

/* What the pattern says; immutable. */
typedef struct coupled_model {
    int tool_nodes, handle_nodes; /* the last ones are the handles' */
    block_pattern pattern;        /* of H_t */
    int *source;                  /* a block of it: the block of the whole matrix */
    cholesky_plan *plan;
} coupled_model;

/* tool_last: nodes of the tool that are eliminated last, in their order. */
thenar_status coupled_model_create(const block_pattern *whole, int handle_nodes, int tool_last, coupled_model *out,
                                   thenar_error *error);
void coupled_model_free(coupled_model *model);

typedef struct coupled_state {
    const coupled_model *model;
    const block_pattern *whole;
    coupling_method method;
    const double *blocks;      /* the matrix that was factored last */
    double *tool;              /* H_t, 9 a block */
    double *diagonal;          /* conjugate gradients: inverses of the diagonal blocks, 9 a node */
    cholesky_factor factor;    /* the direct way: of H_t */
    double *Z;                 /* 3 tool_nodes for each of the 3 handle_nodes columns */
    double *S;                 /* its Cholesky factor, below the diagonal */
    double *y, *r, *z, *p, *q; /* 3 tool_nodes each */
    double *x_h;               /* 3 handle_nodes */
    int iterations;            /* of conjugate gradients, since the layout */
} coupled_state;

void coupled_layout(coupled_state *state, const coupled_model *model, const block_pattern *whole,
                    coupling_method method, arena *work);
/* Takes a matrix apart, Z and S with it. It must stay until the last solve. False: not positive definite. */
bool coupled_factor(coupled_state *state, const double *blocks, workers *pool);
/* x = H^-1 x, 3 numbers a node of the whole. */
void coupled_solve(coupled_state *state, double *x);

#endif
