/* The table that stands beside a recording (steps.csv), for the viewer's plots. */
#include "fuzz.h"

#include "app/view.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[32];
    thenar_error error = {0};
    view_series series = {0};
    int file = fuzz_file(data, size, path);
    thenar_status status = series_read_csv(&series, path, &error);
    fuzz_status(status, &error);
    if (status == THENAR_OK) {
        fuzz_check(series.values.count == series.row_count * series.names.count);
        series_find(&series, "step");
        series_thin(&series, 3);
        fuzz_check(series.row_count <= 3);
    }
    series_free(&series);
    close(file);
    return 0;
}
