#include "app/command.h"
#include "app/support.h"

#include "thenar/thenar.h"

#include <string.h>

static void row(table *t, const char *what, const char *format, double value) {
    table_add_row(t);
    table_text(t, "what", "%s", what);
    char text[64];
    snprintf(text, sizeof text, format, value);
    table_text(t, "value", "%s", text);
}

static table two_columns(const char *heading) {
    table t = {0};
    table_add_column(&t, "what", heading, 0);
    table_add_column(&t, "value", "", 0);
    return t;
}

static thenar_status print_tets(const thenar_tet_mesh *mesh, thenar_error *error) {
    thenar_tet_figures f;
    thenar_status status = thenar_tet_mesh_quality(mesh, &f, error);
    if (status != THENAR_OK) return status;
    table t = two_columns("tets");
    row(&t, "nodes", "%.0f", f.nodes);
    row(&t, "tets", "%.0f", f.tets);
    row(&t, "parts joined by faces", "%.0f", f.parts);
    row(&t, "volume, m^3", "%.6g", f.volume);
    row(&t, "edge, shortest, m", "%.6g", f.edge_min);
    row(&t, "edge, mean, m", "%.6g", f.edge_mean);
    row(&t, "edge, longest, m", "%.6g", f.edge_max);
    row(&t, "edge ratio of a tet, mean", "%.3f", f.edge_ratio_mean);
    row(&t, "edge ratio of a tet, worst", "%.3f", f.edge_ratio_max);
    row(&t, "dihedral angle, smallest, degrees", "%.2f", f.dihedral_min);
    row(&t, "dihedral angle, largest, degrees", "%.2f", f.dihedral_max);
    row(&t, "radius ratio, mean (1 is regular)", "%.4f", f.radius_ratio_mean);
    row(&t, "radius ratio, worst", "%.4f", f.radius_ratio_min);
    row(&t, "inverted tets", "%.0f", f.inverted);
    row(&t, "flat tets", "%.0f", f.flat);
    row(&t, "worst tet", "%.0f", f.worst);
    table_print(&t, stdout);
    table_free(&t);
    return THENAR_OK;
}

static thenar_status print_surface(const thenar_surface *surface, thenar_error *error) {
    thenar_surface_figures f;
    thenar_status status = thenar_surface_quality(surface, &f, error);
    if (status != THENAR_OK) return status;
    table t = two_columns("surface");
    row(&t, "vertices", "%.0f", f.vertices);
    row(&t, "triangles", "%.0f", f.triangles);
    row(&t, f.closed ? "closed" : "not closed", "", 0);
    row(&t, "area, m^2", "%.6g", f.area);
    row(&t, "volume, m^3", "%.6g", f.volume);
    row(&t, "edge, shortest, m", "%.6g", f.edge_min);
    row(&t, "edge, mean, m", "%.6g", f.edge_mean);
    row(&t, "edge, longest, m", "%.6g", f.edge_max);
    row(&t, "angle, smallest, degrees", "%.2f", f.angle_min);
    table_print(&t, stdout);
    table_free(&t);
    return THENAR_OK;
}

static void warn_about_size(const char *path, const double *positions, int count) {
    char warning[256];
    if (count > 0 && thenar_mesh_size_warning(positions, count, warning, sizeof warning))
        fprintf(stderr, "thenar: warning: %s: %s\n", path, warning);
}

static void scale(double *positions, int count, double factor) {
    for (int i = 0; i < 3 * count; i++) positions[i] *= factor;
}

typedef struct mesh_request {
    const char *out, *lattice;
    long tets;
    double cell, scale;
    bool fit;
} mesh_request;

/* Makes tets from the surface of the file. */
static thenar_status make_tets(const mesh_request *request, const char *path, thenar_mesh_file *file,
                               thenar_error *error) {
    thenar_error reported;
    thenar_mesh_options options = thenar_mesh_options_default();
    if (request->tets) options.target_tets = (int)request->tets;
    options.cell_size = request->cell;
    options.fit = request->fit;
    options.lattice = (thenar_lattice)thenar_lattice_find(request->lattice);
    thenar_status status = thenar_tet_mesh_from_surface(&file->surface, &options, &file->tets, NULL, &reported);
    return status == THENAR_OK ? THENAR_OK : fail(error, status, "%s: %s", path, reported.text);
}

/* Prints the table of a mesh with invalid tets, which shows what is wrong with it. */
static void print_invalid(const char *path, double factor) {
    thenar_mesh_file file;
    if (thenar_mesh_file_load(path, true, &file, NULL) == THENAR_OK && file.tets.tet_count > 0) {
        scale(file.tets.positions, file.tets.node_count, factor);
        print_tets(&file.tets, NULL);
    }
    thenar_mesh_file_free(&file);
}

static thenar_status describe(const mesh_request *request, const char *path, thenar_mesh_file *file,
                              thenar_error *error) {
    thenar_status status = thenar_mesh_file_load(path, false, file, error);
    if (status != THENAR_OK) {
        print_invalid(path, request->scale);
        return status;
    }
    if (file->note[0]) fprintf(stderr, "thenar: note: %s\n", file->note);
    scale(file->tets.positions, file->tets.node_count, request->scale);
    scale(file->surface.positions, file->surface.vertex_count, request->scale);
    warn_about_size(path, file->tets.positions, file->tets.node_count);
    if (file->tets.tet_count == 0) {
        warn_about_size(path, file->surface.positions, file->surface.vertex_count);
        status = print_surface(&file->surface, error);
        if (status == THENAR_OK) status = make_tets(request, path, file, error);
    }
    if (status == THENAR_OK) status = print_tets(&file->tets, error);
    if (status == THENAR_OK && request->out) status = thenar_tet_mesh_write_vtk(&file->tets, request->out, error);
    if (status == THENAR_OK && request->out) printf("written to %s\n", request->out);
    return status;
}

static int run(const app_command *command, int argc, char **argv) {
    mesh_request request = {.lattice = "bcc", .scale = 1};
    const app_option options[] = {
        {"tets", "N", "approximate number of tets from a surface (default 5000)", OPTION_INTEGER, &request.tets, 1,
         5e6},
        {"cell", "M", "edge of a lattice cube in metres, instead of --tets", OPTION_NUMBER, &request.cell, 1e-6, 10},
        {"lattice", "NAME", "bcc (default), cube or kuhn", OPTION_TEXT, &request.lattice, 0, 0},
        {"fit", NULL, "move the boundary of the lattice to the surface", OPTION_FLAG, &request.fit, 0, 0},
        {"scale", "S", "factor for all lengths, 0.001 for a mesh in millimetres", OPTION_NUMBER, &request.scale, 1e-9,
         1e9},
        {"out", "FILE.vtk", "write the tets as legacy VTK", OPTION_TEXT, &request.out, 0, 0},
    };
    option_arguments arguments;
    int status = options_parse(command, argc, argv, options, 6, 1, 1, &arguments);
    if (status != OPTIONS_PARSED) return status;
    if (thenar_lattice_find(request.lattice) < 0)
        return command_misused(command, "--lattice %s; expected bcc, cube or kuhn", request.lattice);
    if (request.tets > 0 && request.cell > 0)
        return command_misused(command, "--tets and --cell together; expected one of them");
    thenar_error error;
    thenar_mesh_file file = {0};
    status = describe(&request, arguments.values[0], &file, &error) == THENAR_OK ? EXIT_DONE : command_fail(&error);
    thenar_mesh_file_free(&file);
    return status;
}

const app_command command_mesh = {
    .name = "mesh",
    .summary = "read a mesh and print its quality; turn a closed surface into tets",
    .arguments = "FILE [--tets N | --cell M] [--lattice NAME] [--fit] [--scale S] [--out FILE.vtk]",
    .details = "Reads Gmsh .msh 2.2 and 4.1, legacy VTK, VTU, OBJ, STL and PLY. A closed surface is embedded in a\n"
               "regular lattice of tets that covers it.",
    .run = run};
