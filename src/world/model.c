/* From definitions to a compiled model, in two steps: thenar_build_add_... checks and makes the parts, thenar_build_compile
 * joins them into systems. */
#include "world/model.h"

#include "core/error.h"
#include "core/hash.h"
#include "core/text.h"
#include "mesh/mesh.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void model_keep(const thenar_model *model) {
    /* The count is the only part of a model that changes; it is atomic. */
    atomic_fetch_add(&((thenar_model *)model)->owners, 1);
}

static void free_tactile(thenar_tactile_def *devices, size_t count) {
    for (size_t i = 0; i < count; i++) {
        free((void *)devices[i].name);
        free((void *)devices[i].hand);
        free((void *)devices[i].device);
    }
    free(devices);
}

void thenar_model_free(thenar_model *model) {
    if (!model || atomic_fetch_sub(&model->owners, 1) > 1) return;
    for (int i = 0; i < model->system_count; i++) system_free(&model->systems[i]);
    contact_model_free(&model->contacts);
    for (int i = 0; i < model_mover_count(model); i++) model->bodies[i]->kind->free(model->bodies[i]);
    for (int i = 0; i < model->hand_count; i++) hand_model_free(model->hands[i]);
    for (int i = 0; i < model->warning_count; i++) free(model->warnings[i]);
    free(model->warnings);
    free(model->systems);
    free(model->system_of);
    free(model->first_node_of);
    free(model->bodies);
    free(model->hands);
    free_tactile(model->tactile, (size_t)model->tactile_count);
    if (model->attachment) model->free_attachment(model->attachment);
    free(model->name);
    free(model);
}

const soft_model *model_soft(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count && model->bodies[body]->kind == &soft_class);
    return (const soft_model *)model->bodies[body];
}

const rigid_model *model_rigid(const thenar_model *model, int body) {
    assert(body >= 0 && body < model->body_count && model->bodies[body]->kind == &rigid_class);
    return (const rigid_model *)model->bodies[body];
}

const handle_model *model_handle(const thenar_model *model, int handle) {
    assert(handle >= 0 && handle < model->handle_count);
    return (const handle_model *)model->bodies[model->body_count + handle];
}

const bones_model *model_bones(const thenar_model *model, int bones) {
    assert(bones >= 0 && bones < model->bones_count);
    return (const bones_model *)model->bodies[model->body_count + model->handle_count + bones];
}

/* ---- Adding parts ---- */

struct thenar_build {
    char *name;
    thenar_world_def world;
    ARRAY(body_model *) bodies;
    ARRAY(hand_model *) hands;
    ARRAY(handle_model *) handles;
    ARRAY(thenar_tactile_def) tactile;
};

thenar_status thenar_world_def_init(thenar_world_def *def, size_t size) {
    const thenar_world_def defaults = {.name = "",
                                       .gravity = {0, -9.81, 0},
                                       .dt = 0.01,
                                       .margin = 0.001,
                                       .contact_stiffness = 1e9,
                                       .contact_damping = 1e5};
    return sized_give(def, size, &defaults, sizeof defaults, "thenar_world_def");
}

thenar_build *thenar_build_create(const thenar_world_def *given) {
    thenar_world_def world = thenar_world_def_default();
    if (sized_take(&world, sizeof world, given, "thenar_world_def", NULL) != THENAR_OK) return NULL;
    thenar_build *build = MEMORY_ARRAY(thenar_build, 1);
    char *name = memory_string(world.name ? world.name : "");
    if (!build || !name) {
        error_memory(NULL, "a build");
        free(name);
        free(build);
        return NULL;
    }
    build->world = world;
    build->name = name;
    return build;
}

/* Frees the parts that have not moved to a model. */
static void free_parts(thenar_build *build) {
    for (size_t i = 0; i < build->bodies.count; i++) build->bodies.data[i]->kind->free(build->bodies.data[i]);
    for (size_t i = 0; i < build->hands.count; i++) hand_model_free(build->hands.data[i]);
    for (size_t i = 0; i < build->handles.count; i++) handle_free(&build->handles.data[i]->rigid.base);
    free_tactile(build->tactile.data, build->tactile.count);
    memset(&build->tactile, 0, sizeof build->tactile);
    build->bodies.count = build->hands.count = build->handles.count = 0;
}

void thenar_build_free(thenar_build *build) {
    if (!build) return;
    free_parts(build);
    free(build->bodies.data);
    free(build->hands.data);
    free(build->handles.data);
    free(build->name);
    free(build);
}

static thenar_status check_name(const thenar_build *build, const char *name, thenar_error *error) {
    for (size_t i = 0; name && i < build->bodies.count; i++)
        if (strcmp(build->bodies.data[i]->name, name) == 0)
            return error_set(error, THENAR_ERROR_INPUT, "there are two bodies named %s; expected different names",
                             name);
    return THENAR_OK;
}

static thenar_status check_friction(double friction, thenar_error *error) {
    if (friction >= 0 && friction <= MODEL_FRICTION_LARGEST) return THENAR_OK;
    return error_set(error, THENAR_ERROR_INPUT, "friction is %g; expected 0 to %g", friction, MODEL_FRICTION_LARGEST);
}

static thenar_status add_body(thenar_build *build, body_model *body, bool touches, double friction,
                              thenar_error *error) {
    body->touches = touches;
    body->friction = friction;
    if (ARRAY_PUSH(&build->bodies, body)) return THENAR_OK;
    thenar_status status = error_memory(error, body->name);
    body->kind->free(body);
    return status;
}

thenar_status thenar_build_add_soft(thenar_build *build, const thenar_soft_def *given, thenar_error *error) {
    USAGE_STATUS(build, error, "the build is NULL");
    thenar_soft_def def = thenar_soft_def_default();
    soft_model *body;
    thenar_status status = sized_take(&def, sizeof def, given, "thenar_soft_def", error);
    if (status == THENAR_OK) status = check_name(build, def.name, error);
    if (status == THENAR_OK) status = check_friction(def.friction, error);
    if (status == THENAR_OK) status = soft_model_create(&def, &body, error);
    return status == THENAR_OK ? add_body(build, &body->base, def.touches, def.friction, error) : status;
}

thenar_status thenar_build_add_rigid(thenar_build *build, const thenar_rigid_def *given, thenar_error *error) {
    USAGE_STATUS(build, error, "the build is NULL");
    thenar_rigid_def def = thenar_rigid_def_default();
    rigid_model *body;
    thenar_status status = sized_take(&def, sizeof def, given, "thenar_rigid_def", error);
    if (status == THENAR_OK) status = check_name(build, def.name, error);
    if (status == THENAR_OK) status = check_friction(def.friction, error);
    if (status == THENAR_OK) status = rigid_model_create(&def, &body, error);
    return status == THENAR_OK ? add_body(build, &body->base, def.touches, def.friction, error) : status;
}

thenar_status thenar_build_add_hand(thenar_build *build, const thenar_hand_def *given, thenar_error *error) {
    USAGE_STATUS(build, error, "the build is NULL");
    thenar_hand_def def = thenar_hand_def_default();
    hand_model *hand;
    soft_model **flesh;
    int count;
    thenar_status status = sized_take(&def, sizeof def, given, "thenar_hand_def", error);
    if (status == THENAR_OK) status = check_friction(def.friction, error);
    if (status == THENAR_OK) status = check_name(build, def.name, error);
    if (status == THENAR_OK)
        status = hand_model_create(&def, build->world.bones == THENAR_BONES_COUPLED, &hand, &flesh, &count, error);
    if (status != THENAR_OK) return status;
    for (int k = 0; k < count && status == THENAR_OK; k++) status = check_name(build, flesh[k]->base.name, error);
    /* Reserve memory first: the hand and all of its flesh are added, or nothing. */
    if (status == THENAR_OK && !(ARRAY_RESERVE(&build->hands, build->hands.count + 1) &&
                                 ARRAY_RESERVE(&build->bodies, build->bodies.count + (size_t)count)))
        status = error_memory(error, def.name);
    if (status == THENAR_OK) {
        hand->first_body = (int)build->bodies.count;
        build->hands.data[build->hands.count++] = hand;
    } else {
        hand_model_free(hand);
    }
    for (int k = 0; k < count; k++) {
        body_model *body = &flesh[k]->base;
        if (status == THENAR_OK) {
            body->family = (int)build->hands.count;
            hand->flesh[k].body = hand->first_body + k;
            add_body(build, body, def.touches, def.friction, error);
        } else {
            body->kind->free(body);
        }
    }
    free(flesh);
    return status;
}

/* The hand of that name, or -1. */
static int find_hand(const thenar_build *build, const char *name) {
    for (size_t i = 0; i < build->hands.count; i++)
        if (strcmp(build->hands.data[i]->name, name) == 0) return (int)i;
    return -1;
}

/* The soft body of that name that belongs to no hand, or -1. */
static int find_tool(const thenar_build *build, const char *name) {
    for (size_t i = 0; i < build->bodies.count; i++) {
        const body_model *body = build->bodies.data[i];
        if (body->kind == &soft_class && body->family == 0 && strcmp(body->name, name) == 0) return (int)i;
    }
    return -1;
}

static thenar_status make_handle(thenar_build *build, const thenar_handle_def *def, handle_model **handle,
                                 thenar_error *error) {
    const char *tool = def->tool ? def->tool : "";
    if (def->joint != THENAR_JOINT_NONE) {
        int hand = find_hand(build, tool);
        if (hand >= 0) return handle_model_on_bone(def, build->hands.data[hand], hand, handle, error);
        return error_set(error, THENAR_ERROR_INPUT, "a handle on a bone of %s; expected a hand that was added before",
                         tool);
    }
    int body = find_tool(build, tool);
    if (body >= 0) return handle_model_create(def, (soft_model *)build->bodies.data[body], body, handle, error);
    return error_set(error, THENAR_ERROR_INPUT,
                     "a handle in %s; expected a soft body that was added before, or a bone of a hand", tool);
}

thenar_status thenar_build_add_handle(thenar_build *build, const thenar_handle_def *given, thenar_error *error) {
    USAGE_STATUS(build, error, "the build is NULL");
    thenar_handle_def def = thenar_handle_def_default();
    thenar_status status = sized_take(&def, sizeof def, given, "thenar_handle_def", error);
    if (status != THENAR_OK) return status;
    for (size_t i = 0; def.name && i < build->handles.count; i++) {
        const handle_model *other = build->handles.data[i];
        if (strcmp(other->rigid.base.name, def.name) == 0)
            return error_set(error, THENAR_ERROR_INPUT, "there are two handles named %s; expected different names",
                             def.name);
        if (def.joint >= 0 && def.tool && handle_is_bone(other) && other->hand == find_hand(build, def.tool) &&
            hand_bone_joint(other->bone) == (hand_joint)def.joint)
            return error_set(error, THENAR_ERROR_INPUT, "there are two handles on %s of %s; expected one per bone",
                             thenar_hand_joint_name(def.joint), def.tool);
    }
    /* Reserve memory first: making the handle adds springs to its tool. */
    if (!ARRAY_RESERVE(&build->handles, build->handles.count + 1)) return error_memory(error, "handles");
    handle_model *handle;
    status = make_handle(build, &def, &handle, error);
    if (status == THENAR_OK) build->handles.data[build->handles.count++] = handle;
    return status;
}

thenar_status thenar_build_set_track(thenar_build *build, const thenar_track *frames, thenar_error *error) {
    int taken = 0;
    USAGE_STATUS(build, error, "the build is NULL");
    USAGE_STATUS(frames, error, "the track is NULL");
    if (build->hands.count == 0)
        return error_set(error, THENAR_ERROR_INPUT, "a track for a world without hands; expected a body of kind hand");
    for (size_t i = 0; i < build->hands.count; i++) {
        hand_model *hand = build->hands.data[i];
        if (track_expect(frames, hand->skeleton.left, error) != THENAR_OK) continue;
        hand_model_set_track(hand, frames);
        taken++;
    }
    return taken > 0 ? THENAR_OK : THENAR_ERROR_INPUT; /* track_expect has set the message */
}

/* A device must name a hand that was added before, or there must be one hand only. */
static thenar_status check_hand(const thenar_build *build, const thenar_tactile_def *def, thenar_error *error) {
    if (def->hand ? find_hand(build, def->hand) >= 0 : build->hands.count == 1) return THENAR_OK;
    if (def->hand)
        return error_set(error, THENAR_ERROR_INPUT, "there is no hand '%s'; expected the name of a body of kind hand",
                         def->hand);
    return error_set(error, THENAR_ERROR_INPUT, "a device in a world of %zu hands; expected the name of one",
                     build->hands.count);
}

thenar_status thenar_build_add_tactile(thenar_build *build, const thenar_tactile_def *given, thenar_error *error) {
    USAGE_STATUS(build, error, "the build is NULL");
    thenar_tactile_def def = thenar_tactile_def_default();
    thenar_status status = sized_take(&def, sizeof def, given, "thenar_tactile_def", error);
    if (status != THENAR_OK) return status;
    if (!def.name || !def.name[0] || !text_is_printable(def.name))
        return error_set(error, THENAR_ERROR_INPUT, "a device without a name; expected printable text");
    for (size_t i = 0; i < build->tactile.count; i++)
        if (strcmp(build->tactile.data[i].name, def.name) == 0)
            return error_set(error, THENAR_ERROR_INPUT, "there are two devices named %s; expected different names",
                             def.name);
    thenar_wearable_def device = thenar_wearable_def_default(THENAR_WEARABLE_CABLE), *copy;
    status = check_hand(build, &def, error);
    if (status == THENAR_OK) status = sized_take(&device, sizeof device, def.device, "thenar_wearable_def", error);
    if (status != THENAR_OK) return status;
    def.device = copy = MEMORY_ARRAY(thenar_wearable_def, 1);
    def.name = memory_string(def.name);
    def.hand = memory_string(def.hand ? def.hand : build->hands.data[0]->name);
    if (copy && def.name && def.hand && ARRAY_PUSH(&build->tactile, def)) {
        *copy = device;
        return THENAR_OK;
    }
    free((void *)def.name);
    free((void *)def.hand);
    free(copy);
    return error_memory(error, "a device");
}

/* ---- Compiling ---- */

static thenar_status check_world(const thenar_world_def *world, const char *name, thenar_error *error) {
    if (!(world->dt >= MODEL_DT_SMALLEST && world->dt <= MODEL_DT_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "dt is %g; expected %g to %g s", world->dt, MODEL_DT_SMALLEST,
                         MODEL_DT_LARGEST);
    if (!text_is_printable(name))
        return error_set(error, THENAR_ERROR_INPUT, "the world's name is not plain text; expected printable UTF-8");
    if (!(world->margin > 0 && world->margin <= MODEL_MARGIN_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "margin is %g; expected above 0 to %g m", world->margin,
                         MODEL_MARGIN_LARGEST);
    if (!(world->contact_stiffness > 0 && world->contact_stiffness <= MODEL_CONTACT_STIFFNESS_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "contact stiffness is %g; expected above 0 to %g Pa/m",
                         world->contact_stiffness, MODEL_CONTACT_STIFFNESS_LARGEST);
    if (!(world->contact_damping >= 0 && world->contact_damping <= MODEL_CONTACT_DAMPING_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "contact damping is %g; expected 0 to %g Pa s/m",
                         world->contact_damping, MODEL_CONTACT_DAMPING_LARGEST);
    if ((unsigned)world->contact_method >= CONTACT_METHODS)
        return error_set(error, THENAR_ERROR_INPUT, "contact method is %d; expected a thenar_contact_method",
                         (int)world->contact_method);
    if ((unsigned)world->contact_pressure > THENAR_PRESSURE_UNIFORM)
        return error_set(error, THENAR_ERROR_INPUT, "contact pressure is %d; expected a thenar_contact_pressure",
                         (int)world->contact_pressure);
    if ((unsigned)world->bones >= THENAR_BONES_COUNT)
        return error_set(error, THENAR_ERROR_INPUT, "bones is %d; expected a thenar_bones", (int)world->bones);
    if (!body_within(world->gravity, 3, MODEL_GRAVITY_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "gravity is (%g, %g, %g); expected three numbers up to %g m/s^2",
                         world->gravity[0], world->gravity[1], world->gravity[2], MODEL_GRAVITY_LARGEST);
    return THENAR_OK;
}

/* The bodies of an island, soft ones first: rigid ones are eliminated last, since any point may touch them, then bones,
 * which carry flesh, and after them the handles, so that the part before them is a separate system
 * (solver/coupled.c). */
static thenar_status compile_island(thenar_model *model, const int *island, int number, thenar_error *error) {
    static const body_class *const order[] = {&soft_class, &rigid_class, &bones_class, &handle_class};
    int *members = MEMORY_ARRAY(int, model_mover_count(model)), count = 0;
    if (!members) return error_memory(error, "linear systems");
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < model_mover_count(model); i++)
            if (island[i] == number && model->bodies[i]->kind == order[k]) members[count++] = i;
    thenar_status status =
        system_create(model->bodies, members, count, &model->contacts, &model->systems[model->system_count], error);
    model->system_count += status == THENAR_OK;
    return status;
}

/* Two islands become one; an island has the number of its first body. */
static void join(int *island, int count, int a, int b) {
    int low = a < b ? a : b, high = a < b ? b : a;
    for (int i = 0; i < count; i++)
        if (island[i] == high) island[i] = low;
}

/* Bones are in the system of all flesh that they carry. */
static void join_bones(const thenar_model *model, int *island) {
    int count = model_mover_count(model), first = model->body_count + model->handle_count;
    for (int k = 0; k < model->bones_count; k++) {
        const hand_model *hand = model->hands[model_bones(model, k)->hand];
        island[first + k] = first + k;
        for (int f = 0; f < hand->flesh_count; f++) join(island, count, island[first + k], island[hand->flesh[f].body]);
    }
}

/* Bodies that can move and may touch are one system; so are a handle and its tool, and bones and their flesh. All others
 * are systems of their own. */
static thenar_status compile_systems(thenar_model *model, thenar_error *error) {
    int count = model_mover_count(model);
    model->systems = MEMORY_ARRAY(system_model, count);
    int *island = MEMORY_ARRAY(int, count);
    thenar_status status = model->systems && island ? THENAR_OK : error_memory(error, "linear systems");
    if (status == THENAR_OK) {
        contact_join_islands(&model->contacts, model->bodies, count, island);
        join_bones(model, island);
    }
    for (int i = 0; i < model->handle_count && status == THENAR_OK; i++) {
        const handle_model *handle = model_handle(model, i);
        if (!handle_is_bone(handle)) island[model->body_count + i] = island[handle->body];
    }
    for (int i = 0; i < count && status == THENAR_OK; i++)
        if (island[i] == i) status = compile_island(model, island, i, error);
    free(island);
    model->system_of = MEMORY_ARRAY(int, count);
    model->first_node_of = MEMORY_ARRAY(int, count);
    if (status == THENAR_OK && !(model->system_of && model->first_node_of))
        status = error_memory(error, "linear systems");
    for (int s = 0; s < model->system_count && status == THENAR_OK; s++)
        for (int k = 0; k < model->systems[s].body_count; k++) {
            model->system_of[model->systems[s].bodies[k]] = s;
            model->first_node_of[model->systems[s].bodies[k]] = model->systems[s].first_node[k];
        }
    return status;
}

#define WARNINGS_PER_TRACK 6

static bool add_warning(thenar_model *model, const char *format, ...) THENAR_PRINTF(2, 3);
static bool add_warning(thenar_model *model, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    model->warnings[model->warning_count] = memory_string(text);
    return model->warnings[model->warning_count] && ++model->warning_count;
}

/* False: out of memory. */
static bool warn_of_track(thenar_model *model, const hand_model *hand) {
    const track *t = hand->track;
    const char *name = hand->name;
    bool enough = true;
    if (!t) return true;
    if (t->repeated > 0)
        enough =
            add_warning(model, "track of %s: %ld frames at the time of the one before are left out (first: line %ld)",
                        name, t->repeated, t->repeated_line);
    if (t->decreasing > 0)
        enough &= add_warning(
            model, "track of %s: %ld frames at an earlier time than the one before are left out (first: line %ld)",
            name, t->decreasing, t->decreasing_line);
    if (t->truncated_line > 0)
        enough &=
            add_warning(model, "track of %s: line %ld ends in the middle and is left out", name, t->truncated_line);
    if (t->clamped > 0)
        enough &= add_warning(model, "track of %s: %ld values of its glove are clamped to 0 and 1 (first: line %ld)",
                              name, t->clamped, t->clamped_line);
    if (hand_track_looks_mirrored(hand))
        enough &= add_warning(model, "track of %s: its joints look like those of a %s hand", name,
                              hand->skeleton.left ? "right" : "left");
    if (hand->unfit[0]) enough &= add_warning(model, "track of %s: the hand keeps its own size: %s", name, hand->unfit);
    return enough;
}

static thenar_status collect_warnings(thenar_model *model, thenar_error *error) {
    model->warnings = MEMORY_ARRAY(char *, model->body_count + WARNINGS_PER_TRACK * model->hand_count);
    if (!model->warnings) return error_memory(error, "warnings");
    for (int i = 0; i < model->body_count; i++) {
        const thenar_surface *surface = thenar_model_surface(model, i);
        mesh_note size;
        if (!mesh_size_warning(surface->positions, surface->vertex_count, &size)) continue;
        if (!add_warning(model, "body %s %s", model->bodies[i]->name, size.text))
            return error_memory(error, "warnings");
    }
    for (int i = 0; i < model->hand_count; i++)
        if (!warn_of_track(model, model->hands[i])) return error_memory(error, "warnings");
    return THENAR_OK;
}

#define ADD_TO_HASH(value) (model->hash = hash_bytes(model->hash, &(value), sizeof(value)))

/* The bones of a hand that are coupled with its flesh. */
static thenar_status add_bones(thenar_model *model, int hand, thenar_error *error) {
    bones_model *bones;
    thenar_status status = bones_model_create(model->hands[hand], hand, &bones, error);
    if (status != THENAR_OK) return status;
    int mover = model_mover_count(model);
    model->bodies[mover] = &bones->base;
    model->bones_count++;
    uint64_t hash = bones->base.kind->hash(&bones->base);
    ADD_TO_HASH(hash);
    for (int k = 0; k < model->hands[hand]->flesh_count && status == THENAR_OK; k++) {
        const hand_attachment *flesh = &model->hands[hand]->flesh[k];
        soft_model *soft = (soft_model *)model->bodies[flesh->body];
        soft->carrier_body = mover;
        status = bones_add_springs(bones, k, flesh, soft, error);
    }
    return status;
}

/* Moves bodies, hands, handles and devices from the build to the model, and hashes them. */
static thenar_status take_parts(thenar_build *build, thenar_model *model, thenar_error *error) {
    model->bodies = MEMORY_ARRAY(body_model *, build->bodies.count + build->handles.count + build->hands.count);
    model->hands = MEMORY_ARRAY(hand_model *, build->hands.count);
    if (!model->bodies || !model->hands) return error_memory(error, "model");
    for (size_t i = 0; i < build->bodies.count; i++) {
        const body_model *body = model->bodies[model->body_count++] = build->bodies.data[i];
        uint64_t hash = body->kind->hash(body);
        ADD_TO_HASH(hash);
        ADD_TO_HASH(body->touches);
        ADD_TO_HASH(body->friction);
    }
    for (size_t i = 0; i < build->hands.count; i++) {
        model->hands[model->hand_count++] = build->hands.data[i];
        uint64_t hash = hand_model_hash(build->hands.data[i]);
        ADD_TO_HASH(hash);
    }
    for (size_t i = 0; i < build->handles.count; i++) {
        body_model *handle = &build->handles.data[i]->rigid.base;
        model->bodies[model->body_count + model->handle_count++] = handle;
        uint64_t hash = handle->kind->hash(handle);
        ADD_TO_HASH(hash);
    }
    thenar_status status = THENAR_OK;
    for (int i = 0; i < model->hand_count && status == THENAR_OK; i++)
        if (model->hands[i]->coupled) status = add_bones(model, i, error);
    model->tactile = build->tactile.data;
    model->tactile_count = (int)build->tactile.count;
    memset(&build->tactile, 0, sizeof build->tactile);
    build->bodies.count = build->hands.count = build->handles.count = 0;
    return status;
}

static thenar_status compile(thenar_build *build, thenar_model *model, thenar_error *error) {
    const thenar_world_def *world = &build->world;
    penalty_law law = {world->contact_stiffness, world->contact_damping};
    int pressure = (int)world->contact_pressure;
    model->name = memory_string(build->name);
    if (!model->name) return error_memory(error, "model");
    model->gravity = vec3_load(world->gravity);
    model->dt = world->dt;
    model->contact = (contact_method)world->contact_method;
    model->bones = world->bones;
    ADD_TO_HASH(model->gravity);
    ADD_TO_HASH(world->margin);
    ADD_TO_HASH(law);
    ADD_TO_HASH(pressure);
    thenar_status status = take_parts(build, model, error);
    if (status == THENAR_OK)
        status = contact_model_create(model->bodies, model->body_count, world->margin, law, &model->contacts, error);
    model->contacts.pressure = world->contact_pressure;
    if (status == THENAR_OK) status = compile_systems(model, error);
    if (status == THENAR_OK)
        status = contact_model_assign(&model->contacts, model->bodies, model->body_count, model->system_of, error);
    for (int s = 0; s < model->system_count && status == THENAR_OK; s++)
        model->systems[s].max_contacts = contact_system_capacity(&model->contacts, s, &model->systems[s].couples_soft);
    return status == THENAR_OK ? collect_warnings(model, error) : status;
}

thenar_status thenar_build_compile(thenar_build *build, thenar_model **out, thenar_error *error) {
    USAGE_STATUS(out, error, "the pointer to the model is NULL");
    *out = NULL;
    USAGE_STATUS(build, error, "the build is NULL");
    thenar_status status = check_world(&build->world, build->name, error);
    thenar_model *model = status == THENAR_OK ? MEMORY_ARRAY(thenar_model, 1) : NULL;
    if (status == THENAR_OK && !model) status = error_memory(error, "model");
    if (status == THENAR_OK) {
        atomic_init(&model->owners, 1);
        status = compile(build, model, error);
        if (status == THENAR_OK)
            *out = model;
        else
            thenar_model_free(model);
    }
    free_parts(build);
    return status;
}
