/* From definitions to a compiled model. */
#include "world/model.h"

#include "base/hash.h"
#include "base/text.h"
#include "shape/mesh_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct thenar_build {
    char *name;
    thenar_world_def world;
    ARRAY(body_model *) bodies;
};

thenar_world_def thenar_world_def_default(void) {
    return (thenar_world_def){.name = "", .gravity = {0, -9.81, 0}, .dt = 0.01};
}

thenar_build *thenar_build_create(const thenar_world_def *world) {
    thenar_build *build = MEMORY_ARRAY(thenar_build, 1);
    if (!build) return NULL;
    build->world = *world;
    build->name = memory_string(world->name ? world->name : "");
    if (!build->name) {
        free(build);
        return NULL;
    }
    return build;
}

static void forget_bodies(thenar_build *build) {
    for (size_t i = 0; i < build->bodies.count; i++) build->bodies.data[i]->kind->free(build->bodies.data[i]);
    build->bodies.count = 0;
}

void thenar_build_free(thenar_build *build) {
    if (!build) return;
    forget_bodies(build);
    free(build->bodies.data);
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

static thenar_status add_body(thenar_build *build, body_model *body, thenar_error *error) {
    if (ARRAY_PUSH(&build->bodies, body)) return THENAR_OK;
    thenar_status status = error_memory(error, body->name);
    body->kind->free(body);
    return status;
}

thenar_status thenar_build_add_soft(thenar_build *build, const thenar_soft_def *def, thenar_error *error) {
    soft_model *body;
    thenar_status status = check_name(build, def->name, error);
    if (status == THENAR_OK) status = soft_model_create(def, &body, error);
    return status == THENAR_OK ? add_body(build, &body->base, error) : status;
}

thenar_status thenar_build_add_rigid(thenar_build *build, const thenar_rigid_def *def, thenar_error *error) {
    rigid_model *body;
    thenar_status status = check_name(build, def->name, error);
    if (status == THENAR_OK) status = rigid_model_create(def, &body, error);
    return status == THENAR_OK ? add_body(build, &body->base, error) : status;
}

static thenar_status check_world(const thenar_world_def *world, const char *name, thenar_error *error) {
    if (!(world->dt >= MODEL_DT_SMALLEST && world->dt <= MODEL_DT_LARGEST))
        return error_set(error, THENAR_ERROR_INPUT, "dt is %g; expected %g to %g s", world->dt, MODEL_DT_SMALLEST,
                         MODEL_DT_LARGEST);
    if (!text_is_printable(name))
        return error_set(error, THENAR_ERROR_INPUT, "the world's name is not plain text; expected printable UTF-8");
    if (!vec3_is_finite(vec3_load(world->gravity)))
        return error_set(error, THENAR_ERROR_INPUT, "gravity is not finite; expected three numbers, m/s^2");
    return THENAR_OK;
}

/* Bodies move independently as long as nothing couples them: a system each. */
static thenar_status compile_systems(thenar_model *model, thenar_error *error) {
    model->systems = MEMORY_ARRAY(system_model, model->body_count);
    if (!model->systems) return error_memory(error, "linear systems");
    for (int i = 0; i < model->body_count; i++) {
        int *members = MEMORY_ARRAY(int, 1);
        if (!members) return error_memory(error, "linear systems");
        members[0] = i;
        thenar_status status = system_create(model->bodies, members, 1, &model->systems[i], error);
        if (status != THENAR_OK) return status;
        model->system_count++;
    }
    return THENAR_OK;
}

static bool add_warning(thenar_model *model, const char *text) {
    model->warnings[model->warning_count] = memory_string(text);
    return model->warnings[model->warning_count] && ++model->warning_count;
}

static thenar_status collect_warnings(thenar_model *model, thenar_error *error) {
    model->warnings = MEMORY_ARRAY(char *, model->body_count);
    if (!model->warnings) return error_memory(error, "warnings");
    for (int i = 0; i < model->body_count; i++) {
        const thenar_surface *surface = thenar_model_surface(model, i);
        mesh_note size;
        char text[512];
        if (!mesh_size_warning(surface->positions, surface->vertex_count, &size)) continue;
        snprintf(text, sizeof text, "body %s %s", thenar_model_body_name(model, i), size.text);
        if (!add_warning(model, text)) return error_memory(error, "warnings");
    }
    return THENAR_OK;
}

static thenar_status compile(thenar_build *build, thenar_model *model, thenar_error *error) {
    model->name = memory_string(build->name);
    model->bodies = MEMORY_ARRAY(body_model *, build->bodies.count);
    if (!model->name || !model->bodies) return error_memory(error, "model");
    model->gravity = vec3_load(build->world.gravity);
    model->dt = build->world.dt;
    model->hash = hash_bytes(0, &model->gravity, sizeof model->gravity);
    for (size_t i = 0; i < build->bodies.count; i++) {
        model->bodies[model->body_count++] = build->bodies.data[i];
        uint64_t hash = build->bodies.data[i]->kind->hash(build->bodies.data[i]);
        model->hash = hash_bytes(model->hash, &hash, sizeof hash);
    }
    build->bodies.count = 0;
    thenar_status status = compile_systems(model, error);
    return status == THENAR_OK ? collect_warnings(model, error) : status;
}

thenar_status thenar_build_compile(thenar_build *build, thenar_model **out, thenar_error *error) {
    *out = NULL;
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
    forget_bodies(build);
    return status;
}
