/* A snapshot: a header that names the model, then the kept state, byte for byte. */
#include "world/sim.h"

#include "base/hash.h"

#include <string.h>

#define SNAPSHOT_MAGIC 0x31534e4148454854u /* "THEHANS1" */

typedef struct snapshot_header {
    uint64_t magic;
    uint64_t model_hash;
    uint64_t size; /* of the state behind the header, bytes */
    double dt;
    uint64_t checksum; /* of that state */
} snapshot_header;

size_t thenar_sim_snapshot_size(const thenar_sim *sim) {
    return sizeof(snapshot_header) + sim->kept_size;
}

void thenar_sim_snapshot(const thenar_sim *sim, void *bytes) {
    snapshot_header header = {.magic = SNAPSHOT_MAGIC,
                              .model_hash = sim->model->hash,
                              .size = sim->kept_size,
                              .dt = sim->dt,
                              .checksum = thenar_sim_hash(sim)};
    memcpy(bytes, &header, sizeof header);
    memcpy((char *)bytes + sizeof header, sim->kept, sim->kept_size);
}

thenar_status thenar_sim_restore(thenar_sim *sim, const void *bytes, size_t size, thenar_error *error) {
    snapshot_header header;
    if (size < sizeof header)
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot of %zu bytes; expected %zu", size,
                         thenar_sim_snapshot_size(sim));
    memcpy(&header, bytes, sizeof header);
    if (header.magic != SNAPSHOT_MAGIC)
        return error_set(error, THENAR_ERROR_INPUT, "not a snapshot of this version of Thenar");
    if (header.model_hash != sim->model->hash)
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot of another model; expected one of %s",
                         sim->model->name);
    if (header.dt != sim->dt)
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot with a time step of %g s; expected %g s", header.dt,
                         sim->dt);
    if (header.size != sim->kept_size || size != thenar_sim_snapshot_size(sim))
        return error_set(error, THENAR_ERROR_INPUT, "a snapshot of %zu bytes; expected %zu", size,
                         thenar_sim_snapshot_size(sim));
    const char *state = (const char *)bytes + sizeof header;
    if (hash_bytes(0, state, sim->kept_size) != header.checksum)
        return error_set(error, THENAR_ERROR_INPUT, "a damaged snapshot: its checksum is wrong");
    if (!contacts_check(&sim->model->contacts, &sim->contacts, state, sim->kept))
        return error_set(error, THENAR_ERROR_INPUT, "a damaged snapshot: its contacts are not those of the model");
    memcpy(sim->backup, sim->kept, sim->kept_size);
    memcpy(sim->kept, state, sim->kept_size);
    if (!sim_is_sound(sim)) {
        memcpy(sim->kept, sim->backup, sim->kept_size);
        return error_set(error, THENAR_ERROR_INPUT, "a damaged snapshot: a number of its state is not finite");
    }
    sim->stats = (thenar_stats){0};
    contacts_untell(&sim->contacts);
    for (int i = 0; i < sim->model->handle_count; i++) sim_handle(sim, i)->linear->is_there = false;
    return THENAR_OK;
}
