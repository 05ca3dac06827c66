/* Real-time priority and locked memory for the calling thread, as far as the system grants them. */
#ifndef THENAR_HAPTIC_REAL_TIME_H
#define THENAR_HAPTIC_REAL_TIME_H

#include <stdbool.h>
#include <stddef.h>

/* Asks for them and says in one line what came of it. True if all memory is locked: real_time_end lets it go. */
bool real_time_begin(int priority, char *text, size_t size);
void real_time_end(void);

#endif
