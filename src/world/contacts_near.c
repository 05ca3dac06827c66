/* Which pairs a step looks at: those of which both bodies' reaches overlap (contact/points.h, contact/sweep.h). */
#include "world/contacts.h"

#include <string.h>

typedef struct finding {
    contacts_state *state;
    const contacts_model *contacts;
} finding;

static void add_pair(void *context, int one, int other) {
    finding *found = context;
    size_t target = (size_t)(other - found->contacts->skin_count);
    int pair = found->contacts->pair_of[(size_t)one * (size_t)found->contacts->target_count + target];
    if (pair >= 0) found->state->near_pairs[found->state->near_count++] = pair;
}

/* Ascending, byte by byte from the lowest: what it costs grows with the count, and not with its square. */
static void sort(int *numbers, int *room, int count, int largest) {
    for (int shift = 0; shift < 31 && largest >> shift > 0; shift += 8) {
        int start[257] = {0};
        for (int i = 0; i < count; i++) start[((numbers[i] >> shift) & 255) + 1]++;
        for (int i = 0; i < 256; i++) start[i + 1] += start[i];
        for (int i = 0; i < count; i++) room[start[(numbers[i] >> shift) & 255]++] = numbers[i];
        memcpy(numbers, room, (size_t)count * sizeof *numbers);
    }
}

void contacts_find_near(contacts_state *state, const contacts_model *contacts, double margin, double h) {
    int skins = contacts->skin_count;
    for (int i = 0; i < skins; i++) state->reach[i] = contact_skin_reach(&state->skins[i], margin, h);
    for (int i = 0; i < contacts->target_count; i++) {
        int body = contacts->targets[i];
        state->reach[skins + i] =
            state->rigids[body] ? contact_rigid_reach(state->rigids[body], h) : state->reach[contacts->skin_of[body]];
    }
    finding found = {state, contacts};
    state->near_count = 0;
    sweep_find(&state->near, state->reach, skins, add_pair, &found);
    sort(state->near_pairs, state->near_room, state->near_count, contacts->pair_count - 1);
}
