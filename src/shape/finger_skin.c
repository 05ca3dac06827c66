/* The form of a finger. At the distance s from the tip its outline is two half ellipses of breadth w and of the heights
 * `down` and `up`, times the outline c of the round tip:
 *
 *     w(s) = 7.13 mm + 0.044 s + joints      c(s) = sqrt(1 - (1 - s/a)^2) for s < a = 9 mm, then 1
 *     x = w c sin(angle), y = -down c cos(angle) below, y = up c |cos(angle)| above.
 *
 * The line is through half the thickness of the index finger's distal, middle and proximal phalanx, .176, .198 and .229
 * of a hand breadth of 86 mm, in the middle of each, within 0.02 mm; joints at 19.6 and 42 mm after X-ray means of bone
 * lengths. Height over breadth is chosen so that the distal and the middle phalanx have about the 2.5 and 4.4 cm^3 of
 * an index finger; the joints' 0.5 mm, the pad's bulge and the nail's flat are by eye. */
#include "shape/finger.h"

#include <math.h>

#define TIP 0.009 /* where the round tip ends */

static double bell(double s, double middle, double width) {
    return exp(-0.5 * (s - middle) * (s - middle) / (width * width));
}

/* From 1 at `full` down to 0 at `none`. */
static double fade(double s, double full, double none) {
    double t = fmin(fmax((none - s) / (none - full), 0), 1);
    return t * t * (3 - 2 * t);
}

/* Without the rounding of the tip. */
typedef struct section {
    double breadth, down, up;
} section;

static section section_at(double s) {
    double breadth = 0.00713 + 0.044 * s + 0.0005 * (bell(s, 0.0196, 0.004) + bell(s, 0.042, 0.005));
    return (section){.breadth = breadth,
                     .down = breadth * (0.92 + 0.09 * bell(s, 0.009, 0.006)),
                     .up = breadth * (0.82 - 0.12 * fade(s, 0.010, 0.020))};
}

static double rounding(double s) {
    double t = fmin(fmax(s / TIP, 0), 1);
    return sqrt(t * (2 - t));
}

vec3 finger_skin_point(double s, double angle) {
    section at = section_at(s);
    double across = sin(angle), below = cos(angle), tip = rounding(s);
    return vec3_make(tip * at.breadth * across, -tip * (below > 0 ? at.down : at.up) * below, s);
}

/* How far from the axis over how far the outline would be without the rounding. */
static double ratio_to_outline(vec3 p) {
    section at = section_at(p.z);
    return hypot(p.x / at.breadth, p.y / (p.y < 0 ? at.down : at.up));
}

vec3 finger_skin_above(vec3 p) {
    /* At the tip the way goes from its middle on to where the outline has shrunk to what is left of the way. */
    double nearer = 0, further = p.z < TIP ? TIP / (TIP - p.z) : 1;
    for (int i = 0; p.z < TIP && i < 60; i++) {
        double k = 0.5 * (nearer + further);
        vec3 q = vec3_make(k * p.x, k * p.y, TIP + k * (p.z - TIP));
        *(ratio_to_outline(q) < rounding(q.z) ? &nearer : &further) = k;
    }
    if (p.z < TIP) return vec3_make(nearer * p.x, nearer * p.y, TIP + nearer * (p.z - TIP));
    double out = ratio_to_outline(p);
    return vec3_make(p.x / out, p.y / out, p.z);
}
