#include "app/support.h"

#include "thenar/file.h"

#include <assert.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void table_add_column(table *t, const char *key, const char *heading, int decimals) {
    assert(t->column_count < TABLE_COLUMNS && t->row_count == 0);
    t->columns[t->column_count].key = key;
    t->columns[t->column_count].heading = heading;
    t->columns[t->column_count].decimals = decimals;
    t->column_count++;
}

void table_add_row(table *t) {
    if (t->row_count == t->row_capacity) {
        int capacity = 2 * t->row_capacity + 8;
        table_cell *cells = realloc(t->cells, (size_t)(capacity * t->column_count) * sizeof *cells);
        if (!cells) {
            t->failed = true;
            return;
        }
        t->cells = cells;
        t->row_capacity = capacity;
    }
    memset(t->cells + t->row_count * t->column_count, 0, (size_t)t->column_count * sizeof *t->cells);
    t->row_count++;
}

static table_cell *last_row_cell(table *t, const char *key) {
    if (t->failed) return NULL;
    for (int c = 0; c < t->column_count; c++)
        if (strcmp(t->columns[c].key, key) == 0) return &t->cells[(t->row_count - 1) * t->column_count + c];
    assert(false && "a column of that key");
    return NULL;
}

void table_text(table *t, const char *key, const char *format, ...) {
    table_cell *cell = last_row_cell(t, key);
    if (!cell) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cell->text, sizeof cell->text, format, arguments);
    va_end(arguments);
    cell->filled = true;
}

void table_number(table *t, const char *key, double value) {
    table_cell *cell = last_row_cell(t, key);
    if (!cell || !isfinite(value)) return;
    cell->filled = cell->is_number = true;
    cell->number = value;
}

static int format_cell(const table *t, int row, int column, char *out, size_t size) {
    const table_cell *cell = &t->cells[row * t->column_count + column];
    if (!cell->filled) return snprintf(out, size, "-");
    if (cell->is_number) return snprintf(out, size, "%.*f", t->columns[column].decimals, cell->number);
    return snprintf(out, size, "%s", cell->text);
}

static bool column_is_numeric(const table *t, int column) {
    for (int r = 0; r < t->row_count; r++)
        if (t->cells[r * t->column_count + column].filled && !t->cells[r * t->column_count + column].is_number)
            return false;
    return true;
}

void table_print(const table *t, FILE *out) {
    char text[128];
    int width[TABLE_COLUMNS];
    for (int c = 0; c < t->column_count; c++) {
        width[c] = (int)strlen(t->columns[c].heading);
        for (int r = 0; r < t->row_count; r++) {
            int length = format_cell(t, r, c, text, sizeof text);
            if (length > width[c]) width[c] = length;
        }
    }
    for (int r = -1; r < t->row_count; r++) {
        for (int c = 0; c < t->column_count; c++) {
            if (r < 0)
                snprintf(text, sizeof text, "%s", t->columns[c].heading);
            else
                format_cell(t, r, c, text, sizeof text);
            bool last = c == t->column_count - 1;
            if (column_is_numeric(t, c))
                fprintf(out, "%*s%s", width[c], text, last ? "" : "  ");
            else
                fprintf(out, "%-*s%s", last ? 0 : width[c], text, last ? "" : "  ");
        }
        fputc('\n', out);
    }
}

thenar_status table_write_json(const table *t, const char *name, const char *path, thenar_error *error) {
    json_t *rows = json_array();
    for (int r = 0; r < t->row_count; r++) {
        json_t *row = json_object();
        for (int c = 0; c < t->column_count; c++) {
            const table_cell *cell = &t->cells[r * t->column_count + c];
            if (!cell->filled) continue;
            json_object_set_new(row, t->columns[c].key,
                                cell->is_number ? json_real(cell->number) : json_string(cell->text));
        }
        json_array_append_new(rows, row);
    }
    json_t *root = json_object();
    json_object_set_new(root, "bench", json_string(name));
    json_object_set_new(root, "machine", machine_describe());
    json_object_set_new(root, "rows", rows);
    return json_file_write(root, path, error);
}

thenar_status table_write_csv(const table *t, const char *path, thenar_error *error) {
    thenar_csv *csv;
    thenar_status status = thenar_csv_open(path, &csv, error);
    if (status != THENAR_OK) return status;
    for (int c = 0; c < t->column_count; c++) thenar_csv_text(csv, t->columns[c].key);
    thenar_csv_end_row(csv);
    for (int r = 0; r < t->row_count; r++) {
        for (int c = 0; c < t->column_count; c++) {
            const table_cell *cell = &t->cells[r * t->column_count + c];
            if (!cell->filled)
                thenar_csv_empty(csv);
            else if (cell->is_number)
                thenar_csv_number(csv, cell->number);
            else
                thenar_csv_text(csv, cell->text);
        }
        thenar_csv_end_row(csv);
    }
    return thenar_csv_close(csv, error);
}

void table_free(table *t) {
    free(t->cells);
    *t = (table){0};
}
