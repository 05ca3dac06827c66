#include "app/command.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void warn_of_folder(const char *path) {
    static bool reported; /* folders are looked up more than once */
    if (!reported) fprintf(stderr, "thenar: warning: %s: is not a directory; expected one in THENAR_SCENES\n", path);
    reported = true;
}

/* Adds a folder that is there and not yet among them. */
static void add_folder(const char *path, char folders[SCENE_FOLDERS][SCENE_PATH_SIZE], int *count) {
    char *folder = folders[*count];
    if (!is_directory(path) || !realpath(path, folder)) return;
    for (int i = 0; i < *count; i++)
        if (strcmp(folders[i], folder) == 0) return;
    (*count)++;
}

int scene_folders(char folders[SCENE_FOLDERS][SCENE_PATH_SIZE]) {
    int count = 0;
    const char *chosen = getenv("THENAR_SCENES");
    if (chosen && *chosen) {
        add_folder(chosen, folders, &count);
        if (count == 0) warn_of_folder(chosen);
    }
    char program[SCENE_PATH_SIZE];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return count;
    program[length] = 0;
    *strrchr(program, '/') = 0;
    /* Installed; built in build/; built in build/PRESET/. */
    const char *const beside[] = {"../share/thenar/scenes", "../scenes", "../../scenes"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        char joined[SCENE_PATH_SIZE + 32];
        snprintf(joined, sizeof joined, "%s/%s", program, beside[i]);
        add_folder(joined, folders, &count);
    }
    return count;
}

static int is_scene(const struct dirent *entry) {
    return strcmp(path_extension(entry->d_name), "yaml") == 0;
}

void scene_each(const char *folder, void (*visit)(void *context, const char *name, const char *path), void *context) {
    struct dirent **entries;
    int count = scandir(folder, &entries, is_scene, alphasort);
    for (int i = 0; i < count; i++) {
        char path[SCENE_PATH_SIZE + 300];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        *strrchr(entries[i]->d_name, '.') = 0;
        visit(context, entries[i]->d_name, path);
        free(entries[i]);
    }
    if (count >= 0) free(entries);
}

typedef struct name_list {
    LIST(const char *) names;
} name_list;

static void collect_name(void *context, const char *name, const char *path) {
    (void)path;
    name_list *list = context;
    char *copy = strdup(name);
    if (copy && !LIST_PUSH(&list->names, copy)) free(copy);
}

static thenar_status no_such_scene(const char *scene, thenar_error *error) {
    char folders[SCENE_FOLDERS][SCENE_PATH_SIZE];
    int count = scene_folders(folders);
    name_list list = {0};
    for (int i = 0; i < count; i++) scene_each(folders[i], collect_name, &list);
    const char *closest = closest_name(scene, list.names.data, list.names.count);
    thenar_status status =
        closest ? fail(error, THENAR_ERROR_FILE, "%s: no such scene; did you mean %s?", scene, closest)
                : fail(error, THENAR_ERROR_FILE, "%s: no such scene or file; 'thenar list' shows the scenes", scene);
    for (size_t i = 0; i < list.names.count; i++) free((void *)list.names.data[i]);
    free(list.names.data);
    return status;
}

static thenar_status take_path(const char *scene, char path[SCENE_PATH_SIZE], thenar_error *error) {
    if (strlen(scene) >= SCENE_PATH_SIZE) return fail(error, THENAR_ERROR_FILE, "the path of the scene is too long");
    snprintf(path, SCENE_PATH_SIZE, "%s", scene);
    return THENAR_OK;
}

thenar_status scene_find(const char *scene, char path[SCENE_PATH_SIZE], thenar_error *error) {
    if (!*scene)
        return fail(error, THENAR_ERROR_FILE, "the name of the scene is empty; 'thenar list' shows the scenes");
    if (strchr(scene, '/')) return take_path(scene, path, error);
    char folders[SCENE_FOLDERS][SCENE_PATH_SIZE];
    int count = scene_folders(folders);
    for (int i = 0; i < count; i++) {
        char candidate[SCENE_PATH_SIZE + 300];
        snprintf(candidate, sizeof candidate, "%s/%s.yaml", folders[i], scene);
        if (strlen(candidate) >= SCENE_PATH_SIZE || access(candidate, F_OK) != 0) continue;
        memcpy(path, candidate, strlen(candidate) + 1);
        return THENAR_OK;
    }
    return *path_extension(scene) ? take_path(scene, path, error) : no_such_scene(scene, error);
}

thenar_status scene_open(const char *scene, const option_list *sets, const char *track, thenar_model **model,
                         thenar_scene_info *info, thenar_error *error) {
    char path[SCENE_PATH_SIZE];
    thenar_status status = scene_find(scene, path, error);
    if (status != THENAR_OK) return status;
    thenar_track *frames = NULL;
    if (track) status = thenar_track_load(track, &frames, error);
    if (status != THENAR_OK) return status;
    thenar_scene_options options = thenar_scene_options_default();
    options.sets = sets->values;
    options.set_count = sets->count;
    options.track = frames;
    status = thenar_scene_load(path, &options, model, info, error);
    thenar_track_free(frames);
    for (int i = 0; status == THENAR_OK && i < thenar_model_warning_count(*model); i++)
        fprintf(stderr, "thenar: warning: %s: %s\n", path, thenar_model_warning(*model, i));
    return status;
}
