/* A flat plate on the pad of the index finger: indentation, contact area and pressure against load, for the three
 * details of the hand, and next to them what is measured on people.
 *
 * The measured values and how far to trust them (docs/hand.md): the paraboloid of pressure is Pawluk & Howe 1999; the
 * areas are recalled figures of low trust; the indentations come from a placeholder, F = 0.08 N (exp(1.33 d/mm) - 1),
 * of low trust too; the change of volume is at most about 5 %.
 *
 * Areas: `area` is the sum of the areas of skin of the points that push, `hull` their convex hull in the plane of the
 * plate, which lacks half the spacing of the points on each side. */
#include "bench/bench.h"
#include "bench/pad_press.h"

#include <math.h>
#include <stdio.h>

#define LOADS 6
#define DETAILS 3

static const double loads[LOADS] = {0.1, 0.2, 0.5, 1, 2, 5};
static const char *const names[DETAILS] = {"coarse", "medium", "fine"};

/* The placeholder of the measured force, solved for the indentation, mm. */
static double measured_indentation(double load) {
    return log(1 + load / 0.08) / 1.33;
}

/* mm^2; NAN where no figure is known. */
static double measured_area(double load) {
    return load == 1 ? 100 : load == 5 ? 180 : NAN;
}

/* The exponent of the area over the load between two loads. */
static double exponent(const pad_figures *from, const pad_figures *to) {
    return log(to->area / from->area) / log(to->force / from->force);
}

static void add_row(table *results, const char *hand, double dt, const pad_figures *f, const pad_figures *before) {
    table_add_row(results);
    table_text(results, "hand", "%s, %g ms", hand, 1e3 * dt);
    table_number(results, "load_n", f->load);
    table_number(results, "force_n", f->force);
    table_number(results, "plate_n", f->plate_force);
    table_number(results, "base_n", f->base_force);
    table_number(results, "indentation_mm", 1e3 * f->indentation);
    table_number(results, "measured_mm", measured_indentation(f->load));
    table_number(results, "points", f->points);
    table_number(results, "area_mm2", 1e6 * f->area);
    table_number(results, "hull_mm2", 1e6 * f->hull);
    table_number(results, "measured_mm2", measured_area(f->load));
    if (before) table_number(results, "exponent", exponent(before, f));
    table_number(results, "fit", f->fit);
    table_number(results, "smooth_fit", f->smooth_fit);
    table_number(results, "max_share", 100 * f->max_share);
    table_number(results, "volume", 100 * f->volume_change);
    table_number(results, "min_stretch", f->min_stretch);
    table_number(results, "steps", f->steps);
    table_number(results, "iterations", f->iterations);
    table_number(results, "unconverged", f->unconverged);
}

static thenar_status run_steps(thenar_model *model, const char *hand, double dt, table *results, thenar_error *error) {
    pad_press press;
    pad_figures figures[LOADS];
    thenar_status status = pad_press_create(model, dt, &press, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < LOADS && status == THENAR_OK; i++) {
        status = pad_press_to(&press, loads[i], &figures[i], error);
        if (status == THENAR_OK) add_row(results, hand, dt, &figures[i], i > 0 ? &figures[i - 1] : NULL);
    }
    pad_press_free(&press);
    return status;
}

/* The time steps of interest for the medium hand, one for the others. */
static thenar_status run_detail(int detail, table *results, thenar_error *error) {
    static const double steps[] = {0.01, 0.001, 0.005, 0.02};
    thenar_hand_def hand = thenar_hand_def_default();
    thenar_hand_def_set_detail(&hand, (thenar_hand_detail)detail);
    thenar_model *model;
    thenar_status status = pad_press_model(&hand, &model, error);
    if (status != THENAR_OK) return status;
    int count = detail == THENAR_HAND_MEDIUM ? (int)(sizeof steps / sizeof *steps) : 1;
    for (int i = 0; i < count && status == THENAR_OK; i++)
        status = run_steps(model, names[detail], steps[i], results, error);
    thenar_model_free(model);
    return status;
}

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    (void)request;
    table_add_column(results, "hand", "hand", 0);
    table_add_column(results, "load_n", "load N", 1);
    table_add_column(results, "force_n", "force N", 3);
    table_add_column(results, "plate_n", "on plate", 3);
    table_add_column(results, "base_n", "on base", 3);
    table_add_column(results, "indentation_mm", "depth mm", 2);
    table_add_column(results, "measured_mm", "measured (low trust)", 2);
    table_add_column(results, "points", "points", 0);
    table_add_column(results, "area_mm2", "area mm2", 1);
    table_add_column(results, "hull_mm2", "hull mm2", 1);
    table_add_column(results, "measured_mm2", "measured (low trust)", 0);
    table_add_column(results, "exponent", "exponent", 2);
    table_add_column(results, "fit", "paraboloid R2", 2);
    table_add_column(results, "smooth_fit", "R2 over 2 mm", 2);
    table_add_column(results, "max_share", "largest share %", 1);
    table_add_column(results, "volume", "volume %", 1);
    table_add_column(results, "min_stretch", "min stretch", 2);
    table_add_column(results, "steps", "steps", 0);
    table_add_column(results, "iterations", "max iterations", 0);
    table_add_column(results, "unconverged", "unconverged", 0);
    thenar_status status = THENAR_OK;
    for (int detail = 0; detail < DETAILS && status == THENAR_OK; detail++) status = run_detail(detail, results, error);
    return status;
}

static const plot_def plot = {.title = "Contact area of the index finger's pad on a flat plate",
                              .x = "force_n",
                              .y = "area_mm2",
                              .lines = "hand",
                              .log_x = true,
                              .log_y = true};

const bench_entry bench_pad = {.name = "pad",
                               .summary =
                                   "contact area and pressure of a finger pad against load, per detail of the hand",
                               .run = run,
                               .plot = &plot};
