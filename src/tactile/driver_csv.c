/* A table of all commands in a file. */
#include "tactile/driver.h"

#include "base/memory.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct csv_driver {
    driver base;
    FILE *file;
} csv_driver;

static bool csv_is_connected(const driver *self) {
    return !ferror(((const csv_driver *)self)->file);
}

/* A table that has lost rows, on a disk that was full, stays lost. */
static bool csv_connect(driver *self) {
    return csv_is_connected(self);
}

static bool csv_send(driver *self, int device, const driver_command *command) {
    FILE *file = ((csv_driver *)self)->file;
    const thenar_tactile_def *def = thenar_tactile_device(self->tactile, device);
    text_locale before = text_locale_begin();
    fprintf(file, "%.9g,%s,%.9g,%.9g,%.9g,%.9g,%d", command->time, def->name, command->pose[0], command->pose[1],
            command->pose[2], command->press, command->touching);
    int values = thenar_wearable_value_count(&def->device);
    for (int i = 0; i < THENAR_WEARABLE_VALUES; i++)
        if (i < values)
            fprintf(file, ",%.9g", command->value[i]);
        else
            fputc(',', file);
    fputc('\n', file);
    text_locale_end(before);
    return !ferror(file);
}

static void csv_free(driver *self) {
    fclose(((csv_driver *)self)->file);
    free(self);
}

static thenar_status csv_create(const char *rest, const thenar_tactile *tactile, driver **out, thenar_error *error) {
    csv_driver *csv = MEMORY_ARRAY(csv_driver, 1);
    if (!csv) return error_memory(error, rest);
    csv->base = (driver){&driver_csv, tactile};
    csv->file = fopen(rest, "w");
    if (!csv->file) {
        free(csv);
        return error_errno(error, rest, "write");
    }
    fputs("time,device,pitch,roll,displacement,press,touching,value_1,value_2,value_3\n", csv->file);
    *out = &csv->base;
    return THENAR_OK;
}

const driver_class driver_csv = {.name = "csv",
                                 .rate = 1000,
                                 .all = true,
                                 .create = csv_create,
                                 .connect = csv_connect,
                                 .send = csv_send,
                                 .is_connected = csv_is_connected,
                                 .free = csv_free};
