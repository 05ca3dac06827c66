/* The messages of the Haply Inverse service, as far as they are read and written here (docs/haptic-devices.md). */
#ifndef THENAR_DEVICE_INVERSE_H
#define THENAR_DEVICE_INVERSE_H

#include "thenar/device.h"

#include <stdbool.h>

#define INVERSE_ID 64

/* Reads a message of the service: where its first device is, how its first grip is turned, and the device's name. False
 * if there is no position in it. */
bool inverse_read(const char *text, size_t length, thenar_device_sample *sample, char id[INVERSE_ID]);

/* Writes the order to push with a force (N, in the device's axes); its length, or 0 if there is no room. */
size_t inverse_write(const char *id, const double force[3], char *text, size_t size);

#endif
