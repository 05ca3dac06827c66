/* Typed reads. Each finds the node (ask, item_field) and hands it to the one function that knows the type. */
#include "scene/config.h"

#include "core/error.h"
#include "core/memory.h"
#include "core/text.h"

#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A value that is to be read: of a key in a map or an item of a list. */
typedef struct field {
    config_reader *reader;
    const config_node *node; /* NULL: there is none, reading it does nothing */
    const char *key;         /* what messages call it, or NULL */
    const char *path;        /* if key is NULL: it is item `index` of the list with this path */
    size_t index;
} field;

typedef struct label {
    char text[CONFIG_PATH_SIZE];
} label;

static label field_label(const field *f) {
    label made;
    if (f->key)
        snprintf(made.text, sizeof made.text, "%s", config_quote(f->key).text);
    else
        snprintf(made.text, sizeof made.text, "%.220s[%zu]", f->path, f->index);
    return made;
}

/* Each of the functions that report an error returns false, for the read that failed to return. */
static bool fail_at(config_reader *reader, const config_node *node, int line, int column, const char *format,
                    va_list arguments) {
    if (reader->status != THENAR_OK) return false;
    char text[sizeof reader->error->text];
    vsnprintf(text, sizeof text, format, arguments);
    reader->status = error_at(reader->error, node->file, line, column, "%s", text);
    return false;
}

static bool fail(config_reader *reader, const config_node *node, const char *format, ...) THENAR_PRINTF(3, 4);
static bool fail(config_reader *reader, const config_node *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_at(reader, node, node->line, node->column, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_at_key(config_reader *reader, const config_node *node, const char *format, ...) THENAR_PRINTF(3, 4);
static bool fail_at_key(config_reader *reader, const config_node *node, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fail_at(reader, node, node->key_line, node->key_column, format, arguments);
    va_end(arguments);
    return false;
}

static bool fail_kind(const field *f, const char *expected) {
    const config_node *node = f->node;
    label name = field_label(f);
    config_node unquoted = *node;
    unquoted.plain = true;
    double number;
    if (node->kind != CONFIG_SCALAR || config_is_null(node))
        return fail(f->reader, node, "%s: expected %s, found %s", name.text, expected, config_kind_name(node));
    return fail(f->reader, node, "%s: expected %s, found %s '%s'%s", name.text, expected, config_kind_name(node),
                config_quote(node->text).text,
                !node->plain && config_to_number(&unquoted, &number) ? " in quotes" : "");
}

/* "value is X; expected a number > 0 (Pa)" */
static bool fail_range(const field *f, const char *noun, config_range range) {
    text_locale saved = text_locale_begin();
    char low[48] = "", high[48] = "";
    bool both = isfinite(range.low) && isfinite(range.high);
    bool between = both && !range.above_low && !range.below_high;
    if (isfinite(range.low))
        snprintf(low, sizeof low, " %s %.10g", between ? "between" : range.above_low ? ">" : ">=", range.low);
    if (isfinite(range.high))
        snprintf(high, sizeof high, "%s %s%.10g", both ? " and" : "",
                 between            ? ""
                 : range.below_high ? "< "
                                    : "<= ",
                 range.high);
    text_locale_end(saved);
    bool unit = range.unit && *range.unit;
    return fail(f->reader, f->node, "%s is %s; expected %s%s%s%s%s%s", field_label(f).text,
                config_quote(f->node->text).text, noun, low, high, unit ? " (" : "", unit ? range.unit : "",
                unit ? ")" : "");
}

static bool read_number(const field *f, config_range range, double *value) {
    double number;
    if (!f->node) return false;
    if (!config_to_number(f->node, &number)) return fail_kind(f, "a number");
    if (isinf(number) && !range.infinite) return fail_range(f, "a finite number", range);
    bool low = range.above_low ? number > range.low : number >= range.low;
    bool high = range.below_high ? number < range.high : number <= range.high;
    if (!low || !high) return fail_range(f, "a number", range); /* a NaN too */
    *value = number;
    return true;
}

static bool read_integer(const field *f, long low, long high, int *value) {
    assert(low >= INT_MIN && high <= INT_MAX);
    long integer;
    double number;
    if (!f->node) return false;
    config_range range = {.low = low > INT_MIN ? (double)low : -INFINITY,
                          .high = high < INT_MAX ? (double)high : INFINITY};
    if (!config_to_integer(f->node, &integer)) {
        if (config_to_number(f->node, &number)) return fail_range(f, "an integer", range);
        return fail_kind(f, "an integer");
    }
    if (integer < low || integer > high) return fail_range(f, "an integer", range);
    *value = (int)integer;
    return true;
}

static bool read_text(const field *f, const char **value) {
    if (!f->node) return false;
    if (f->node->kind != CONFIG_SCALAR || config_is_null(f->node)) return fail_kind(f, "text");
    *value = f->node->text;
    return true;
}

static bool read_numbers(const field *f, config_range range, size_t count, double *values) {
    if (!f->node) return false;
    char expected[48];
    snprintf(expected, sizeof expected, "a sequence of %zu numbers", count);
    if (f->node->kind != CONFIG_SEQUENCE) return fail_kind(f, expected);
    label name = field_label(f);
    if (f->node->count != count)
        return fail(f->reader, f->node, "%s has %zu items; expected %s", name.text, f->node->count, expected);
    double number;
    field item = {.reader = f->reader, .path = name.text, .node = f->node->first};
    /* All are checked before the first is stored. */
    for (; item.node; item.node = item.node->next, item.index++)
        if (!read_number(&item, range, &number)) return false;
    size_t stored = 0;
    for (const config_node *node = f->node->first; node; node = node->next) config_to_number(node, &values[stored++]);
    return true;
}

static bool read_vec3(const field *f, config_range range, vec3 *value) {
    double xyz[3];
    if (!read_numbers(f, range, 3, xyz)) return false;
    *value = vec3_load(xyz);
    return true;
}

/* Asking for a key makes it known. */
static field ask(config_map *map, const char *key, config_need need) {
    field f = {.reader = map->reader, .key = key};
    if (!map->node || map->reader->status != THENAR_OK) return f;
    bool known = false;
    for (size_t i = 0; i < map->known_count && !known; i++) known = strcmp(map->known[i], key) == 0;
    if (!known) {
        assert(map->known_count < CONFIG_KNOWN_LIMIT);
        map->known[map->known_count++] = key;
    }
    f.node = config_find(map->node, key);
    if (f.node && config_is_null(f.node)) f.node = NULL;
    if (!f.node && need == CONFIG_REQUIRED && !map->missing) map->missing = key;
    return f;
}

static field item_field(const config_list *list) {
    field f = {.reader = list->reader, .key = list->key, .path = list->path, .index = list->index};
    f.node = list->reader->status == THENAR_OK ? list->item : NULL;
    return f;
}

static bool open_map(const field *f, const char *path, bool is_root, config_map *map) {
    *map = (config_map){.reader = f->reader, .is_root = is_root};
    snprintf(map->path, sizeof map->path, "%s", path);
    if (!f->node || f->reader->status != THENAR_OK) return false;
    if (f->node->kind != CONFIG_MAPPING) return fail_kind(f, "a mapping");
    map->node = f->node;
    map->key = f->node->key;
    return true;
}

void config_open(config_reader *reader, const config_node *node, const char *name, config_map *map) {
    field f = {.reader = reader, .node = node, .key = name};
    open_map(&f, name, true, map);
}

/* "bodies.beam" and "material" to "bodies.beam.material". */
static label child_path(const config_map *map, const char *key) {
    label path;
    if (map->is_root)
        snprintf(path.text, sizeof path.text, "%s", key);
    else
        snprintf(path.text, sizeof path.text, "%.190s.%s", map->path, config_quote(key).text);
    return path;
}

bool config_child(config_map *map, const char *key, config_need need, config_map *child) {
    field f = ask(map, key, need);
    return open_map(&f, child_path(map, key).text, false, child);
}

static bool open_list(const field *f, const char *path, config_kind kind, config_list *list) {
    *list = (config_list){.reader = f->reader};
    snprintf(list->path, sizeof list->path, "%s", path);
    if (!f->node) return false;
    if (f->node->kind != kind) return fail_kind(f, kind == CONFIG_MAPPING ? "a mapping" : "a sequence");
    list->node = f->node;
    for (const config_node *item = f->node->first; item; item = item->next)
        list->count += kind == CONFIG_SEQUENCE || !config_is_null(item);
    return true;
}

bool config_sequence(config_map *map, const char *key, config_need need, config_list *list) {
    field f = ask(map, key, need);
    return open_list(&f, child_path(map, key).text, CONFIG_SEQUENCE, list);
}

bool config_entries(config_map *map, const char *key, config_need need, config_list *list) {
    field f = ask(map, key, need);
    return open_list(&f, child_path(map, key).text, CONFIG_MAPPING, list);
}

static bool report_unknown(config_map *map, const config_node *child) {
    const char *closest = text_closest(child->key, map->known, map->known_count);
    char known[512];
    config_join(map->known, map->known_count, known, sizeof known);
    return fail_at_key(map->reader, child, "unknown key '%s' in %s;%s%s%s (known: %s)", config_quote(child->key).text,
                       map->path, closest ? " did you mean '" : " expected a known key", closest ? closest : "",
                       closest ? "'?" : "", known);
}

void config_close(config_map *map) {
    if (!map->node || map->reader->status != THENAR_OK) return;
    for (const config_node *child = map->node->first; child; child = child->next) {
        bool known = false;
        for (size_t i = 0; i < map->known_count && !known; i++) known = strcmp(map->known[i], child->key) == 0;
        if (!known) {
            report_unknown(map, child);
            return;
        }
    }
    if (map->missing) fail(map->reader, map->node, "%s has no key '%s'; it is required", map->path, map->missing);
}

bool config_number(config_map *map, const char *key, config_need need, config_range range, double *value) {
    field f = ask(map, key, need);
    return read_number(&f, range, value);
}

bool config_integer(config_map *map, const char *key, config_need need, long low, long high, int *value) {
    field f = ask(map, key, need);
    return read_integer(&f, low, high, value);
}

bool config_bool(config_map *map, const char *key, config_need need, bool *value) {
    field f = ask(map, key, need);
    if (!f.node) return false;
    return config_to_bool(f.node, value) || fail_kind(&f, "true or false");
}

bool config_text(config_map *map, const char *key, config_need need, const char **value) {
    field f = ask(map, key, need);
    return read_text(&f, value);
}

static bool read_choice(const field *f, const char *name, const char *const *names, size_t count, int *value) {
    const char *text = NULL;
    if (!read_text(f, &text)) return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) != 0) continue;
        *value = (int)i;
        return true;
    }
    const char *closest = text_closest(text, names, count);
    char known[512];
    config_join(names, count, known, sizeof known);
    return fail(f->reader, f->node, "%s is '%s';%s%s%s (known: %s)", name, config_quote(text).text,
                closest ? " did you mean '" : " expected a known name", closest ? closest : "", closest ? "'?" : "",
                known);
}

bool config_choice(config_map *map, const char *key, config_need need, const char *const *names, size_t count,
                   int *value) {
    field f = ask(map, key, need);
    return read_choice(&f, key, names, count, value);
}

bool config_file(config_map *map, const char *key, config_need need, char **value) {
    field f = ask(map, key, need);
    const char *text = NULL;
    if (!read_text(&f, &text)) return false;
    if (*text == 0) return fail(f.reader, f.node, "%s is empty; expected a file name", key);
    char *path = config_resolve(f.node->line > 0 ? f.node->file : NULL, text);
    if (path)
        *value = path;
    else
        f.reader->status = error_memory(f.reader->error, key);
    return path != NULL;
}

bool config_numbers(config_map *map, const char *key, config_need need, config_range range, size_t count,
                    double *values) {
    field f = ask(map, key, need);
    return read_numbers(&f, range, count, values);
}

bool config_vec3(config_map *map, const char *key, config_need need, config_range range, vec3 *value) {
    field f = ask(map, key, need);
    return read_vec3(&f, range, value);
}

bool config_quat(config_map *map, const char *key, config_need need, quat *value) {
    field f = ask(map, key, need);
    double xyzw[4];
    if (!read_numbers(&f, config_any(""), 4, xyzw)) return false;
    /* Scaled by the largest first, so that the squares neither overflow nor vanish. */
    double largest = fmax(fmax(fabs(xyzw[0]), fabs(xyzw[1])), fmax(fabs(xyzw[2]), fabs(xyzw[3])));
    if (largest == 0) return fail(f.reader, f.node, "%s is all zeros; expected a rotation as [x, y, z, w]", key);
    *value = quat_unit((quat){xyzw[0] / largest, xyzw[1] / largest, xyzw[2] / largest, xyzw[3] / largest});
    return true;
}

const config_node *config_peek(config_map *map, const char *key) {
    return ask(map, key, CONFIG_OPTIONAL).node;
}

bool config_has(config_map *map, const char *key) {
    return config_peek(map, key) != NULL;
}

bool config_next(config_list *list) {
    if (!list->node || list->reader->status != THENAR_OK) return false;
    if (list->item) list->index++;
    list->item = list->item ? list->item->next : list->node->first;
    while (list->item && list->node->kind == CONFIG_MAPPING && config_is_null(list->item))
        list->item = list->item->next;
    if (!list->item) {
        list->node = NULL;
        return false;
    }
    list->key = list->item->key;
    return true;
}

bool config_item_map(config_list *list, config_map *map) {
    field f = item_field(list);
    label path;
    if (list->key)
        snprintf(path.text, sizeof path.text, "%.190s.%s", list->path, config_quote(list->key).text);
    else
        path = field_label(&f);
    return open_map(&f, path.text, false, map);
}

bool config_item_integer(config_list *list, long low, long high, int *value) {
    field f = item_field(list);
    return read_integer(&f, low, high, value);
}

bool config_item_choice(config_list *list, const char *const *names, size_t count, int *value) {
    field f = item_field(list);
    return read_choice(&f, field_label(&f).text, names, count, value);
}

bool config_item_vec3(config_list *list, config_range range, vec3 *value) {
    field f = item_field(list);
    return read_vec3(&f, range, value);
}

bool config_item_sequence(config_list *list, config_list *inner) {
    field f = item_field(list);
    return open_list(&f, field_label(&f).text, CONFIG_SEQUENCE, inner);
}

void config_fail(config_map *map, const char *key, const char *format, ...) {
    const config_node nowhere = {.file = map->path};
    const config_node *node = key && map->node ? config_find(map->node, key) : map->node;
    if (!node) node = map->node ? map->node : &nowhere;
    va_list arguments;
    va_start(arguments, format);
    fail_at(map->reader, node, node->line, node->column, format, arguments);
    va_end(arguments);
}

void config_adopt(config_map *map, const char *key, thenar_status status, const char *message) {
    if (status == THENAR_OK || map->reader->status != THENAR_OK) return;
    config_fail(map, key, "%s", message);
    map->reader->status = status;
    if (map->reader->error) map->reader->error->status = status;
}

void config_out_of_memory(config_map *map) {
    config_adopt(map, NULL, THENAR_ERROR_MEMORY, "out of memory");
}

void config_item_fail(config_list *list, const char *format, ...) {
    const config_node nowhere = {.file = list->path};
    const config_node *node = list->item ? list->item : &nowhere;
    va_list arguments;
    va_start(arguments, format);
    fail_at(list->reader, node, node->line, node->column, format, arguments);
    va_end(arguments);
}

/* --set PATH=VALUE: find the place in the tree, parse the value, put it there. */

/* A walk along a path from the root of the tree. */
typedef struct walk {
    const char *place; /* "--set PATH", for messages */
    const char *path;
    const char *at;    /* what is left of the path */
    char *name;        /* the step that the walk is at: a key or the digits of an index */
    int behind;        /* characters of the path before that step */
    int depth;         /* of the node that the step leads to */
    config_node *node; /* what the step is looked up in */
    thenar_error *error;
} walk;

#define walk_error(w, ...) error_at((w)->error, (w)->place, 0, 0, __VA_ARGS__)

/* Reads the next step of the path into name. */
static thenar_status read_step(walk *w) {
    const char *at = w->at;
    bool bracket = *at == '[';
    if (bracket) at++;
    size_t length = strcspn(at, bracket ? "]" : ".[");
    memcpy(w->name, at, length);
    w->name[length] = 0;
    at += length;
    bool good = length > 0 && (!bracket || *at == ']');
    if (good && bracket) at++;
    if (good && *at == '.')
        good = *++at != 0 && *at != '[';
    else if (good)
        good = *at == 0 || *at == '[';
    if (!good)
        return walk_error(w, "cannot read the path; expected keys with dots between and [i] for items, as "
                             "bodies.beam.position[2]");
    if (strcmp(w->name, "<<") == 0) /* as in a file: it could not be printed and read again */
        return walk_error(w, "merge key '<<' is not supported; expected the keys themselves");
    w->behind = (int)(w->at - w->path);
    w->at = at;
    if (++w->depth > CONFIG_DEPTH_LIMIT)
        return walk_error(w, "too many keys; expected at most %d levels", CONFIG_DEPTH_LIMIT);
    return THENAR_OK;
}

/* "bodies.beam" for messages about what the step was looked up in. */
static config_quoted where(const walk *w) {
    if (w->behind == 0) return config_quote("the top level");
    char text[80];
    int length = w->path[w->behind - 1] == '.' ? w->behind - 1 : w->behind;
    snprintf(text, sizeof text, "%.*s", length, w->path);
    return config_quote(text);
}

static thenar_status no_such_key(const walk *w) {
    const char *candidates[CONFIG_CANDIDATES];
    size_t count = config_candidates(w->node, candidates);
    const char *closest = text_closest(w->name, candidates, count);
    config_quoted name = config_quote(w->name);
    if (closest)
        return walk_error(w, "no key '%s' in %s; did you mean '%s'?", name.text, where(w).text,
                          config_quote(closest).text);
    char known[512];
    config_join(candidates, count, known, sizeof known);
    return walk_error(w, "no key '%s' in %s; expected one of: %s", name.text, where(w).text, known);
}

/* What the step leads to: *child is NULL if a mapping does not have the key. */
static thenar_status look_up(const walk *w, config_node **child) {
    *child = NULL;
    if (w->node->kind == CONFIG_MAPPING) {
        *child = config_find(w->node, w->name);
        return THENAR_OK;
    }
    if (w->node->kind == CONFIG_SCALAR)
        return walk_error(w, "%s is %s; expected a mapping or a sequence that '%s' can be in", where(w).text,
                          config_kind_name(w->node), config_quote(w->name).text);
    if (w->node->count == 0) return walk_error(w, "%s is an empty sequence; expected one with items", where(w).text);
    long index;
    if (!text_to_long(w->name, 0, (long)w->node->count - 1, &index))
        return walk_error(w, "no item '%s' in %s; expected 0 to %zu", config_quote(w->name).text, where(w).text,
                          w->node->count - 1);
    *child = w->node->first;
    while (index-- > 0) *child = (*child)->next;
    return THENAR_OK;
}

/* Follows the path up to its last step; *child is what that leads to, or NULL. */
static thenar_status walk_to_last(walk *w, config_node **child) {
    for (;;) {
        thenar_status status = read_step(w);
        if (status == THENAR_OK) status = look_up(w, child);
        if (status != THENAR_OK || *w->at == 0) return status;
        if (!*child) return no_such_key(w);
        w->node = *child;
    }
}

static thenar_status put(config *tree, walk *w, config_node *child, config_node *value) {
    if (child && w->node->kind == CONFIG_MAPPING && config_is_null(value)) {
        config_remove(tree, w->node, child);
    } else if (child) {
        config_replace(child, value);
    } else {
        value->key = pool_string(&tree->memory, w->name, strlen(w->name));
        if (!value->key) return error_memory(w->error, w->place);
        config_append(tree, w->node, value);
    }
    return THENAR_OK;
}

static thenar_status set_value(config *tree, walk *w, const char *value_text) {
    if (*value_text == 0)
        return walk_error(w, "no value after '='; expected YAML, as 5, ~ to take the key away, or '' for no text");
    config_node *child, *value;
    thenar_status status = walk_to_last(w, &child);
    if (status == THENAR_OK)
        status =
            config_parse_document(tree, value_text, strlen(value_text), w->place, false, w->depth, &value, w->error);
    return status == THENAR_OK ? put(tree, w, child, value) : status;
}

thenar_status config_set(config *tree, const char *assignment, thenar_error *error) {
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        return error_set(error, THENAR_ERROR_INPUT, "--set %s: expected PATH=VALUE, as bodies.beam.material.young=2e6",
                         config_quote(assignment).text);
    if (strlen(equals) > CONFIG_BYTE_LIMIT)
        return error_set(error, THENAR_ERROR_INPUT, "--set: the value is too long; expected at most %zu bytes",
                         CONFIG_BYTE_LIMIT);
    size_t length = (size_t)(equals - assignment);
    char *place = pool_take(&tree->memory, sizeof "--set " + length);
    char *path = memory_array(length + 1, 1);
    char *name = memory_array(length + 1, 1);
    thenar_status status;
    if (place && path && name) {
        memcpy(path, assignment, length);
        snprintf(place, sizeof "--set " + length, "--set %s", path);
        walk w = {
            .place = place, .path = path, .at = path, .name = name, .depth = 1, .node = tree->root, .error = error};
        status = set_value(tree, &w, equals + 1);
    } else {
        status = error_memory(error, "--set");
    }
    free(path);
    free(name);
    return status;
}
