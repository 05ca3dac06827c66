#include "io/recording_contacts.h"

#include "io/recording_format.h"

#include <stdint.h>
#include <string.h>

/* The arrays in the order of the file: where their numbers are in a thenar_contact. */
static const struct contact_array {
    size_t offset;
    int components;
    bool is_integer;
} arrays[] = {
    {offsetof(thenar_contact, body), 2, true},      {offsetof(thenar_contact, vertex), 1, true},
    {offsetof(thenar_contact, face), 2, true},      {offsetof(thenar_contact, sticks), 1, true},
    {offsetof(thenar_contact, position), 3, false}, {offsetof(thenar_contact, normal), 3, false},
    {offsetof(thenar_contact, gap), 1, false},      {offsetof(thenar_contact, force), 1, false},
    {offsetof(thenar_contact, friction), 3, false}, {offsetof(thenar_contact, area), 1, false},
};
enum { ARRAY_COUNT = sizeof arrays / sizeof *arrays, WIDTH = 4 };

static size_t array_numbers(int array, int count) {
    return (size_t)arrays[array].components * (size_t)count;
}

void recording_contacts_put(unsigned char *numbers, const thenar_contact *contacts, int count) {
    for (int a = 0; a < ARRAY_COUNT; a++)
        for (int i = 0; i < count; i++)
            for (int k = 0; k < arrays[a].components; k++, numbers += WIDTH) {
                const char *from = (const char *)&contacts[i] + arrays[a].offset;
                if (arrays[a].is_integer) {
                    memcpy(numbers, from + (size_t)k * sizeof(int), WIDTH);
                } else {
                    double number;
                    memcpy(&number, from + (size_t)k * sizeof number, sizeof number);
                    float single = (float)number;
                    memcpy(numbers, &single, WIDTH);
                }
            }
}

/* What a reader may use as an index without looking. The vertices of rigid primitives are points of their own. */
static bool is_sound(const thenar_contact *contact, const thenar_recording_body *bodies, int body_count) {
    for (int k = 0; k < 2; k++)
        if (contact->body[k] < 0 || contact->body[k] >= body_count || contact->face[k] < -1 ||
            contact->face[k] >= bodies[contact->body[k]].triangle_count)
            return false;
    return contact->vertex >= 0 && (contact->sticks == 0 || contact->sticks == 1);
}

bool recording_contacts_get(const unsigned char *numbers, const thenar_recording_body *bodies, int body_count,
                            thenar_contact *contacts, int count) {
    for (int a = 0; a < ARRAY_COUNT; a++)
        for (int i = 0; i < count; i++)
            for (int k = 0; k < arrays[a].components; k++, numbers += WIDTH) {
                char *to = (char *)&contacts[i] + arrays[a].offset;
                if (arrays[a].is_integer) {
                    memcpy(to + (size_t)k * sizeof(int), numbers, WIDTH);
                } else {
                    float single;
                    memcpy(&single, numbers, WIDTH);
                    double number = single;
                    memcpy(to + (size_t)k * sizeof number, &number, sizeof number);
                }
            }
    bool sound = true;
    for (int i = 0; i < count && sound; i++) sound = is_sound(&contacts[i], bodies, body_count);
    return sound;
}

void recording_contacts_split(unsigned char *planes, const unsigned char *numbers, int count) {
    for (int a = 0; a < ARRAY_COUNT; a++) {
        size_t size = array_numbers(a, count) * WIDTH;
        recording_planes_split(planes, numbers, array_numbers(a, count), WIDTH);
        planes += size;
        numbers += size;
    }
}

void recording_contacts_join(unsigned char *numbers, const unsigned char *planes, int count) {
    for (int a = 0; a < ARRAY_COUNT; a++) {
        size_t size = array_numbers(a, count) * WIDTH;
        recording_planes_join(numbers, planes, array_numbers(a, count), WIDTH);
        numbers += size;
        planes += size;
    }
}
