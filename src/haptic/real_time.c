#include "haptic/real_time.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>

bool real_time_begin(int priority, char *text, size_t size) {
    char scheduling[128], memory[128];
    struct sched_param param = {.sched_priority = priority};
    /* Without real-time priority the system may wake a thread 50 us late on purpose, to wake several at once. */
    prctl(PR_SET_TIMERSLACK, 1UL);
    int refused = pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
    if (refused == 0)
        snprintf(scheduling, sizeof scheduling, "real-time priority %d", priority);
    else
        snprintf(scheduling, sizeof scheduling, "no real-time priority (%s; `ulimit -r %d` or CAP_SYS_NICE gives it)",
                 refused == EPERM ? "not permitted" : "refused", priority);
    /* Only what is there now: with a limit on locked memory, later allocations of the program would fail. */
    bool locked = mlockall(MCL_CURRENT) == 0;
    snprintf(memory, sizeof memory,
             locked ? "memory locked" : "memory not locked (`ulimit -l unlimited` or CAP_IPC_LOCK gives it)");
    snprintf(text, size, "%s, %s", scheduling, memory);
    return locked;
}

void real_time_end(void) {
    munlockall();
}
