#include "bench/bench.h"

static thenar_status run(const bench_request *request, table *results, thenar_error *error) {
    (void)request, (void)results, (void)error;
    return THENAR_OK;
}
const bench_entry bench_linear = {.name = "linear", .summary = "assembly, factor, solve and selected inverse beside CHOLMOD", .run = run};
