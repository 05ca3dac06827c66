/* Pads of a simulation: what it says of its bodies, bones and contacts after a step. */
#include "tactile/tactile.h"

#include "base/memory.h"
#include "thenar/hand.h"
#include "world/sim.h"

#include <assert.h>
#include <stdlib.h>

static void describe_skins(const thenar_model *model, pad_skin *skins) {
    for (int b = 0; b < model->body_count; b++) {
        skins[b].surface = thenar_model_surface(model, b);
        if (thenar_model_body_kind(model, b) != THENAR_BODY_SOFT) continue;
        skins[b].embedding = thenar_model_embedding(model, b);
        skins[b].mesh = thenar_model_mesh(model, b);
        skins[b].soft = model_soft(model, b);
    }
}

static void describe_pads(const thenar_model *model, const char **names, pad_place *places) {
    for (int h = 0; h < model->hand_count; h++) {
        const hand_model *hand = model->hands[h];
        names[h] = hand->name;
        for (int f = 0; f < HAND_FINGERS; f++) {
            const hand_pad_model *pad = &hand->pad[f];
            places[HAND_FINGERS * h + f] = (pad_place){.hand = h,
                                                       .body = hand->first_body + pad->flesh,
                                                       .finger = (thenar_finger)f,
                                                       .left = hand->skeleton.left,
                                                       .vertex = pad->region.vertex,
                                                       .vertex_count = pad->region.count,
                                                       .frame = pad->frame,
                                                       .young = hand->young};
        }
    }
}

thenar_status thenar_tactile_create(const thenar_model *model, const thenar_tactile_options *options,
                                    thenar_tactile **out, thenar_error *error) {
    *out = NULL;
    thenar_tactile_options all = options ? *options : thenar_tactile_options_default();
    if (!all.devices) {
        all.devices = model->tactile;
        all.device_count = model->tactile_count;
    }
    pad_skin *skins = MEMORY_ARRAY(pad_skin, model->body_count);
    const char **names = MEMORY_ARRAY(const char *, model->hand_count);
    pad_place *places = MEMORY_ARRAY(pad_place, HAND_FINGERS * model->hand_count);
    thenar_status status = skins && names && places ? THENAR_OK : error_memory(error, "tactile devices");
    if (status == THENAR_OK) {
        describe_skins(model, skins);
        describe_pads(model, names, places);
        tactile_source source = {.body_count = model->body_count,
                                 .skins = skins,
                                 .hand_count = model->hand_count,
                                 .hand_names = names,
                                 .places = places};
        status = tactile_create(&source, &all, out, error);
    }
    if (status == THENAR_OK) {
        (*out)->model = model;
        model_keep(model);
    } else {
        free(skins);
    }
    free(names);
    free(places);
    return status;
}

void thenar_tactile_update(thenar_tactile *tactile, const thenar_sim *sim) {
    assert(thenar_model_body_count(thenar_sim_model(sim)) == tactile->world.body_count &&
           thenar_model_hand_count(thenar_sim_model(sim)) == tactile->hand_count);
    double time = thenar_sim_time(sim);
    if (time < tactile->time) thenar_tactile_reset(tactile);
    double dt = tactile->time >= 0 ? time - tactile->time : thenar_sim_dt(sim);
    for (int b = 0; b < tactile->world.body_count; b++) {
        feel_motion *motion = &tactile->motions[b];
        if (tactile->world.skins[b].mesh) {
            motion->x = thenar_sim_positions(sim, b);
            motion->v = thenar_sim_velocities(sim, b);
            continue;
        }
        double position[3], turn[4], velocity[3], spin[3];
        thenar_sim_pose(sim, b, position, turn);
        thenar_sim_twist(sim, b, velocity, spin);
        *motion =
            (feel_motion){.centre = vec3_load(position), .velocity = vec3_load(velocity), .spin = vec3_load(spin)};
    }
    for (int h = 0; h < tactile->hand_count; h++)
        thenar_sim_hand_joints(sim, h, tactile->joints + 7 * HAND_JOINTS * (size_t)h);
    feel_moment moment = {.contacts = thenar_sim_contacts(sim),
                          .contact_count = thenar_sim_contact_count(sim),
                          .bodies = tactile->motions,
                          .joints = tactile->joints};
    tactile_update(tactile, &moment, time, dt);
}
