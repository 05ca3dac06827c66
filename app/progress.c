#include "app/progress.h"

#include "core/threads.h"

#include <stdio.h>
#include <unistd.h>

#define REDRAW_NANOSECONDS 100000000
#define BAR_WIDTH 24

progress progress_start(const char *what, const char *unit, double total) {
    int64_t now = clock_now();
    return (progress){
        .shown = isatty(STDERR_FILENO), .what = what, .unit = unit, .total = total, .start = now, .last = now};
}

void progress_update(progress *line, double done) {
    if (!line->shown) return;
    int64_t now = clock_now();
    if (now - line->last < REDRAW_NANOSECONDS) return;
    line->last = now;
    double elapsed = (double)(now - line->start) * 1e-9;
    double share = line->total > 0 ? done / line->total : 0;
    double rate = done / elapsed;
    double left = rate > 0 ? (line->total - done) / rate : 0;
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++) bar[i] = i < share * BAR_WIDTH ? '#' : '.';
    bar[BAR_WIDTH] = 0;
    fprintf(stderr, "\r\033[K%s [%s] %3.0f %%  %.0f %s/s, %.0f s left%s%s", line->what, bar, 100 * share, rate,
            line->unit, left, line->note && *line->note ? "; " : "", line->note ? line->note : "");
    fflush(stderr);
}

void progress_end(progress *line) {
    if (line->shown) fprintf(stderr, "\r\033[K");
}
