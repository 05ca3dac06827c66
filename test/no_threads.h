/* Between begin and end the system refuses every new thread: each would get a stack larger than all of memory. */
#ifndef TEST_NO_THREADS_H
#define TEST_NO_THREADS_H

#include <pthread.h>

static pthread_attr_t no_threads_before;

static inline void no_threads_begin(void) {
    pthread_attr_t huge;
    pthread_getattr_default_np(&no_threads_before);
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, (size_t)1 << 47);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
}

static inline void no_threads_end(void) {
    pthread_setattr_default_np(&no_threads_before);
    pthread_attr_destroy(&no_threads_before);
}

#endif
