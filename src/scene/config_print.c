/* A tree back to YAML, through libyaml's emitter: it knows when text needs quotes. */
#include "scene/config.h"

#include "scene/config_tree.h"

#include <string.h>
#include <yaml.h>

typedef struct printer {
    yaml_emitter_t yaml;
    FILE *out;
} printer;

/* The emitter's output; a failed write is seen by who closes the file. */
static int write_bytes(void *context, unsigned char *bytes, size_t size) {
    fwrite(bytes, 1, size, ((printer *)context)->out);
    return 1;
}

/* Takes the event, whatever comes of it. made: what making it returned. */
static bool emit(printer *p, int made, yaml_event_t *event) {
    return made && yaml_emitter_emit(&p->yaml, event);
}

static bool print_scalar(printer *p, const char *text, bool plain) {
    yaml_event_t event;
    int made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text), plain, 1,
                                            plain ? YAML_PLAIN_SCALAR_STYLE : YAML_SINGLE_QUOTED_SCALAR_STYLE);
    return emit(p, made, &event);
}

/* A short row of numbers reads best on one line. */
static bool is_row(const config_node *node) {
    if (node->kind == CONFIG_MAPPING || node->count > 16) return false;
    for (const config_node *item = node->first; item; item = item->next)
        if (item->kind != CONFIG_SCALAR) return false;
    return true;
}

static bool print_node(printer *p, const config_node *node) {
    yaml_event_t event;
    if (config_is_null(node)) return print_scalar(p, "null", true);
    if (node->kind == CONFIG_SCALAR) return print_scalar(p, node->text, node->plain);
    bool mapping = node->kind == CONFIG_MAPPING;
    int made = mapping
                   ? yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE)
                   : yaml_sequence_start_event_initialize(
                         &event, NULL, NULL, 1, is_row(node) ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    bool good = emit(p, made, &event);
    for (const config_node *child = node->first; child && good; child = child->next) {
        if (mapping) good = print_scalar(p, child->key, true);
        good = good && print_node(p, child);
    }
    if (!good) return false;
    made = mapping ? yaml_mapping_end_event_initialize(&event) : yaml_sequence_end_event_initialize(&event);
    return emit(p, made, &event);
}

static bool print_document(printer *p, const config_node *node) {
    yaml_event_t event;
    if (!emit(p, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING), &event)) return false;
    if (!emit(p, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1), &event)) return false;
    if (!print_node(p, node)) return false;
    if (!emit(p, yaml_document_end_event_initialize(&event, 1), &event)) return false;
    return emit(p, yaml_stream_end_event_initialize(&event), &event);
}

thenar_status config_print(const config_node *node, FILE *out, thenar_error *error) {
    printer p = {.out = out};
    bool good = yaml_emitter_initialize(&p.yaml);
    if (good) {
        yaml_emitter_set_output(&p.yaml, write_bytes, &p);
        yaml_emitter_set_unicode(&p.yaml, 1);
        yaml_emitter_set_width(&p.yaml, -1);
        good = print_document(&p, node);
    }
    yaml_emitter_delete(&p.yaml);
    return good ? THENAR_OK : error_memory(error, "printing the configuration");
}
