/* From what a pad feels to the command of a device: matching, force limit, speed limits, vibration. */
#include "tactile/tactile.h"

#include "core/memory.h"
#include "core/text.h"
#include "world/model.h"
#include "world/sim.h"

#include "thenar/hand.h"

#include <stdlib.h>
#include <string.h>

#define ARM 0.005       /* m: length equivalent of a radian where a pose is held: half a pad */
#define HOLD 0.005      /* of the mean area of a point: weight that holds a pose where contacts leave it undetermined */
#define SOFTNESS 0.0003 /* m: over which the weight of a point fades with its gap */
#define ONSET 0.0002    /* m: the largest step towards a newly touched pad */
/* m: a command says "touching" until the surface is this far from the pad. Filtered noise of a tracker still moves a
 * fingertip by some tenths of a millimetre: without this a finger that grazes a surface toggled up to 6 times in 10 s. */
#define RELEASE 0.0005
/* Share of the clearance within which the platform is parallel to the surface near the pad, and only its displacement
 * follows the distance. Where tilt faded in with the displacement, the same noise tilted the platform of a grazing
 * finger by 3 degrees (standard deviation). */
#define PARALLEL 0.5

thenar_status thenar_tactile_options_init(thenar_tactile_options *options, size_t size) {
    const thenar_tactile_options defaults = {.points = 100, .touching = 0.05e-3, .hysteresis = 0.2e-3, .depth = 1e-3};
    return sized_give(options, size, &defaults, sizeof defaults, "thenar_tactile_options");
}

thenar_status thenar_tactile_def_init(thenar_tactile_def *def, size_t size) {
    const thenar_tactile_def defaults = {0};
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_tactile_def");
}

/* 1 below 0, 0 above 1, smooth in between. */
static double fade(double u) {
    if (!(u > 0)) return 1;
    return u < 1 ? 1 - u * u * (3 - 2 * u) : 0;
}

/* Fills in the points of a match. Returns the sum of the weights of points that touch or are about to. `presence` is 1
 * in contact and falls to 0 as the nearby surface moves away. A surface that only approaches is seen by more points,
 * so that the tilt is right on arrival. */
static double weigh_points(const feel_pad *pad, double presence, match_points *points) {
    double nearest = fmax(0, pad->min_gap), sum = 0;
    int count = pad->model.point_count;
    points->group_count = (count + SIMD_LANES - 1) / SIMD_LANES;
    double *target[3], *skin[3], *touch = (double *)points->touch, *rest = (double *)points->free;
    for (int k = 0; k < 3; k++) target[k] = (double *)points->target[k], skin[k] = (double *)points->skin[k];
    for (int p = 0; p < SIMD_LANES * points->group_count; p++) {
        const thenar_tactile_point *point = &pad->model.points[p < count ? p : 0];
        double area = p < count ? point->area : 0;
        double near = fade((point->gap - nearest) / (SOFTNESS + nearest)) * presence;
        vec3 foot = pad->target[p < count ? p : 0];
        target[0][p] = foot.x, target[1][p] = foot.y, target[2][p] = foot.z;
        for (int k = 0; k < 3; k++) skin[k][p] = point->position[k];
        touch[p] = area * near;
        rest[p] = area * (1 - near);
        sum += touch[p];
    }
    return sum;
}

/* Depth of a pose in the pad at rest: how far its plane is beyond the first point of the pad that it meets. */
static double press_of(const feel_pad *pad, const double pose[3]) {
    double n[3], first = INFINITY;
    match_normal(pose, n);
    for (int p = 0; p < pad->model.point_count; p++) {
        const double *x = pad->model.points[p].rest;
        first = fmin(first, n[0] * x[0] + n[1] * x[1] + n[2] * x[2]);
    }
    return n[2] * pose[2] - first;
}

/* Limits the force of the device: the pose moves back along z, as far as the workspace allows. */
static void limit_press(const tactile_worn *worn, const feel_pad *pad, double pose[3]) {
    double n[3], excess = press_of(pad, pose) - wearable_depth_max(&worn->device);
    match_normal(pose, n);
    if (excess > 0) pose[2] = fmax(worn->low[2], pose[2] - excess / n[2]);
}

/* 1 for a surface that touches the pad or is nearer than a share of the clearance, 0 beyond the clearance, smooth in
 * between. */
static double presence_of(const tactile_worn *worn, const feel_pad *pad, double from) {
    double clearance = worn->device.clearance;
    if (pad->distance <= 0) return 1;
    return clearance > 0 ? fade((pad->distance / clearance - from) / (1 - from)) : 0;
}

bool tactile_problem(const thenar_tactile *tactile, const tactile_worn *worn, const double before[3],
                     match_problem *problem) {
    const feel_pad *pad = &tactile->world.pads[worn->pad];
    double presence = presence_of(worn, pad, PARALLEL);
    if (!(presence > 0)) return false;
    *problem = (match_problem){.arm = ARM, .points = tactile->points};
    double touched = weigh_points(pad, presence, &problem->points);
    problem->hold = HOLD * pad->model.area / pad->model.point_count;
    problem->rest = touched / presence * (1 - presence);
    memcpy(problem->before, before, sizeof problem->before);
    memcpy(problem->home, worn->home, sizeof problem->home);
    memcpy(problem->low, worn->low, sizeof problem->low);
    memcpy(problem->high, worn->high, sizeof problem->high);
    return true;
}

/* Whether something touches the pad, with hysteresis. */
static bool still_touches(const thenar_tactile_command *before, const feel_pad *pad) {
    return pad->reported.contact_count > 0 || (before->touching && pad->distance < RELEASE);
}

static void match_pose(thenar_tactile *tactile, tactile_worn *worn, const feel_pad *pad) {
    thenar_tactile_command *command = &worn->command;
    match_problem problem;
    match_result result = {0};
    memcpy(worn->before, command->platform, sizeof worn->before);
    command->touching = still_touches(command, pad);
    if (tactile_problem(tactile, worn, worn->before, &problem)) {
        result = match_solve(&problem);
        result.pose[2] = worn->home[2] + presence_of(worn, pad, 0) * (result.pose[2] - worn->home[2]);
        limit_press(worn, pad, result.pose);
    } else {
        memcpy(result.pose, worn->home, sizeof worn->home);
        worn->engaged = false;
    }
    memcpy(command->target, result.pose, sizeof command->target);
    command->iterations = result.iterations;
    command->cost = result.cost;
    command->bounded = result.bounded;
}

static void move_device(tactile_worn *worn, double dt) {
    thenar_tactile_command *command = &worn->command;
    double max = worn->engaged ? INFINITY : ONSET;
    wearable_approach(&worn->device, command->target, dt, max, command->platform, worn->angles);
    if (command->touching && fabs(command->target[2] - command->platform[2]) <= ONSET) worn->engaged = true;
}

/* Amplitude and frequency: a change of the normal force is rendered as a decaying knock, slip as long as it lasts. */
static void vibrate(tactile_worn *worn, const feel_pad *pad, double dt) {
    const thenar_wearable_def *def = &worn->device;
    double rate = dt > 0 ? fabs(pad->reported.normal_force - pad->force_before) / dt : 0;
    double slip = pad->reported.slip * pad->reported.slip_speed / def->slip_full;
    double now = fmin(1, rate / def->rate_full + slip);
    worn->amplitude = fmax(now, worn->amplitude * exp(-dt / def->release));
    worn->command.value[0] = worn->amplitude;
    worn->command.value[1] = def->frequency_min + (def->frequency_max - def->frequency_min) * fmin(1, slip);
    worn->command.touching = still_touches(&worn->command, pad);
}

static void set_values(tactile_worn *worn, const feel_pad *pad) {
    const thenar_wearable_def *def = &worn->device;
    worn->command.press = press_of(pad, worn->command.platform);
    if (wearable_is_platform(def))
        memcpy(worn->command.value, worn->angles, sizeof worn->angles);
    else if (def->by_force)
        worn->command.value[0] = fmin(1, pad->reported.normal_force / def->force_limit);
    else
        worn->command.value[0] = worn->command.platform[2];
}

void tactile_update(thenar_tactile *tactile, const feel_input *input, double time, double dt) {
    feel_update(&tactile->world, input);
    tactile->time = time;
    for (int i = 0; i < tactile->device_count; i++) {
        tactile_worn *worn = &tactile->devices[i];
        const feel_pad *pad = &tactile->world.pads[worn->pad];
        worn->command.time = time;
        if (worn->device.kind == THENAR_WEARABLE_VIBRATION) {
            vibrate(worn, pad, dt);
            continue;
        }
        match_pose(tactile, worn, pad);
        move_device(worn, dt);
        set_values(worn, pad);
    }
}

thenar_status thenar_tactile_reset(thenar_tactile *tactile) {
    USAGE_POINTER(tactile, THENAR_ERROR_USAGE);
    feel_reset(&tactile->world);
    tactile->time = -1;
    for (int i = 0; i < tactile->device_count; i++) {
        tactile_worn *worn = &tactile->devices[i];
        const thenar_wearable_def *def = &worn->device;
        worn->command = (thenar_tactile_command){0};
        worn->engaged = false;
        worn->amplitude = 0;
        if (def->kind == THENAR_WEARABLE_VIBRATION) {
            worn->command.value[1] = def->frequency_min;
            continue;
        }
        memcpy(worn->command.platform, worn->home, sizeof worn->home);
        memcpy(worn->command.target, worn->home, sizeof worn->home);
        if (wearable_is_platform(def)) platform_inverse(def, worn->home, worn->angles);
        set_values(worn, &tactile->world.pads[worn->pad]);
    }
    return THENAR_OK;
}

static thenar_status find_hand(const tactile_source *source, const thenar_tactile_def *def, int *hand,
                               thenar_error *error) {
    if (!def->name || !def->name[0] || !text_is_printable(def->name))
        return error_set(error, THENAR_ERROR_INPUT, "a device without a name; expected printable text");
    if (def->finger < 0 || def->finger >= THENAR_FINGER_COUNT)
        return error_set(error, THENAR_ERROR_INPUT, "%s: finger %d; expected 0 to %d", def->name, (int)def->finger,
                         THENAR_FINGER_COUNT - 1);
    if (!(fabs(def->mount_angle) <= 1.6))
        return error_set(error, THENAR_ERROR_INPUT, "%s: turned by %g rad; expected -1.6 to 1.6", def->name,
                         def->mount_angle);
    if (!(def->depth >= 0 && def->depth <= 0.1))
        return error_set(error, THENAR_ERROR_INPUT, "%s: a depth of %g m; expected 0 to 0.1", def->name, def->depth);
    *hand = 0;
    if (!def->hand && source->hand_count == 1) return THENAR_OK;
    if (!def->hand)
        return error_set(error, THENAR_ERROR_INPUT, "%s: no hand is given; expected the name of one of the %d hands",
                         def->name, source->hand_count);
    for (; *hand < source->hand_count; ++*hand)
        if (strcmp(source->hand_names[*hand], def->hand) == 0) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "%s: there is no hand '%s'; expected the name of a hand", def->name,
                     def->hand);
}

static thenar_status add_pad(thenar_tactile *tactile, const pad_place *place, const thenar_tactile_options *options,
                             int *index, thenar_error *error) {
    feel_world *world = &tactile->world;
    for (*index = 0; *index < world->pad_count; ++*index) {
        const pad_model *pad = &world->pads[*index].model;
        if (pad->hand != place->hand || pad->finger != place->finger) continue;
        if (pad->turn == place->turn && pad->depth == place->depth) return THENAR_OK;
        return error_set(error, THENAR_ERROR_INPUT,
                         "two devices on a %s are turned by %g and %g rad and have depths of %g and %g m; expected the "
                         "same for all devices on one finger",
                         thenar_finger_name(pad->finger), pad->turn, place->turn, pad->depth, place->depth);
    }
    feel_pad *pad = &world->pads[*index];
    const pad_skin *skin = &world->skins[place->body];
    thenar_status status = pad_create(place, skin, options->points, &pad->model, error);
    if (status != THENAR_OK) return status;
    world->pad_count++;
    int count = pad->model.point_count;
    pad->reported.hand = place->hand, pad->reported.finger = place->finger, pad->reported.point_count = count;
    pad->normal = MEMORY_ARRAY(vec3, count);
    pad->target = MEMORY_ARRAY(vec3, count);
    pad->weight = MEMORY_ARRAY(double, count);
    feel_slot **slots = &world->slots[place->body];
    int vertices = skin->surface->vertex_count;
    if (!*slots) {
        *slots = MEMORY_ARRAY(feel_slot, vertices);
        for (int v = 0; *slots && v < vertices; v++) (*slots)[v].pad = -1;
    }
    if (!pad->normal || !pad->target || !pad->weight || !*slots) return error_memory(error, "finger pad");
    for (int i = 0; i < pad->model.vertex_count; i++) (*slots)[pad->model.vertex[i]] = (feel_slot){(short)*index, i};
    return THENAR_OK;
}

static thenar_status add_device(thenar_tactile *tactile, const tactile_source *source,
                                const thenar_tactile_options *options, const thenar_tactile_def *def,
                                thenar_error *error) {
    int hand = 0;
    thenar_status status = find_hand(source, def, &hand, error);
    if (status != THENAR_OK) return status;
    for (int i = 0; i < tactile->device_count; i++)
        if (strcmp(tactile->devices[i].def.name, def->name) == 0)
            return error_set(error, THENAR_ERROR_INPUT, "there are two devices named %s; expected different names",
                             def->name);
    status = thenar_wearable_check(def->device, error);
    if (status != THENAR_OK) {
        error_prefix(error, "%s", def->name);
        return status;
    }
    tactile_worn *worn = &tactile->devices[tactile->device_count++];
    worn->def = *def;
    worn->def.name = memory_string(def->name);
    worn->def.hand = memory_string(source->hand_names[hand]);
    worn->device = thenar_wearable_def_default(THENAR_WEARABLE_CABLE);
    worn->def.device = &worn->device;
    status = sized_take(&worn->device, sizeof worn->device, def->device, "thenar_wearable_def", error);
    if (status != THENAR_OK) return status;
    if (!worn->def.name || !worn->def.hand) return error_memory(error, def->name);
    wearable_bounds(&worn->device, worn->low, worn->high);
    wearable_home(&worn->device, worn->home);
    pad_place place = source->places[THENAR_FINGER_COUNT * hand + (int)def->finger];
    place.turn = def->mount_angle;
    place.depth = def->depth > 0 ? def->depth : options->depth;
    return add_pad(tactile, &place, options, &worn->pad, error);
}

static thenar_status make_scratch(thenar_tactile *tactile, thenar_error *error) {
    int groups = 1;
    for (int i = 0; i < tactile->world.pad_count; i++) {
        int own = (tactile->world.pads[i].model.point_count + SIMD_LANES - 1) / SIMD_LANES;
        if (own > groups) groups = own;
    }
    f64x8 *memory = tactile->points_memory = memory_aligned(8 * (size_t)groups * sizeof *memory);
    if (!memory) return error_memory(error, "finger pads");
    match_points *points = &tactile->points;
    for (int k = 0; k < 3; k++) points->target[k] = memory + k * groups;
    for (int k = 0; k < 3; k++) points->skin[k] = memory + (3 + k) * groups;
    points->touch = memory + 6 * groups;
    points->free = memory + 7 * groups;
    return THENAR_OK;
}

static thenar_status check_options(const thenar_tactile_options *o, thenar_error *error) {
    if (o->device_count < 1)
        return error_set(error, THENAR_ERROR_INPUT, "no device on any finger; expected at least one");
    if (o->points < 10 || o->points > 1000)
        return error_set(error, THENAR_ERROR_INPUT, "%d points per pad; expected 10 to 1000", o->points);
    if (!(o->touching >= 0 && o->hysteresis > 0 && o->depth >= 0 && o->touching < 1 && o->hysteresis < 1 &&
          o->depth < 1))
        return error_set(error, THENAR_ERROR_INPUT,
                         "touching %g m, hysteresis %g m, depth %g m; expected lengths from 0 to 1 m, hysteresis "
                         "above 0",
                         o->touching, o->hysteresis, o->depth);
    return THENAR_OK;
}

thenar_status tactile_create(const tactile_source *source, const thenar_tactile_options *options, thenar_tactile **out,
                             thenar_error *error) {
    *out = NULL;
    thenar_status status = check_options(options, error);
    if (status != THENAR_OK) return status;
    thenar_tactile *tactile = MEMORY_ARRAY(thenar_tactile, 1);
    if (!tactile) return error_memory(error, "tactile devices");
    feel_world *world = &tactile->world;
    world->body_count = source->body_count;
    world->skins = source->skins;
    world->touching = options->touching;
    world->leaving = options->touching + options->hysteresis;
    world->slots = MEMORY_ARRAY(feel_slot *, source->body_count);
    world->pads = MEMORY_ARRAY(feel_pad, options->device_count);
    tactile->devices = MEMORY_ARRAY(tactile_worn, options->device_count);
    tactile->motions = MEMORY_ARRAY(feel_motion, source->body_count);
    tactile->hand_count = source->hand_count;
    tactile->joints = MEMORY_ARRAY(double, 7 * HAND_JOINTS * (size_t)source->hand_count);
    if (!world->slots || !world->pads || !tactile->devices || !tactile->motions || !tactile->joints)
        status = error_memory(error, "tactile devices");
    for (int i = 0; i < options->device_count && status == THENAR_OK; i++) {
        /* All structs of the caller have the size of the first. */
        thenar_tactile_def def = thenar_tactile_def_default();
        const char *given = (const char *)options->devices + (size_t)i * options->devices[0].size;
        status = sized_take(&def, sizeof def, given, "thenar_tactile_def", error);
        if (status == THENAR_OK) status = add_device(tactile, source, options, &def, error);
    }
    if (status == THENAR_OK) status = make_scratch(tactile, error);
    if (status != THENAR_OK) {
        world->skins = NULL; /* still owned by the caller */
        thenar_tactile_free(tactile);
        return status;
    }
    thenar_tactile_reset(tactile);
    *out = tactile;
    return THENAR_OK;
}

void thenar_tactile_free(thenar_tactile *tactile) {
    if (!tactile) return;
    feel_world *world = &tactile->world;
    for (int i = 0; world->pads && i < world->pad_count; i++) {
        pad_free(&world->pads[i].model);
        free(world->pads[i].normal);
        free(world->pads[i].target);
        free(world->pads[i].weight);
    }
    for (int b = 0; world->slots && b < world->body_count; b++) free(world->slots[b]);
    for (int i = 0; tactile->devices && i < tactile->device_count; i++) {
        free((void *)tactile->devices[i].def.name);
        free((void *)tactile->devices[i].def.hand);
    }
    free(world->pads);
    free(world->slots);
    free((void *)world->skins);
    free(tactile->devices);
    free(tactile->motions);
    free(tactile->joints);
    free(tactile->points_memory);
    thenar_model_free((thenar_model *)tactile->model);
    free(tactile);
}

int thenar_tactile_device_count(const thenar_tactile *tactile) {
    USAGE_POINTER(tactile, 0);
    return tactile->device_count;
}

const thenar_tactile_def *thenar_tactile_device(const thenar_tactile *tactile, int device) {
    USAGE_POINTER(tactile, NULL);
    USAGE_INDEX(device, tactile->device_count, NULL);
    return &tactile->devices[device].def;
}

int thenar_tactile_device_pad(const thenar_tactile *tactile, int device) {
    USAGE_POINTER(tactile, -1);
    USAGE_INDEX(device, tactile->device_count, -1);
    return tactile->devices[device].pad;
}

const thenar_tactile_command *thenar_tactile_command_of(const thenar_tactile *tactile, int device) {
    USAGE_POINTER(tactile, NULL);
    USAGE_INDEX(device, tactile->device_count, NULL);
    return &tactile->devices[device].command;
}

int thenar_tactile_pad_count(const thenar_tactile *tactile) {
    USAGE_POINTER(tactile, 0);
    return tactile->world.pad_count;
}

const thenar_tactile_pad *thenar_tactile_pad_of(const thenar_tactile *tactile, int pad) {
    USAGE_POINTER(tactile, NULL);
    USAGE_INDEX(pad, tactile->world.pad_count, NULL);
    return &tactile->world.pads[pad].reported;
}

const thenar_tactile_point *thenar_tactile_points(const thenar_tactile *tactile, int pad) {
    USAGE_POINTER(tactile, NULL);
    USAGE_INDEX(pad, tactile->world.pad_count, NULL);
    return tactile->world.pads[pad].model.points;
}

/* The pads of a simulation: its bodies, bones and contacts after a step. */

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
    USAGE_STATUS(out, error, "the pointer to the result is NULL");
    *out = NULL;
    USAGE_STATUS(model, error, "the model is NULL");
    thenar_tactile_options all = thenar_tactile_options_default();
    thenar_status status = options ? sized_take(&all, sizeof all, options, "thenar_tactile_options", error) : THENAR_OK;
    if (status != THENAR_OK) return status;
    if (!all.devices) {
        all.devices = model->tactile;
        all.device_count = model->tactile_count;
    }
    pad_skin *skins = MEMORY_ARRAY(pad_skin, model->body_count);
    const char **names = MEMORY_ARRAY(const char *, model->hand_count);
    pad_place *places = MEMORY_ARRAY(pad_place, HAND_FINGERS * model->hand_count);
    status = skins && names && places ? THENAR_OK : error_memory(error, "tactile devices");
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

thenar_status thenar_tactile_update(thenar_tactile *tactile, const thenar_sim *sim) {
    USAGE_POINTER(tactile, THENAR_ERROR_USAGE);
    USAGE_POINTER(sim, THENAR_ERROR_USAGE);
    USAGE(thenar_model_body_count(thenar_sim_model(sim)) == tactile->world.body_count &&
              thenar_model_hand_count(thenar_sim_model(sim)) == tactile->hand_count,
          THENAR_ERROR_USAGE, "a simulation of another model; expected the same bodies and hands");
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
        double pose[7], twist[6];
        thenar_sim_pose(sim, b, pose);
        thenar_sim_twist(sim, b, twist);
        *motion = (feel_motion){.centre = vec3_load(pose), .velocity = vec3_load(twist), .spin = vec3_load(twist + 3)};
    }
    for (int h = 0; h < tactile->hand_count; h++)
        thenar_sim_hand_joints(sim, h, tactile->joints + 7 * HAND_JOINTS * (size_t)h);
    feel_input input = {.contacts = thenar_sim_contacts(sim),
                        .contact_count = thenar_sim_contact_count(sim),
                        .bodies = tactile->motions,
                        .joints = tactile->joints};
    tactile_update(tactile, &input, time, dt);
    return THENAR_OK;
}
