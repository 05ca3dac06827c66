/* Shared by the benchmarks: models, clocks and plots. */
#include "bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

thenar_status bench_compile(const thenar_soft_def *def, thenar_model **model, thenar_error *error) {
    thenar_world_def world = thenar_world_def_default();
    thenar_build *build = thenar_build_create(&world);
    thenar_status status = build ? thenar_build_add_soft(build, def, error) : fail_memory(error, def->name);
    if (status == THENAR_OK) status = thenar_build_compile(build, model, error);
    thenar_build_free(build);
    return status;
}

thenar_status bench_clock_create(bench_clock *clock, void (*run)(void *context), void *context, int capacity,
                                 thenar_error *error) {
    *clock = (bench_clock){.run = run, .context = context, .capacity = capacity};
    clock->us = NEW_ARRAY(double, capacity);
    return clock->us ? THENAR_OK : fail_memory(error, "samples");
}

void bench_clock_round(bench_clock *clock, int count) {
    for (int i = 0; i < count && clock->count < clock->capacity; i++) {
        int64_t start = clock_ns();
        clock->run(clock->context);
        clock->us[clock->count++] = 1e-3 * (double)(clock_ns() - start);
    }
}

double bench_quantile(double *values, int count, double share) {
    if (count == 0) return NAN;
    sort_numbers(values, (size_t)count);
    int at = (int)(share * count);
    return values[at < count ? at : count - 1];
}

double bench_clock_median(bench_clock *clock) {
    return bench_quantile(clock->us, clock->count, 0.5);
}

void bench_clock_free(bench_clock *clock) {
    free(clock->us);
    *clock = (bench_clock){0};
}

/* Plots as SVG. */

#define WIDTH 720
#define HEIGHT 480
#define LEFT 80
#define RIGHT 170 /* for the names of the lines */
#define TOP 40
#define BOTTOM 55
#define LINES_MAX 12

static const char *const colours[] = {"#c0392b", "#2060b0", "#2e8b57", "#8e44ad", "#d68910", "#117a8b",
                                      "#6e2c00", "#555555", "#e377c2", "#7f8c00", "#17becf", "#000000"};

typedef struct axis {
    const char *heading;
    int column;
    bool log;
    double low, high; /* range of the data; decimal logarithms on a logarithmic axis */
    double from, to;  /* coordinates in the drawing */
} axis;

static int column_of(const table *t, const char *key) {
    for (int c = 0; key && c < t->column_count; c++)
        if (strcmp(t->columns[c].key, key) == 0) return c;
    return -1;
}

static const table_cell *cell_of(const table *t, int row, int column) {
    return &t->cells[row * t->column_count + column];
}

static double value_at(const axis *a, const table *t, int row) {
    const table_cell *cell = cell_of(t, row, a->column);
    if (!cell->filled || !cell->is_number) return NAN;
    return a->log ? log10(cell->number) : cell->number;
}

static bool is_drawn(const plot_def *plot, const table *t, int row, const axis *x, const axis *y) {
    int only = column_of(t, plot->only);
    if (only >= 0 && strcmp(cell_of(t, row, only)->text, plot->equals) != 0) return false;
    return isfinite(value_at(x, t, row)) && isfinite(value_at(y, t, row));
}

static axis axis_of(const table *t, const char *key, bool log, double from, double to) {
    int column = column_of(t, key);
    return (axis){t->columns[column].heading, column, log, log ? INFINITY : 0, -INFINITY, from, to};
}

static void widen(axis *a, double value) {
    a->low = fmin(a->low, value);
    a->high = fmax(a->high, value);
}

/* Decades, or steps of 1, 2 or 5. */
static double tick_of(const axis *a) {
    if (a->log) return fmax(1, ceil((a->high - a->low) / 8));
    double rough = (a->high - a->low) / 6, decade = pow(10, floor(log10(rough))), share = rough / decade;
    return decade * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

static void round_ends(axis *a) {
    if (!(a->high > a->low)) a->high = a->low + 1;
    double tick = tick_of(a);
    a->low = tick * floor(a->low / tick);
    a->high = tick * ceil(a->high / tick);
}

static double place_of(const axis *a, double value) {
    return a->from + (a->to - a->from) * (value - a->low) / (a->high - a->low);
}

static void draw_axis(FILE *file, const axis *a, const axis *other, bool upright) {
    double tick = tick_of(a);
    for (double v = a->low; v < a->high + 0.5 * tick; v += tick) {
        double p = place_of(a, v);
        double x1 = upright ? other->from : p, x2 = upright ? other->to : p;
        double y1 = upright ? p : other->from, y2 = upright ? p : other->to;
        fprintf(file, "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2);
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", upright ? x1 - 6 : p,
                upright ? p + 4 : y1 + 16, upright ? "end" : "middle");
        fprintf(file, a->log ? "1e%.0f</text>\n" : "%g</text>\n", fabs(v) < 1e-9 * tick ? 0 : v);
    }
    double middle = 0.5 * (a->from + a->to);
    if (upright)
        fprintf(file, "<text transform=\"translate(18 %.1f) rotate(-90)\" text-anchor=\"middle\">%s</text>\n", middle,
                a->heading);
    else
        fprintf(file, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n", middle, HEIGHT - 14, a->heading);
}

static void draw_line(FILE *file, const plot_def *plot, const table *t, const axis *x, const axis *y, const char *name,
                      int number) {
    int lines = column_of(t, plot->lines);
    const char *colour = colours[number];
    fprintf(file, "<g fill=\"%s\"><path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" d=\"", colour, colour);
    char step = 'M';
    for (int r = 0; r < t->row_count; r++) {
        if (strcmp(cell_of(t, r, lines)->text, name) != 0 || !is_drawn(plot, t, r, x, y)) continue;
        fprintf(file, "%c%.1f %.1f", step, place_of(x, value_at(x, t, r)), place_of(y, value_at(y, t, r)));
        step = 'L';
    }
    fprintf(file, "\"/>\n");
    for (int r = 0; r < t->row_count; r++)
        if (strcmp(cell_of(t, r, lines)->text, name) == 0 && is_drawn(plot, t, r, x, y))
            fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\"/>\n", place_of(x, value_at(x, t, r)),
                    place_of(y, value_at(y, t, r)));
    double at = TOP + 14 + 20 * number;
    fprintf(file, "<rect x=\"%d\" y=\"%.0f\" width=\"14\" height=\"4\"/><text x=\"%d\" y=\"%.0f\">%s</text></g>\n",
            WIDTH - RIGHT + 14, at - 6, WIDTH - RIGHT + 34, at, name);
}

static void draw(FILE *file, const plot_def *plot, const table *t) {
    axis x = axis_of(t, plot->x, plot->log_x, LEFT, WIDTH - RIGHT);
    axis y = axis_of(t, plot->y, plot->log_y, HEIGHT - BOTTOM, TOP);
    const char *names[LINES_MAX];
    int count = 0, lines = column_of(t, plot->lines);
    for (int r = 0; r < t->row_count; r++) {
        if (!is_drawn(plot, t, r, &x, &y)) continue;
        widen(&x, value_at(&x, t, r));
        widen(&y, value_at(&y, t, r));
        const char *name = cell_of(t, r, lines)->text;
        bool known = false;
        for (int i = 0; i < count; i++) known |= strcmp(names[i], name) == 0;
        if (!known && count < LINES_MAX) names[count++] = name;
    }
    if (count > 0) {
        round_ends(&x);
        round_ends(&y);
    }
    fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" ", WIDTH, HEIGHT);
    fprintf(file,
            "font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
    fprintf(file, "<text x=\"%d\" y=\"24\" font-size=\"15\">%s</text>\n", LEFT, plot->title);
    if (count > 0) {
        draw_axis(file, &x, &y, false);
        draw_axis(file, &y, &x, true);
    }
    for (int i = 0; i < count; i++) draw_line(file, plot, t, &x, &y, names[i], i);
    fprintf(file, "</svg>\n");
}

thenar_status plot_write(const plot_def *plot, const table *t, const char *path, thenar_error *error) {
    FILE *file = create_file(path, error);
    if (!file) return THENAR_ERROR_FILE;
    draw(file, plot, t);
    return close_file(file, path, error);
}
