#include "app/page.h"

/* The assembler takes the files in as they are; cmake/viewer.cmake says where they are. */
#define INCLUDE_FILE(name, path)                                                                                       \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".global " name "\n.global " name "_end\n.balign 16\n" name ":\n.incbin \"" path "\"\n" name               \
            "_end:\n.byte 0\n.popsection\n")

INCLUDE_FILE("page_html", PAGE_FILE);
INCLUDE_FILE("page_policy", POLICY_FILE);
