/* What of a scene can be changed while it runs: numbers of its materials, and friction wherever the scene has it. */
#ifndef APP_VIEW_TUNABLES_H
#define APP_VIEW_TUNABLES_H

#include "core/error.h"
#include "core/memory.h"

#include "app/options.h"

#include <jansson.h>

#define TUNABLE_PATH 512

typedef struct view_tunable {
    char path[TUNABLE_PATH]; /* as for --set */
    char body[128];          /* whose it is, "" for none */
    const char *label, *unit;
    const char *empty; /* what holds where the scene does not say; NULL: it must */
    double value;      /* NaN: the scene does not have it */
    double before;
    bool changed;
    bool needs_map; /* the scene has no mapping for it yet: "limits" */
} view_tunable;

typedef struct view_tunables {
    ARRAY(view_tunable) list;
} view_tunables;

/* Reads the scene once more, for its numbers. */
thenar_status tunables_read(view_tunables *tunables, const char *path, const option_list *sets, thenar_error *error);

/* The overrides as --set takes them, behind those that are in `sets` already; texts are the caller's to hold. */
typedef struct tunable_text {
    char text[TUNABLE_PATH + 64];
} tunable_text;
void tunables_to_sets(const view_tunables *tunables, option_list *sets, tunable_text *texts);

json_t *tunables_describe(const view_tunables *tunables);
json_t *tunables_values(const view_tunables *tunables);
void tunables_free(view_tunables *tunables);

#endif
