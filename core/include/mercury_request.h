/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: what a callback completes and a function waits for, on top of
 * progress and trigger. */
#ifndef MERCURY_REQUEST_H
#define MERCURY_REQUEST_H

#include "mercury_config.h"
#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Different threads may wait on one class at once; whoever waits progresses and
 * triggers, and so runs callbacks and handlers of others, which may wait in
 * turn. Other threads may progress and trigger as well: a request that they
 * complete is noticed within 20 ms.
 *
 * The names hg_request_* are macros, below: a program may be linked with a
 * library that exports functions of those names as well. */
typedef struct talaria_request_class talaria_request_class_t;
typedef struct talaria_request talaria_request_t;

/* Progresses for at most timeout ms. Returns 0 when something can be triggered,
 * else another number. */
typedef int (*talaria_request_progress_t)(unsigned int timeout, void *arg);

/* Runs one callback that is due, waiting for it for at most timeout ms; *flag:
 * 1 if it ran one, else 0. Returns 0, or another number: it ran none. */
typedef int (*talaria_request_trigger_t)(
    unsigned int timeout, unsigned int *flag, void *arg);

/* Makes a class of requests that are waited for by progress and trigger, each
 * called with arg; both NULL: by HG_Progress and HG_Trigger of the context that
 * arg is. Any thread may call these functions, as far as they allow. Returns
 * the class for talaria_request_finalize, which comes before the end of arg, or
 * NULL: out of memory, or only one of both. */
HG_PUBLIC talaria_request_class_t *talaria_request_init(
    talaria_request_progress_t progress, talaria_request_trigger_t trigger,
    void *arg);

/* Frees a class, all requests of which have been destroyed. *arg_p, NULL if not
 * wanted: the arg that it was made with. */
HG_PUBLIC void talaria_request_finalize(
    talaria_request_class_t *request_class, void **arg_p);

/* Makes a request, which isn't completed. Returns it for
 * talaria_request_destroy, or NULL. [any thread] */
HG_PUBLIC talaria_request_t *talaria_request_create(
    talaria_request_class_t *request_class);

/* Frees a request that nobody waits for or will complete. NULL does nothing. */
HG_PUBLIC void talaria_request_destroy(talaria_request_t *request);

/* Makes a request that was completed one that isn't, to be used again. */
HG_PUBLIC void talaria_request_reset(talaria_request_t *request);

/* Completes a request, mostly in the callback of what it stands for. Doesn't
 * touch it after who waits may have gone on. [any thread] */
HG_PUBLIC void talaria_request_complete(talaria_request_t *request);

/* Waits until a request is completed, for at most timeout ms (0: progresses once
 * without waiting, and runs what is due). *flag, NULL if not wanted: 1 if it is, else 0. Returns 0, or -1: no
 * request. Blocks, also as long as the callbacks that it runs. [any thread] */
HG_PUBLIC int talaria_request_wait(
    talaria_request_t *request, unsigned int timeout, unsigned int *flag);

/* Waits until `count` requests are completed, for at most timeout ms in all;
 * otherwise as talaria_request_wait. */
HG_PUBLIC int talaria_request_waitall(int count, talaria_request_t *request[],
    unsigned int timeout, unsigned int *flag);

/* Attaches data to a request, which stays the caller's. */
HG_PUBLIC void talaria_request_set_data(talaria_request_t *request, void *data);

/* Returns the data attached to a request, or NULL. */
HG_PUBLIC void *talaria_request_get_data(talaria_request_t *request);

#ifdef __cplusplus
}
#endif

typedef talaria_request_class_t hg_request_class_t;
typedef talaria_request_t hg_request_t;
typedef talaria_request_progress_t hg_request_progress_func_t;
typedef talaria_request_trigger_t hg_request_trigger_func_t;

#define hg_request_init talaria_request_init
#define hg_request_finalize talaria_request_finalize
#define hg_request_create talaria_request_create
#define hg_request_destroy talaria_request_destroy
#define hg_request_reset talaria_request_reset
#define hg_request_complete talaria_request_complete
#define hg_request_wait talaria_request_wait
#define hg_request_waitall talaria_request_waitall
#define hg_request_set_data talaria_request_set_data
#define hg_request_get_data talaria_request_get_data

#endif /* MERCURY_REQUEST_H */
