/* assert, for internal invariants only: what a caller can do wrong is checked with core/usage.h. A failure goes to
 * the handler that the program has set (thenar_set_assert_handler). */
#ifndef CORE_ASSERT_H
#define CORE_ASSERT_H

#include "thenar/status.h"

#include <assert.h>

#undef assert
#define assert(condition) ((condition) ? (void)0 : thenar_assert_failed(#condition, __FILE__, __LINE__))

#endif
