#include "io/recording_inputs.h"

#include "base/memory.h"
#include "world/sim.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD sizeof(uint64_t)

/* Ranges closer than their own header are one: then all of them take no more room than the state and one header. */
#define GAP (sizeof(inputs_range) / WORD)

size_t recorded_inputs_most(const thenar_sim *sim) {
    size_t state = sizeof(inputs_start) + thenar_sim_snapshot_size(sim);
    size_t ranges = sizeof(inputs_step) + sizeof(inputs_range) + sim->kept_size;
    return state > ranges ? state : ranges;
}

bool recorded_inputs_create(const thenar_sim *sim, recorded_inputs *inputs) {
    *inputs =
        (recorded_inputs){.after = memory_aligned(sim->kept_size), .out = memory_aligned(recorded_inputs_most(sim))};
    return inputs->after && inputs->out;
}

void recorded_inputs_free(recorded_inputs *inputs) {
    free(inputs->after);
    free(inputs->out);
    *inputs = (recorded_inputs){0};
}

inputs_start inputs_start_of(const thenar_sim *sim) {
    static const char *const frictions[] = {
        [FRICTION_PYRAMID] = "pyramid", [FRICTION_CONE] = "cone", [FRICTION_PRINTED] = "printed"};
    inputs_start start = {0};
    snprintf(start.solver, sizeof start.solver, "%s", thenar_sim_solver(sim));
    snprintf(start.contact, sizeof start.contact, "%s", thenar_sim_contact_method(sim));
    solver_friction friction = sim->model->system_count > 0 ? sim->systems[0].friction : FRICTION_PYRAMID;
    snprintf(start.friction, sizeof start.friction, "%s", frictions[friction]);
    snprintf(start.coupling, sizeof start.coupling, "%s", coupling_method_names[sim->coupling]);
    return start;
}

static size_t put_state(unsigned char *out, const thenar_sim *sim) {
    inputs_start start = inputs_start_of(sim);
    memcpy(out, &start, sizeof start);
    thenar_sim_snapshot(sim, out + sizeof start);
    return sizeof start + thenar_sim_snapshot_size(sim);
}

static bool same_word(const char *a, const char *b, size_t word) {
    return memcmp(a + word * WORD, b + word * WORD, WORD) == 0;
}

/* The first word from `word` on that differs; `words` if none does. */
static size_t next_change(const char *a, const char *b, size_t word, size_t words) {
    const size_t stretch = 512; /* at a time while nothing differs, which is nearly always */
    while (words - word >= stretch && memcmp(a + word * WORD, b + word * WORD, stretch * WORD) == 0) word += stretch;
    while (word < words && same_word(a, b, word)) word++;
    return word;
}

/* Where `to` differs from `from`. */
static size_t put_ranges(unsigned char *out, const char *from, const char *to, size_t bytes) {
    size_t words = bytes / WORD, used = 0;
    for (size_t begin = next_change(from, to, 0, words); begin < words;) {
        size_t end = begin + 1, next = next_change(from, to, end, words);
        while (next < words && next - end < GAP) {
            end = next + 1;
            next = next_change(from, to, end, words);
        }
        inputs_range range = {begin * WORD, (end - begin) * WORD};
        memcpy(out + used, &range, sizeof range);
        memcpy(out + used + sizeof range, to + range.offset, range.size);
        used += sizeof range + range.size;
        begin = next;
    }
    return used;
}

const char *recorded_inputs_next(recorded_inputs *inputs, const thenar_sim *sim, size_t *size) {
    assert(sim->kept_size % WORD == 0);
    uint64_t step = thenar_sim_step_count(sim);
    if (inputs->started && step == inputs->step) return NULL;
    bool follows = inputs->started && step == inputs->step + 1;
    uint64_t hash = thenar_sim_hash(sim);
    if (follows) {
        /* The step's backup is what it began with. */
        inputs_step head = {.step = step, .hash = hash};
        memcpy(inputs->out, &head, sizeof head);
        *size = sizeof head + put_ranges(inputs->out + sizeof head, inputs->after, sim->backup, sim->kept_size);
    } else {
        *size = put_state(inputs->out, sim);
    }
    inputs->started = true;
    inputs->step = step;
    inputs->hash = hash;
    memcpy(inputs->after, sim->kept, sim->kept_size);
    return follows ? "INPT" : "STAT";
}
