/* The strain limits of a soft body as rows. The calls are those of body_limits (body/body.h). */
#ifndef BODY_SOFT_ROWS_H
#define BODY_SOFT_ROWS_H

#include "body/soft.h"

int soft_row_element_count(const body_model *base);
void soft_row_element_nodes(const body_model *base, int element, int first_node, int node[ROW_NODES]);
int soft_rows_find(body_state *base, const body_step *step, int first_node, constraint_row *rows);
void soft_rows_relinearize(body_state *base, int first_node, constraint_row *rows, int count);
int soft_row_node_count(const body_model *base);
void soft_rows_react(body_state *base, const constraint_row *rows, const double *lambda, double scale, int count,
                     double *impulse);
void soft_rows_hold(body_state *base, const double *impulse);

#endif
