/* A hand at its strain limits, for benchmarks: the situation of perez2016's section V and Fig. 3. About 600 tets, 0.2
 * MPa, limits 0.9..1.1; the wrist is held and turned, a load bends the fingers. Frames are snapshots of a run with the
 * default solver, so that all solvers start from the same states.
 *
 * The paper counts 335 active limits. Its solvers take up the limits that the free motion violates, so "bent" has a
 * load that makes these as many; "crushed" has one with which about as many limits push in the solution; "still" is
 * the same without the turn, after the hand has settled. */
#ifndef BENCH_LIMITED_HAND_H
#define BENCH_LIMITED_HAND_H

#include "bench/bench.h"
#include "core/memory.h"
#include "bench/hand_like.h"
#include "world/sim.h"

#include <stdlib.h>

#define LIMITED_HAND_TETS 600
#define LIMITED_HAND_TIME 0.4 /* s, in which it turns */
#define LIMITED_HAND_FIRST 15 /* steps before the first frame: the middle of the turn is the middle of the frames */
#define LIMITED_HAND_FRAMES 10

typedef struct limited_hand_scene {
    const char *name;
    double load; /* N, on all that is beyond the knuckles */
    double turn; /* of the wrist about the hand's breadth, radians */
} limited_hand_scene;
static const limited_hand_scene limited_hand_scenes[] = {{"still", 300, 0}, {"bent", 57, 1.5}, {"crushed", 300, 1.5}};
#define LIMITED_HAND_SCENES 3

typedef struct limited_hand {
    thenar_model *model;
    char *frames; /* snapshots, each taken before a step */
    size_t frame_size;
} limited_hand;

static inline thenar_status limited_hand_model(const limited_hand_scene *scene, thenar_model **model,
                                               thenar_error *error) {
    thenar_tet_mesh mesh = {0};
    thenar_status status = shape_hand_like(LIMITED_HAND_TETS, &mesh, error);
    if (status != THENAR_OK) return status;
    thenar_soft_def hand = thenar_soft_def_default();
    const thenar_key keys[] = {{.time = 0}, {.time = LIMITED_HAND_TIME, .turn = {scene->turn, 0, 0}}};
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

static inline void limited_hand_free(limited_hand *hand) {
    thenar_model_free(hand->model);
    free(hand->frames);
    *hand = (limited_hand){0};
}

static inline thenar_status limited_hand_create(limited_hand *hand, const limited_hand_scene *scene,
                                                thenar_error *error) {
    *hand = (limited_hand){0};
    thenar_sim *sim = NULL;
    thenar_status status = limited_hand_model(scene, &hand->model, error);
    if (status == THENAR_OK) status = thenar_sim_create(hand->model, NULL, &sim, error);
    if (status == THENAR_OK) {
        hand->frame_size = thenar_sim_snapshot_size(sim);
        hand->frames = MEMORY_ARRAY(char, LIMITED_HAND_FRAMES * hand->frame_size);
        if (!hand->frames) status = error_memory(error, "frames");
    }
    for (int i = 0; status == THENAR_OK && i < LIMITED_HAND_FIRST + LIMITED_HAND_FRAMES; i++) {
        if (i >= LIMITED_HAND_FIRST)
            thenar_sim_snapshot(sim, hand->frames + (size_t)(i - LIMITED_HAND_FIRST) * hand->frame_size);
        if (thenar_sim_step(sim) != THENAR_OK) status = error_set(error, THENAR_ERROR_NUMERIC, "the hand broke");
    }
    thenar_sim_free(sim);
    return status;
}

static inline thenar_status limited_hand_enter(const limited_hand *hand, int frame, thenar_sim *sim,
                                               thenar_error *error) {
    return thenar_sim_restore(sim, hand->frames + (size_t)frame * hand->frame_size, hand->frame_size, error);
}

#endif
