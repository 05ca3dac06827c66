/* A human index finger: tets whose boundary lies on its skin, fine at the pad, with a bone inside.
 *
 * The finger points along -z like that of a WebXR hand: the origin is the centre of the cut end, the tip is at z =
 * -length, the pad faces down (-y), the nail up. Dimensions are those of an adult hand 86 mm broad; a finger of
 * another length is the same finger cut off elsewhere. */
#ifndef HAND_FINGER_H
#define HAND_FINGER_H

#include "core/error.h"
#include "core/shared.h"
#include "core/vec3.h"

#include "thenar/mesh.h"

#define FINGER_BONE 1 /* tag of the tets of the bone; those of the flesh have 0 */

#define FINGER_LENGTH_MIN 0.03
#define FINGER_LENGTH_MAX 0.1
#define FINGER_PULP_MIN 0.003
#define FINGER_PULP_MAX 0.01
#define FINGER_TETS_MIN 200
#define FINGER_TETS_MAX 200000

typedef struct finger_options {
    double length;   /* from the cut end to the tip, m */
    double pulp;     /* from the end of the bone to the tip, m */
    int target_tets; /* met within 10 % */
} finger_options;

/* 7 cm, 6 mm, 347: the finger of perez2013. */
finger_options finger_options_default(void) SHARED(finger_options_default);

/* A point of the skin, in coordinates about the tip: `from_tip` along the axis, m; angle 0 is the pad, a quarter turn
 * the side at +x, half a turn the nail. z of the result is from_tip. */
vec3 finger_skin_point(double from_tip, double angle);

/* The mesh is symmetric in x. Every boundary node lies on the skin or in the plane of the cut. */
thenar_status finger_mesh(const finger_options *options, thenar_tet_mesh *mesh, thenar_error *error)
    SHARED(finger_mesh);

#endif
