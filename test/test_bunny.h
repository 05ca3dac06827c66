/* The bunny of assets/meshes, 25 cm high, read as plainly as can be: not by the library's own reader. */
#ifndef TEST_BUNNY_H
#define TEST_BUNNY_H

#include "mesh/mesh.h"
#include "test.h"

#define BUNNY_VERTICES 1839
#define BUNNY_TRIANGLES 3674
#define BUNNY_HEIGHT 0.25

static inline thenar_surface bunny_load(void) {
    thenar_surface surface;
    thenar_error error;
    assert_ok(surface_create(BUNNY_VERTICES, BUNNY_TRIANGLES, &surface, &error), error);
    FILE *file = fopen(SOURCE_DIR "/assets/meshes/bunny.obj", "r");
    assert_non_null(file);
    char line[256];
    int vertices = 0, triangles = 0;
    while (fgets(line, sizeof line, file)) {
        double *p = surface.positions + 3 * vertices;
        int *t = surface.triangles + 3 * triangles;
        if (vertices < BUNNY_VERTICES && sscanf(line, "v %lf %lf %lf", p, p + 1, p + 2) == 3) vertices++;
        if (triangles < BUNNY_TRIANGLES && sscanf(line, "f %d %d %d", t, t + 1, t + 2) == 3) {
            for (int k = 0; k < 3; k++) t[k]--;
            triangles++;
        }
    }
    fclose(file);
    assert_int_equal(vertices, BUNNY_VERTICES);
    assert_int_equal(triangles, BUNNY_TRIANGLES);
    double low = INFINITY, high = -INFINITY;
    for (int v = 0; v < vertices; v++) {
        low = fmin(low, surface.positions[3 * v + 1]);
        high = fmax(high, surface.positions[3 * v + 1]);
    }
    for (int i = 0; i < 3 * vertices; i++) surface.positions[i] *= BUNNY_HEIGHT / (high - low);
    return surface;
}

#endif
