#include "device/kinds.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const char *device_table_wrong(const thenar_device_table *table) {
    static _Thread_local char text[128];
    if (!table) return "its table is NULL";
    if (table->version != THENAR_DEVICE_VERSION) {
        snprintf(text, sizeof text, "its table has version %u; expected %u", (unsigned)table->version,
                 (unsigned)THENAR_DEVICE_VERSION);
        return text;
    }
    if (table->size < sizeof *table) return "its table is shorter than that of its version";
    if (table->kind != THENAR_DEVICE_HAPTIC && table->kind != THENAR_DEVICE_TACTILE)
        return "it is neither a haptic nor a tactile device";
    if (!table->name) return "its device has no name";
    if (!table->open || !table->read || !table->write || !table->close)
        return "one of open, read, write and close is NULL";
    return NULL;
}

thenar_status plugin_load(const char *path, thenar_device_kind kind, void **library, const thenar_device_table **table,
                          thenar_error *error) {
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library) return error_set(error, THENAR_ERROR_FILE, "%s: cannot load the plugin: %s", path, dlerror());
    /* POSIX lets dlsym give functions; C has no cast for it. */
    void *symbol = dlsym(*library, THENAR_DEVICE_PLUGIN_SYMBOL);
    thenar_device_plugin_function function = NULL;
    memcpy(&function, &symbol, sizeof function);
    const char *wrong = symbol ? NULL : "it does not export " THENAR_DEVICE_PLUGIN_SYMBOL;
    *table = wrong ? NULL : function();
    if (!wrong) wrong = device_table_wrong(*table);
    if (!wrong && (*table)->kind != (uint32_t)kind)
        wrong = kind == THENAR_DEVICE_TACTILE ? "it is a haptic device; expected a tactile one"
                                              : "it is a tactile device; expected a haptic one";
    if (!wrong) return THENAR_OK;
    thenar_status status = error_set(error, THENAR_ERROR_INPUT, "%s: not a device plugin of ours: %s", path, wrong);
    dlclose(*library);
    *library = NULL;
    return status;
}
