/* Gives the physics the readers of hands and tracks (hand/hand.h). */
#include "hand/hand.h"
#include "io/hand_gltf.h"

__attribute__((constructor)) static void set_hand_files(void) {
    hand_files = (hand_file_readers){.shape = hand_gltf_load, .track = track_read};
}
