/* What the simulation tells the haptic loop of one handle at the end of a step (garre2009 section 5): the force of the
 * tool on the handle and how it changes as the handle moves,
 *     F(x, v) = force - stiffness (x - pose) - damping (v - velocity).
 * Six numbers are linear first, angular second, in the world's axes, moments about the handle's origin; a small turn is
 * its rotation vector. Both matrices are symmetric and positive semidefinite, row after row. */
#ifndef THENAR_HAPTIC_LINEAR_H
#define THENAR_HAPTIC_LINEAR_H

#include <stdint.h>

struct haptic_linear {
    double position[3];    /* m, the handle's origin */
    double orientation[4]; /* xyzw */
    double velocity[6];    /* m/s, rad/s */
    double force[6];       /* N, N m */
    double stiffness[36];  /* N/m, N, N m */
    double damping[36];    /* N s/m, N s, N m s */
    double time;           /* s, simulated time at the end of the step */
    double step_length;    /* s, simulated */
    uint64_t step;         /* counts from 1; 0: nothing has been told yet */
    int64_t published_ns;  /* the monotonic clock (base/clock.h) when it was told */
    int contacts;          /* how many contacts the tool has; 0: the tool is free */
    double inertia[36];   /* kg, kg m, kg m^2: mass that goes along with the handle (the tool's, and of what it pushes).
                            * It is part of the matrices above: h^2 stiffness + h damping - inertia is what springs,
                            * dampers and contacts do over the step h, and is nearly zero while the tool is free. */
    double viscosity[36]; /* N s/m, N s, N m s: h viscosity of it is what dampers do; zeros: not known */
};

#endif
