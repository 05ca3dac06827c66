/* Half of a 6D virtual coupling: a spring and a damper that pull a frame to a wanted one, linear or angular. */
#ifndef BODY_COUPLING_H
#define BODY_COUPLING_H

#include "math/vec3.h"

/* As it pulls now. */
typedef struct coupling_spring {
    vec3 way;                  /* m or rad, to the target */
    double stiffness, damping; /* N/m and N s/m, or N m/rad and N m s/rad */
} coupling_spring;

/* A spring that would pull harder than it may is softer, and its damper as much as keeps the damping ratio. */
static inline coupling_spring coupling_soften(vec3 way, double stiffness, double damping, double most) {
    double pull = stiffness * vec3_length(way), share = most > 0 && pull > most ? most / pull : 1;
    return (coupling_spring){way, share * stiffness, sqrt(share) * damping};
}

/* approach: velocity of the target less that of the frame. */
static inline vec3 coupling_pull(coupling_spring spring, vec3 approach) {
    return vec3_mul_add(vec3_scale(spring.way, spring.stiffness), approach, spring.damping);
}

#endif
