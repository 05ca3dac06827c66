/* Tets around one piece of a hand, in line with its bone. */
#ifndef SHAPE_PHALANX_TETS_H
#define SHAPE_PHALANX_TETS_H

#include "shape/hand_cut.h"

/* About `target` tets that cover the closed skin of a bone's piece; every one has the bone for a tag. */
thenar_status phalanx_tets(const hand_cut *cut, int bone, const thenar_surface *skin, int target, thenar_tet_mesh *mesh,
                           thenar_error *error);

#endif
