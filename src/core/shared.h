/* Functions of libthenar that libthenar_io calls and that are not part of the API.
 *
 * Internal functions have hidden visibility. One that the second library needs is marked in its header:
 *     void track_free(track *t) SHARED(track_free);
 * It is exported as thenar_internal_track_free, so that it cannot collide with a function of the program, while sources
 * call it by its own name. These symbols are for libthenar_io of the same version alone. */
#ifndef CORE_SHARED_H
#define CORE_SHARED_H

#define SHARED(name) __asm__("thenar_internal_" #name) __attribute__((visibility("default")))

#endif
