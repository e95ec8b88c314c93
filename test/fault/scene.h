/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a program does from its first call of the library to the last: two
 * classes in one thread, small and large calls, bulk transfers both ways,
 * cancelled calls. Something fails once meanwhile: the step during which that is
 * may fail, with an error, and succeeds when it is done again.
 */
#ifndef SCENE_H
#define SCENE_H

#include <stdbool.h>

struct scene_rule {
    const char *transport;
    bool auto_sm;
    bool (*failed)(void); /* whether something has been made to fail */
};

/* Sets the log up, which allocates. Before what makes things fail. */
void scene_prepare(void);

/* Complains (run.h) of what is not as it should be. */
void scene_run(const struct scene_rule *rule);

#endif /* SCENE_H */
