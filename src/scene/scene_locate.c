/* Scenes by name: "grip-strong" is grip-strong.yaml in $THENAR_SCENES, in the installed data folder or in the source tree. */
#include "scene/scene.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool try_path(const char *folder, const char *name, char path[SCENE_MAX_PATH]) {
    int length = snprintf(path, SCENE_MAX_PATH, "%s/%s.yaml", folder, name);
    return length > 0 && length < SCENE_MAX_PATH && access(path, R_OK) == 0;
}

/* The folder of a file, symbolic links resolved. */
static bool folder_of(const char *file, char folder[SCENE_MAX_PATH]) {
    char *whole = realpath(file, NULL);
    bool fits = whole && strlen(whole) < SCENE_MAX_PATH;
    if (fits) {
        strcpy(folder, whole);
        *strrchr(folder, '/') = 0;
    }
    free(whole);
    return fits;
}

const char *scene_locate(const char *name, char path[SCENE_MAX_PATH]) {
    if (!*name || strchr(name, '/') || access(name, F_OK) == 0) return name;
    const char *chosen = getenv("THENAR_SCENES");
    if (chosen && *chosen && try_path(chosen, name, path)) return path;
    Dl_info info;
    /* Beside the library; of a program that has the library inside it, beside the program. */
    const char *files[] = {dladdr((void *)scene_locate, &info) ? info.dli_fname : "", "/proc/self/exe"};
    /* Installed library; installed program; build tree. */
    const char *const folders[] = {SCENES_FROM_LIBRARY, "../share/thenar/scenes", "../scenes", "../../scenes"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char own[SCENE_MAX_PATH], joined[2 * SCENE_MAX_PATH];
        if (!strchr(files[i], '/') || !folder_of(files[i], own)) continue;
        for (size_t k = 0; k < sizeof folders / sizeof *folders; k++) {
            snprintf(joined, sizeof joined, "%s/%s", own, folders[k]);
            if (try_path(joined, name, path)) return path;
        }
    }
    return name;
}
