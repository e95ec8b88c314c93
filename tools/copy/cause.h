/* SPDX-License-Identifier: BSD-3-Clause */
/* The cause of a failure as the library logs it, so that a message of this
 * command has it and one mistake gives one line. */
#ifndef COPY_CAUSE_H
#define COPY_CAUSE_H

/* From now on an error of the library's log is held, until copy_cause_take. Does
 * nothing if HG_LOG_LEVEL is set: then the user expects the log as it is. */
void copy_cause_hold(void);

/* Returns the text of the held error, without time and place, valid until the
 * next one; or NULL. It is not logged any more. */
const char *copy_cause_take(void);

/* Logs a held error, and those that follow. */
void copy_cause_release(void);

#endif /* COPY_CAUSE_H */
