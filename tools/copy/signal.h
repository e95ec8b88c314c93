/* SPDX-License-Identifier: BSD-3-Clause */
/* SIGINT and SIGTERM as a wish to end, which loops ask for. */
#ifndef COPY_SIGNAL_H
#define COPY_SIGNAL_H

#include <stdbool.h>

/* From now on the two signals are only noted. The second one of them ends the
 * program as usual. SIGXFSZ is ignored. To be called once more when a transport
 * is open: there are libraries that take the two for themselves. */
void copy_signal_catch(void);

/* Says whether one has come. */
bool copy_signal_came(void);

#endif /* COPY_SIGNAL_H */
