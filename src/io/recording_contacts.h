/* Contacts as a frame of a recording holds them: ten arrays of 4-byte numbers, one behind the other, each with as many
 * elements as there are contacts. docs/recording-format.md has the list. */
#ifndef IO_RECORDING_CONTACTS_H
#define IO_RECORDING_CONTACTS_H

#include "thenar/recording.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    RECORDING_CONTACT_SIZE = 72,      /* bytes of all arrays a contact */
    RECORDING_CONTACTS_MAX = 1 << 24, /* a frame, at most */
};

/* To numbers in single precision, contact_count * RECORDING_CONTACT_SIZE bytes. */
void recording_contacts_put(unsigned char *numbers, const thenar_contact *contacts, int count);

/* Back again; false if one names a body or a triangle that is not there. */
bool recording_contacts_get(const unsigned char *numbers, const thenar_recording_body *bodies, int body_count,
                            thenar_contact *contacts, int count);

/* Byte planes, each array with its own. */
void recording_contacts_split(unsigned char *planes, const unsigned char *numbers, int count);
void recording_contacts_join(unsigned char *numbers, const unsigned char *planes, int count);

#endif
