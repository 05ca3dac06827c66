/* One YAML document to the nodes of a config tree, from libyaml's events. */
#include "scene/config.h"

#include "core/memory.h"
#include "core/text.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

typedef struct anchor {
    const char *name;
    const config_node *node;
    bool open; /* its value is still being read; an alias to it would be endless */
} anchor;

typedef struct parser {
    config *tree;
    yaml_parser_t yaml;
    const char *text; /* what is parsed */
    size_t size;
    const char *file;
    bool placed; /* false: leave out lines and columns */
    ARRAY(anchor) anchors;
    thenar_error *error;
} parser;

static int line_of(const parser *p, yaml_mark_t mark) {
    return p->placed ? (int)mark.line + 1 : 0;
}

static int column_of(const parser *p, yaml_mark_t mark) {
    return p->placed ? (int)mark.column + 1 : 0;
}

#define error_at_mark(p, mark, ...)                                                                                    \
    error_at((p)->error, (p)->file, line_of((p), (mark)), column_of((p), (mark)), __VA_ARGS__)

static bool is_continuation(char byte) {
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* The line and column, counted in characters from 0 as libyaml does, of a byte. */
static yaml_mark_t mark_of_offset(const parser *p, size_t offset) {
    yaml_mark_t mark = {0};
    for (size_t i = 0; i < offset && i < p->size; i++) {
        if (p->text[i] == '\n') {
            mark.line++;
            mark.column = 0;
        } else if (!is_continuation(p->text[i])) {
            mark.column++;
        }
    }
    return mark;
}

/* The byte at a line and column, or 0 beyond the end. */
static char byte_at_mark(const parser *p, yaml_mark_t mark) {
    size_t at = 0;
    for (size_t line = 0; line < mark.line; line++) {
        const char *end = memchr(p->text + at, '\n', p->size - at);
        if (!end) return 0;
        at = (size_t)(end - p->text) + 1;
    }
    for (size_t column = 0; at < p->size; at++) {
        if (is_continuation(p->text[at])) continue;
        if (column++ == mark.column) return p->text[at];
    }
    return 0;
}

static thenar_status syntax_error(const parser *p) {
    const yaml_parser_t *yaml = &p->yaml;
    if (yaml->error == YAML_MEMORY_ERROR) return error_memory(p->error, p->file);
    if (yaml->error == YAML_READER_ERROR)
        return error_at_mark(p, mark_of_offset(p, yaml->problem_offset), "%s; expected UTF-8 text", yaml->problem);
    yaml_mark_t mark = yaml->problem_mark;
    if (byte_at_mark(p, mark) == '\t')
        return error_at_mark(p, mark, "%s: a tab; expected spaces for indentation", yaml->problem);
    if (!yaml->context) return error_at_mark(p, mark, "%s", yaml->problem);
    if (!p->placed || yaml->context_mark.line == mark.line)
        return error_at_mark(p, mark, "%s %s", yaml->problem, yaml->context);
    return error_at_mark(p, mark, "%s %s that starts on line %d", yaml->problem, yaml->context,
                         line_of(p, yaml->context_mark));
}

static thenar_status next_event(parser *p, yaml_event_t *event) {
    return yaml_parser_parse(&p->yaml, event) ? THENAR_OK : syntax_error(p);
}

static thenar_status check_tag(const parser *p, const yaml_event_t *event, const yaml_char_t *tag) {
    if (!tag) return THENAR_OK;
    return error_at_mark(p, event->start_mark, "tag '%s' is not supported; expected a value without a tag",
                         config_quote((const char *)tag).text);
}

/* Stores the node under the event's anchor, if it has one; *index is then its position, else unchanged. */
static thenar_status note_anchor(parser *p, const yaml_event_t *event, const yaml_char_t *name, const config_node *node,
                                 size_t *index) {
    if (!name) return THENAR_OK;
    if (p->anchors.count >= CONFIG_ANCHOR_LIMIT)
        return error_at_mark(p, event->start_mark, "too many anchors; expected at most %d", CONFIG_ANCHOR_LIMIT);
    const char *copy = pool_string(&p->tree->memory, (const char *)name, strlen((const char *)name));
    if (!copy || !ARRAY_PUSH(&p->anchors, (anchor){.name = copy, .node = node, .open = node->kind != CONFIG_SCALAR}))
        return error_memory(p->error, p->file);
    *index = p->anchors.count - 1;
    return THENAR_OK;
}

static thenar_status parse_alias(parser *p, const yaml_event_t *event, int depth, config_node **out) {
    const char *name = (const char *)event->data.alias.anchor;
    yaml_mark_t mark = event->start_mark;
    /* The newest first: a later anchor replaces one of the same name. */
    for (size_t i = p->anchors.count; i-- > 0;) {
        const anchor *a = &p->anchors.data[i];
        if (strcmp(a->name, name) != 0) continue;
        if (a->open)
            return error_at_mark(p, mark, "alias '*%s' is inside the value that it stands for",
                                 config_quote(name).text);
        return config_copy(p->tree, a->node, depth, line_of(p, mark), column_of(p, mark), out, p->error);
    }
    return error_at_mark(p, mark, "alias '*%s' has no anchor '&%s' before it", config_quote(name).text,
                         config_quote(name).text);
}

/* The text of a scalar event, copied into the tree. */
static thenar_status take_text(parser *p, const yaml_event_t *event, const char **out) {
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (memchr(text, 0, length)) return error_at_mark(p, event->start_mark, "text contains a zero character");
    *out = pool_string(&p->tree->memory, text, length);
    return *out ? THENAR_OK : error_memory(p->error, p->file);
}

static thenar_status make_node(parser *p, const yaml_event_t *event, config_kind kind, config_node **out) {
    yaml_mark_t mark = event->start_mark;
    return config_make(p->tree, kind, p->file, line_of(p, mark), column_of(p, mark), out, p->error);
}

static thenar_status parse_scalar(parser *p, const yaml_event_t *event, config_node **out) {
    thenar_status status = check_tag(p, event, event->data.scalar.tag);
    if (status == THENAR_OK) status = make_node(p, event, CONFIG_SCALAR, out);
    if (status != THENAR_OK) return status;
    (*out)->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    status = take_text(p, event, &(*out)->text);
    size_t index;
    if (status == THENAR_OK) status = note_anchor(p, event, event->data.scalar.anchor, *out, &index);
    return status;
}

typedef struct map_key {
    const char *text;
    int line, column;
} map_key;

static thenar_status parse_key(parser *p, const yaml_event_t *event, const config_node *mapping, map_key *out) {
    yaml_mark_t mark = event->start_mark;
    if (event->type != YAML_SCALAR_EVENT)
        return error_at_mark(p, mark, "this key is not text; expected a name as the key");
    thenar_status status = check_tag(p, event, event->data.scalar.tag);
    if (status == THENAR_OK && event->data.scalar.anchor)
        status = error_at_mark(p, mark, "a key has an anchor; expected anchors on values only");
    if (status == THENAR_OK) status = take_text(p, event, &out->text);
    if (status != THENAR_OK) return status;
    out->line = line_of(p, mark);
    out->column = column_of(p, mark);
    if (!*out->text) return error_at_mark(p, mark, "this key is empty; expected a name as the key");
    if (strcmp(out->text, "<<") == 0)
        return error_at_mark(p, mark, "merge key '<<' is not supported; write the keys out or use include");
    const config_node *earlier = config_find(mapping, out->text);
    if (!earlier) return THENAR_OK;
    if (!p->placed) return error_at_mark(p, mark, "key '%s' is given twice", config_quote(out->text).text);
    return error_at_mark(p, mark, "key '%s' is already on line %d; expected each key once",
                         config_quote(out->text).text, earlier->key_line);
}

static thenar_status parse_node(parser *p, const yaml_event_t *event, int depth, config_node **out);

/* Reads the item or value that the event begins; in a mapping the event is that of the key. */
static thenar_status parse_child(parser *p, const yaml_event_t *event, int depth, config_node *parent) {
    config_node *child = NULL;
    if (parent->kind == CONFIG_SEQUENCE) {
        thenar_status status = parse_node(p, event, depth, &child);
        if (status == THENAR_OK) config_append(p->tree, parent, child);
        return status;
    }
    map_key key;
    thenar_status status = parse_key(p, event, parent, &key);
    if (status != THENAR_OK) return status;
    yaml_event_t value;
    status = next_event(p, &value);
    if (status != THENAR_OK) return status;
    status = parse_node(p, &value, depth, &child);
    yaml_event_delete(&value);
    if (status != THENAR_OK) return status;
    child->key = key.text;
    child->key_line = key.line;
    child->key_column = key.column;
    config_append(p->tree, parent, child);
    return THENAR_OK;
}

static thenar_status parse_collection(parser *p, const yaml_event_t *event, int depth, config_node **out) {
    bool sequence = event->type == YAML_SEQUENCE_START_EVENT;
    const yaml_char_t *tag = sequence ? event->data.sequence_start.tag : event->data.mapping_start.tag;
    const yaml_char_t *name = sequence ? event->data.sequence_start.anchor : event->data.mapping_start.anchor;
    size_t anchor_index = SIZE_MAX;
    thenar_status status = check_tag(p, event, tag);
    if (status == THENAR_OK) status = make_node(p, event, sequence ? CONFIG_SEQUENCE : CONFIG_MAPPING, out);
    if (status == THENAR_OK) status = note_anchor(p, event, name, *out, &anchor_index);
    while (status == THENAR_OK) {
        yaml_event_t child;
        status = next_event(p, &child);
        if (status != THENAR_OK) return status;
        bool end = child.type == YAML_SEQUENCE_END_EVENT || child.type == YAML_MAPPING_END_EVENT;
        if (!end) status = parse_child(p, &child, depth + 1, *out);
        yaml_event_delete(&child);
        if (end) break;
    }
    if (anchor_index != SIZE_MAX) p->anchors.data[anchor_index].open = false;
    return status;
}

static thenar_status parse_node(parser *p, const yaml_event_t *event, int depth, config_node **out) {
    if (depth > CONFIG_DEPTH_LIMIT)
        return error_at_mark(p, event->start_mark, "nested too deeply; expected at most %d levels", CONFIG_DEPTH_LIMIT);
    if (event->type == YAML_ALIAS_EVENT) return parse_alias(p, event, depth, out);
    if (event->type == YAML_SCALAR_EVENT) return parse_scalar(p, event, out);
    return parse_collection(p, event, depth, out);
}

/* Reads one event of the stream and the node that begins there, if any. *done: the stream has ended. */
static thenar_status parse_step(parser *p, int depth, config_node **root, bool *done) {
    yaml_event_t event;
    thenar_status status = next_event(p, &event);
    if (status != THENAR_OK) return status;
    switch (event.type) {
    case YAML_STREAM_START_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    case YAML_DOCUMENT_START_EVENT:
        if (*root)
            status =
                error_at_mark(p, event.start_mark, "a second document starts here; expected one document per file");
        break;
    case YAML_STREAM_END_EVENT:
        *done = true;
        if (!*root) status = error_at_mark(p, event.start_mark, "nothing but blanks and comments; expected YAML");
        break;
    default:
        status = parse_node(p, &event, depth, root);
    }
    yaml_event_delete(&event);
    return status;
}

static thenar_status check_directives(const parser *p) {
    int count = 0;
    for (const char *at = p->text, *end = p->text + p->size; at < end;) {
        if (*at == '%' && ++count > CONFIG_DIRECTIVE_LIMIT)
            return error_at_mark(p, mark_of_offset(p, (size_t)(at - p->text)),
                                 "too many lines that begin with %%; expected at most %d", CONFIG_DIRECTIVE_LIMIT);
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const char *other = memchr(at, '\r', (size_t)((line ? line : end) - at));
        at = other ? other + 1 : line ? line + 1 : end;
    }
    return THENAR_OK;
}

thenar_status config_parse_document(config *tree, const char *text, size_t size, const char *file, bool placed,
                                    int depth, config_node **out, thenar_error *error) {
    *out = NULL;
    parser p = {.tree = tree, .text = text, .size = size, .file = file, .placed = placed, .error = error};
    if (!yaml_parser_initialize(&p.yaml)) {
        yaml_parser_delete(&p.yaml);
        return error_memory(error, file);
    }
    /* The encoding is given, not detected: only UTF-8 is supported, UTF-16 is an error. */
    yaml_parser_set_encoding(&p.yaml, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&p.yaml, (const unsigned char *)text, size);
    config_node *root = NULL;
    thenar_status status = check_directives(&p);
    for (bool done = false; status == THENAR_OK && !done;) status = parse_step(&p, depth, &root, &done);
    yaml_parser_delete(&p.yaml);
    free(p.anchors.data);
    if (status == THENAR_OK) *out = root;
    return status;
}

static bool is_one_of(const config_node *node, const char *a, const char *b, const char *c) {
    return strcmp(node->text, a) == 0 || strcmp(node->text, b) == 0 || strcmp(node->text, c) == 0;
}

static bool is_plain(const config_node *node) {
    return node->kind == CONFIG_SCALAR && node->plain;
}

bool config_is_null(const config_node *node) {
    return is_plain(node) && (is_one_of(node, "", "~", "null") || is_one_of(node, "Null", "NULL", "~"));
}

bool config_to_number(const config_node *node, double *value) {
    if (!is_plain(node)) return false;
    const char *sign_skipped = node->text + (*node->text == '-' || *node->text == '+');
    if (strcmp(sign_skipped, ".inf") == 0) {
        *value = *node->text == '-' ? -INFINITY : INFINITY;
        return true;
    }
    if (is_one_of(node, ".nan", ".NaN", ".NAN")) {
        *value = NAN;
        return true;
    }
    double number;
    /* Checking the characters excludes what strtod accepts and YAML does not: inf, nan, infinity. */
    if (node->text[strspn(node->text, "0123456789+-.eE")] != 0 || !text_to_double(node->text, &number)) return false;
    if (!isfinite(number)) return false;
    *value = number;
    return true;
}

bool config_to_integer(const config_node *node, long *value) {
    return is_plain(node) && text_to_long(node->text, LONG_MIN, LONG_MAX, value);
}

bool config_to_bool(const config_node *node, bool *value) {
    if (!is_plain(node)) return false;
    bool is_true = is_one_of(node, "true", "True", "TRUE");
    if (!is_true && !is_one_of(node, "false", "False", "FALSE")) return false;
    *value = is_true;
    return true;
}

const char *config_kind_name(const config_node *node) {
    double number;
    bool truth;
    if (node->kind == CONFIG_MAPPING) return "a mapping";
    if (node->kind == CONFIG_SEQUENCE) return "a sequence";
    if (config_is_null(node)) return "null";
    if (config_to_number(node, &number)) return "a number";
    if (config_to_bool(node, &truth)) return "a truth value";
    return "text";
}

/* Writes a tree as YAML with libyaml's emitter, which knows when text needs quotes. */

typedef struct printer {
    yaml_emitter_t yaml;
    FILE *out;
} printer;

/* The emitter's output; a failed write is reported when the file is closed. */
static int write_bytes(void *context, unsigned char *bytes, size_t size) {
    fwrite(bytes, 1, size, ((printer *)context)->out);
    return 1;
}

/* Consumes the event, also on an error. made: the result of initializing it. */
static bool emit(printer *p, int made, yaml_event_t *event) {
    return made && yaml_emitter_emit(&p->yaml, event);
}

static bool print_scalar(printer *p, const char *text, bool plain) {
    yaml_event_t event;
    int made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text, (int)strlen(text), plain, 1,
                                            plain ? YAML_PLAIN_SCALAR_STYLE : YAML_SINGLE_QUOTED_SCALAR_STYLE);
    return emit(p, made, &event);
}

/* Short lists of numbers are written on one line. */
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
