/* The viewer's page, built from web/ and put into the program. */
#ifndef APP_PAGE_H
#define APP_PAGE_H

#include <stddef.h>

/* HTML with two places to put something: <!--thenar:head--> and <!--thenar:data-->. Not terminated. */
extern const char page_html[];
extern const char page_html_end[];

/* Its Content-Security-Policy but for the last value, what it may connect to: "...; connect-src ". Not terminated. */
extern const char page_policy[];
extern const char page_policy_end[];

#define PAGE_HEAD_PLACE "<!--thenar:head-->"
#define PAGE_DATA_PLACE "<!--thenar:data-->"

#endif
