/* Repeatable random numbers (splitmix64): the same seed gives the same sequence everywhere. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdint.h>

typedef struct random_source {
    uint64_t state;
} random_source;

static inline uint64_t random_bits(random_source *source) {
    uint64_t z = (source->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* Uniform in [low, high). */
static inline double random_uniform(random_source *source, double low, double high) {
    return low + (high - low) * ((double)(random_bits(source) >> 11) * 0x1p-53);
}

#endif
