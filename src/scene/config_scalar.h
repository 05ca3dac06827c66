/* What a scalar without quotes means: a number, a truth value, null, or just text. With quotes it is always
 * text.
 *
 * Numbers are decimal: 2e6, .5, 1., +1, -0.25. Octal, hexadecimal, sexagesimal and 1_000 are YAML 1.1's, read
 * by few and misread by most; here they are text. .inf, -.inf and .nan are numbers, to be refused by who does
 * not want them; a number too large for a double is not one. */
#ifndef SCENE_CONFIG_SCALAR_H
#define SCENE_CONFIG_SCALAR_H

#include "scene/config.h"

bool config_to_number(const config_node *node, double *value);

/* A decimal integer without point or exponent that a long holds. */
bool config_to_integer(const config_node *node, long *value);

/* true or false, in lower case, capitalized or in upper case. */
bool config_to_bool(const config_node *node, bool *value);

#endif
