/* Refuses what a soft body cannot be made of, in words. */
#ifndef BODY_SOFT_CHECK_H
#define BODY_SOFT_CHECK_H

#include "thenar/model.h"

#include "base/error.h"

/* THENAR_OK if everything but the tet mesh itself makes sense (shape/mesh_check.h looks at that). */
thenar_status soft_check(const thenar_soft_def *def, thenar_error *error);

#endif
