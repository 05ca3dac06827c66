/* A headless Chromium, controlled over a pair of pipes with the DevTools protocol: loads one page, runs scripts in it, takes
 * pictures. */
#ifndef APP_CHROMIUM_H
#define APP_CHROMIUM_H

#include "thenar/status.h"

typedef struct chromium chromium;

/* Starts $THENAR_BROWSER, or the first of chromium, chromium-browser and google-chrome on the PATH, and loads a file.
 * folder: an empty folder for the files of the browser. */
thenar_status chromium_open(const char *folder, const char *page, int width, int height, chromium **out,
                            thenar_error *error);

/* Runs a script and waits until its promise is settled. */
thenar_status chromium_run(chromium *browser, const char *script, thenar_error *error);

/* Waits until an expression is true. */
thenar_status chromium_wait(chromium *browser, const char *expression, thenar_error *error);

/* A picture of the page as PNG in a file. */
thenar_status chromium_picture(chromium *browser, const char *path, thenar_error *error);

/* Ends the browser; NULL is fine. */
void chromium_close(chromium *browser);

#endif
