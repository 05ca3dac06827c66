#include "scene/scene_keys.h"

#include "base/memory.h"

thenar_key *scene_keys_read(config_map *map, int *count) {
    *count = 0;
    config_list list;
    if (!config_sequence(map, "keys", CONFIG_OPTIONAL, &list)) return NULL;
    thenar_key *keys = MEMORY_ARRAY(thenar_key, list.count);
    if (!keys) {
        config_out_of_memory(map);
        return NULL;
    }
    while (config_next(&list)) {
        config_map key;
        vec3 move = {0}, turn = {0};
        thenar_key *to = &keys[(*count)++];
        config_item_map(&list, &key);
        config_number(&key, "time", CONFIG_REQUIRED, config_not_negative("s"), &to->time);
        config_vec3(&key, "move", CONFIG_OPTIONAL, config_any("m"), &move);
        config_vec3(&key, "turn", CONFIG_OPTIONAL, config_any("rad"), &turn);
        config_close(&key);
        vec3_store(to->move, move);
        vec3_store(to->turn, turn);
    }
    return keys;
}
