/* How the command lives with the system around it: standard streams, file size limits, interrupts. */
#ifndef APP_PROCESS_H
#define APP_PROCESS_H

/* Call first. A standard stream that the caller closed becomes /dev/null, so that no file that is opened
 * later takes its number and gets messages written into it. A write beyond a file size limit becomes an error
 * like a full disk. */
void process_begin(void);

/* Call last: the exit status to end with, EXIT_INPUT after a message if standard output could not be written.
 */
int process_end(int status);

/* From here on SIGINT, SIGTERM and SIGHUP are only noted, so that the work can stop at a good place. One that
 * the caller has ignored (nohup, a background job of a script) stays ignored. */
void process_watch_interrupts(void);

/* The signal that came since process_watch_interrupts, or 0. */
int process_interrupted(void);

/* Ends the process by a signal that was noted, now that everything is tidied up. A shell shows 128 + its
 * number as the exit status, and a script's loop around the command stops as well, which it would not after a
 * mere exit. */
void process_die_of(int signal_number);

#endif
