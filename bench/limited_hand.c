#include "bench/limited_hand.h"

#include "bench/hand_like.h"
#include "core/memory.h"

#include <stdlib.h>

#define TETS 600
#define TURN_TIME 0.4  /* s */
#define FIRST_FRAME 15 /* steps before the first frame: the middle of the turn is the middle of the frames */

const limited_hand_scene limited_hand_scenes[] = {{"still", 300, 0}, {"bent", 57, 1.5}, {"crushed", 300, 1.5}};

static thenar_status make_model(const limited_hand_scene *scene, thenar_model **model, thenar_error *error) {
    thenar_tet_mesh mesh = {0};
    thenar_status status = shape_hand_like(TETS, &mesh, error);
    if (status != THENAR_OK) return status;
    thenar_soft_def hand = thenar_soft_def_default();
    const thenar_key keys[] = {{.time = 0}, {.time = TURN_TIME, .turn = {scene->turn, 0, 0}}};
    thenar_support wrist = {.region = {.kind = THENAR_REGION_HALF, .point = {0, 0.01, 0}, .normal = {0, 1, 0}},
                            .keys = keys,
                            .key_count = 2};
    thenar_load load = {.region = {.kind = THENAR_REGION_HALF, .point = {0, 0.1, 0}, .normal = {0, -1, 0}},
                        .force = {0, 0, -scene->load}};
    hand.name = "hand";
    hand.mesh = &mesh;
    hand.material.young = 0.2e6;
    hand.material.stretch_min = 0.9;
    hand.material.stretch_max = 1.1;
    hand.supports = &wrist;
    hand.support_count = 1;
    hand.loads = &load;
    hand.load_count = 1;
    status = bench_compile(&hand, model, error);
    thenar_tet_mesh_free(&mesh);
    return status;
}

void limited_hand_free(limited_hand *hand) {
    thenar_model_free(hand->model);
    free(hand->frames);
    *hand = (limited_hand){0};
}

thenar_status limited_hand_create(limited_hand *hand, const limited_hand_scene *scene, thenar_error *error) {
    *hand = (limited_hand){0};
    thenar_sim *sim = NULL;
    thenar_status status = make_model(scene, &hand->model, error);
    if (status == THENAR_OK) status = thenar_sim_create(hand->model, NULL, &sim, error);
    if (status == THENAR_OK) {
        hand->frame_size = thenar_sim_snapshot_size(sim);
        hand->frames = MEMORY_ARRAY(char, LIMITED_HAND_FRAMES * hand->frame_size);
        if (!hand->frames) status = error_memory(error, "frames");
    }
    for (int i = 0; status == THENAR_OK && i < FIRST_FRAME + LIMITED_HAND_FRAMES; i++) {
        if (i >= FIRST_FRAME) thenar_sim_snapshot(sim, hand->frames + (size_t)(i - FIRST_FRAME) * hand->frame_size);
        if (thenar_sim_step(sim) != THENAR_OK)
            status = error_set(error, THENAR_ERROR_NUMERIC, "the simulation of the hand failed");
    }
    thenar_sim_free(sim);
    return status;
}

thenar_status limited_hand_enter(const limited_hand *hand, int frame, thenar_sim *sim, thenar_error *error) {
    return thenar_sim_restore(sim, hand->frames + (size_t)frame * hand->frame_size, hand->frame_size, error);
}
