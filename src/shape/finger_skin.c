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

#include "shape/mesh.h"

#define TIP 0.009 /* where the round tip ends */

static const double pi = 3.14159265358979323846;

static double bell(double s, double middle, double width) {
    return exp(-0.5 * (s - middle) * (s - middle) / (width * width));
}

/* From 1 at `full` down to 0 at `none`. */
static double fade(double s, double full, double none) {
    double t = fmin(fmax((none - s) / (none - full), 0), 1);
    return t * t * (3 - 2 * t);
}

vec3 finger_skin_point(double s, double angle) {
    double breadth = 0.00713 + 0.044 * s + 0.0005 * (bell(s, 0.0196, 0.004) + bell(s, 0.042, 0.005));
    double down = breadth * (0.92 + 0.09 * bell(s, 0.009, 0.006));
    double up = breadth * (0.82 - 0.12 * fade(s, 0.010, 0.020));
    double t = fmin(s / TIP, 1), tip = sqrt(t * (2 - t));
    double across = sin(angle), below = cos(angle);
    return vec3_make(tip * breadth * across, -tip * (below > 0 ? down : up) * below, s);
}

static void add_triangle(thenar_surface *surface, int a, int b, int c) {
    int *target = surface->triangles + 3 * (size_t)surface->triangle_count++;
    target[0] = a, target[1] = b, target[2] = c;
}

static void add_vertex(thenar_surface *surface, vec3 p) {
    vec3_store(surface->positions + 3 * (size_t)surface->vertex_count++, p);
}

/* The triangles from one ring of vertices to the next. */
static void add_band(thenar_surface *surface, int low, int high, int segments) {
    for (int k = 0; k < segments; k++) {
        int next = (k + 1) % segments;
        add_triangle(surface, low + k, low + next, high + next);
        add_triangle(surface, low + k, high + next, high + k);
    }
}

/* Rings from the tip to the cut end. Around the tip they stand as far apart as the vertices of a ring; along the finger
 * up to twice that. The cut is closed by two smaller rings and a point. */
thenar_status finger_skin(double length, int segments, thenar_surface *surface, thenar_error *error) {
    int round = segments / 4, straight = (int)ceil((length - TIP) / (0.0175 * 2 * pi / segments)), cut = 2;
    int rings = round + straight + cut;
    thenar_status status = surface_create(2 + rings * segments, 2 * rings * segments, surface, error);
    if (status != THENAR_OK) return status;
    surface->vertex_count = surface->triangle_count = 0;
    add_vertex(surface, vec3_make(0, 0, -length));
    add_vertex(surface, vec3_make(0, 0, 0));
    for (int r = 1; r <= rings; r++) {
        /* The spacing grows evenly along the straight part. */
        double u = fmin((double)(r - round) / straight, 1), inset = fmax(r - round - straight, 0) / (cut + 1.0);
        double s = r <= round ? TIP * (1 - cos(pi / 2 * r / round)) : TIP + (length - TIP) * u * (0.6 + 0.4 * u);
        for (int k = 0; k < segments; k++) {
            vec3 p = finger_skin_point(s, 2 * pi * k / segments);
            add_vertex(surface, vec3_make((1 - inset) * p.x, (1 - inset) * p.y, s - length));
        }
    }
    int last = 2 + (rings - 1) * segments;
    for (int k = 0; k < segments; k++) {
        int next = (k + 1) % segments;
        add_triangle(surface, 0, 2 + next, 2 + k);
        add_triangle(surface, 1, last + k, last + next);
    }
    for (int r = 0; r + 1 < rings; r++) add_band(surface, 2 + r * segments, 2 + (r + 1) * segments, segments);
    return THENAR_OK;
}
