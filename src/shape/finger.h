/* A human index finger: its skin, tets around it, and a bone in the tets.
 *
 * Along -z as a finger of a WebXR hand: the origin is in the middle of the cut end, the tip at z = -length, the pad
 * faces down (-y), the nail up. Of an adult hand 86 mm broad; a finger of another length is the same finger, cut off
 * elsewhere. */
#ifndef SHAPE_FINGER_H
#define SHAPE_FINGER_H

#include "base/error.h"
#include "math/vec3.h"
#include "thenar/mesh.h"

#define FINGER_BONE 1 /* tag of the tets of the bone; those of the flesh have 0 */

#define FINGER_LENGTH_MIN 0.03
#define FINGER_LENGTH_MAX 0.1
#define FINGER_PULP_MIN 0.003
#define FINGER_TETS_MIN 150
#define FINGER_TETS_MAX 200000

typedef struct finger_options {
    double length;   /* from the cut end to the tip, m */
    double pulp;     /* from the end of the bone to the tip, m; at most half the length */
    int target_tets; /* met within 7 % from 200 on, within 13 % below */
} finger_options;

/* 7 cm, 6 mm, 347: the finger of perez2013. */
finger_options finger_options_default(void);

/* A point of the skin around the finger, as seen from the tip: `from_tip` along the axis, m; angle 0 is the pad, a
 * quarter turn the side at +x, half a turn the nail. The result is about the tip: z = from_tip. */
vec3 finger_skin_point(double from_tip, double angle);

/* The closed skin, `segments` vertices around. */
thenar_status finger_skin(double length, int segments, thenar_surface *surface, thenar_error *error);

/* The skin, tets that cover it, and how it hangs on them. */
thenar_status finger_mesh(const finger_options *options, thenar_tet_mesh *mesh, thenar_surface *surface,
                          thenar_embedding *embedding, thenar_error *error);

#endif
