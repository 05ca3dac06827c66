/* Scenes from text in memory; those from files are in thenar/scene.h. */
#ifndef SCENE_SCENE_H
#define SCENE_SCENE_H

#include "base/error.h"

#include "thenar/model.h"

/* As thenar_scene_load without options; `name` stands for the file in messages and for files that the scene names. */
thenar_status scene_parse(const char *text, size_t size, const char *name, thenar_model **model, thenar_error *error);

#endif
