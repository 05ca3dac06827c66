/* How the elements of a soft body meet the blocks of its system. */
#ifndef BODY_SOFT_BIND_H
#define BODY_SOFT_BIND_H

#include "body/soft.h"

bool soft_couple(const body_model *base, int first_node, body_couplings *couplings);
thenar_status soft_bind(body_model *base, const block_pattern *pattern, int first_node, thenar_error *error);

#endif
