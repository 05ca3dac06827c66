/* What the machine is, for benchmark results. */
#ifndef APP_MACHINE_H
#define APP_MACHINE_H

#include <jansson.h>

/* {"cpu": ..., "cores": n, "system": ..., "compiler": ...}; a new reference. */
json_t *machine_describe(void);

#endif
