/* All bodies of a simulation as one VTK grid. */
#include "base/memory.h"
#include "math/vec3.h"
#include "io/vtk.h"

#include "thenar/sim.h"

#include <stdlib.h>

static const vtk_array point_arrays[] = {{"rest", 3}, {"displacement", 3}, {"velocity", 3}, {"force", 3}};
static const vtk_array cell_arrays[] = {{"s", 3}};
enum {
    POINT_ARRAYS = sizeof point_arrays / sizeof *point_arrays,
    CELL_ARRAYS = sizeof cell_arrays / sizeof *cell_arrays
};

/* What a body's piece of the grid points to. */
typedef struct body_values {
    double *displacement, *stretches; /* owned, as are the next two */
    double *surface, *velocity;       /* of rigid bodies */
    const double *points[POINT_ARRAYS];
    const double *cells[CELL_ARRAYS];
} body_values;

/* A rigid body is its surface; its rest shape is where it is. False: out of memory. */
static bool describe_rigid(const thenar_sim *sim, int b, body_values *values, vtk_piece *piece) {
    const thenar_surface *surface = thenar_model_surface(thenar_sim_model(sim), b);
    values->surface = MEMORY_ARRAY(double, 3 * (size_t)surface->vertex_count);
    values->velocity = MEMORY_ARRAY(double, 3 * (size_t)surface->vertex_count);
    if (!values->surface || !values->velocity) return false;
    thenar_sim_surface(sim, b, values->surface);
    double centre[3], turn[4], velocity[3], spin[3];
    thenar_sim_pose(sim, b, centre, turn);
    thenar_sim_twist(sim, b, velocity, spin);
    for (int i = 0; i < surface->vertex_count; i++) {
        vec3 arm = vec3_sub(vec3_load(values->surface + 3 * i), vec3_load(centre));
        vec3_store(values->velocity + 3 * i, vec3_add(vec3_load(velocity), vec3_cross(vec3_load(spin), arm)));
    }
    values->points[0] = values->surface;
    values->points[2] = values->velocity;
    *piece = (vtk_piece){.point_count = surface->vertex_count,
                         .triangle_count = surface->triangle_count,
                         .points = values->surface,
                         .triangles = surface->triangles,
                         .body = b,
                         .point_values = values->points,
                         .cell_values = values->cells};
    return true;
}

/* False: out of memory. */
static bool describe_soft(const thenar_sim *sim, int b, body_values *values, vtk_piece *piece) {
    const thenar_tet_mesh *mesh = thenar_model_mesh(thenar_sim_model(sim), b);
    const double *x = thenar_sim_positions(sim, b);
    values->displacement = MEMORY_ARRAY(double, 3 * (size_t)mesh->node_count);
    values->stretches = MEMORY_ARRAY(double, 3 * (size_t)mesh->tet_count);
    if (!values->displacement || !values->stretches) return false;
    for (int i = 0; i < 3 * mesh->node_count; i++) values->displacement[i] = x[i] - mesh->positions[i];
    thenar_sim_stretches(sim, b, values->stretches);
    values->points[0] = mesh->positions;
    values->points[1] = values->displacement;
    values->points[2] = thenar_sim_velocities(sim, b);
    values->points[3] = thenar_sim_forces(sim, b);
    values->cells[0] = values->stretches;
    *piece = (vtk_piece){.point_count = mesh->node_count,
                         .tet_count = mesh->tet_count,
                         .points = x,
                         .tets = mesh->tets,
                         .body = b,
                         .point_values = values->points,
                         .cell_values = values->cells};
    return true;
}

thenar_status thenar_sim_write_vtk(const thenar_sim *sim, const char *path, thenar_error *error) {
    const thenar_model *model = thenar_sim_model(sim);
    int bodies = thenar_model_body_count(model);
    vtk_piece *pieces = MEMORY_ARRAY(vtk_piece, bodies);
    body_values *values = MEMORY_ARRAY(body_values, bodies);
    bool enough = pieces && values;
    for (int b = 0; b < bodies && enough; b++)
        enough = thenar_model_body_kind(model, b) == THENAR_BODY_RIGID ? describe_rigid(sim, b, &values[b], &pieces[b])
                                                                       : describe_soft(sim, b, &values[b], &pieces[b]);
    vtk_grid grid = {.title = thenar_model_name(model),
                     .pieces = pieces,
                     .piece_count = bodies,
                     .point_arrays = point_arrays,
                     .point_array_count = POINT_ARRAYS,
                     .cell_arrays = cell_arrays,
                     .cell_array_count = CELL_ARRAYS};
    thenar_status status = enough ? vtk_write(path, &grid, error) : error_memory(error, path);
    for (int b = 0; values && b < bodies; b++) {
        free(values[b].displacement);
        free(values[b].stretches);
        free(values[b].surface);
        free(values[b].velocity);
    }
    free(values);
    free(pieces);
    return status;
}
