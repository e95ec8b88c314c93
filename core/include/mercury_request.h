/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests: objects that a callback completes and a function waits for, based
 * on progress and trigger. */
#ifndef MERCURY_REQUEST_H
#define MERCURY_REQUEST_H

#include "mercury_config.h"
#include "mercury_util_config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Several threads may wait on one class at once. A waiting thread makes
 * progress and triggers, and so runs callbacks and handlers of other threads'
 * operations, which may wait in turn. Other threads may also make progress and
 * trigger: a request that they complete is noticed within 20 ms.
 *
 * The names hg_request_* are macros, below: a program may be linked with a
 * library that exports functions of those names as well. */
typedef struct talaria_request_class talaria_request_class_t;
typedef struct talaria_request talaria_request_t;

/* Makes progress for at most timeout milliseconds. Returns 0 if something can
 * be triggered, else another number. */
typedef int (*talaria_request_progress_t)(unsigned int timeout, void *arg);

/* Runs one queued callback, and waits at most timeout milliseconds for it.
 * *flag: 1 if it ran one, else 0. Returns 0, or another number if it ran none.
 */
typedef int (*talaria_request_trigger_t)(
    unsigned int timeout, unsigned int *flag, void *arg);

/* Creates a class of requests. Waiting calls progress and trigger with arg; if
 * both are NULL, arg is a context, and it calls HG_Progress and HG_Trigger. Any
 * thread may call these functions, as far as they allow. Returns the class, to
 * be freed with talaria_request_finalize before arg is destroyed, or NULL: out
 * of memory, or only one of both functions is given. */
HG_PUBLIC talaria_request_class_t *talaria_request_init(
    talaria_request_progress_t progress, talaria_request_trigger_t trigger,
    void *arg);

/* Frees a class after all its requests were destroyed. arg_p: set to the
 * class's arg; may be NULL. */
HG_PUBLIC void talaria_request_finalize(
    talaria_request_class_t *request_class, void **arg_p);

/* Creates a request that is not completed. Returns it, to be freed with
 * talaria_request_destroy, or NULL. [any thread] */
HG_PUBLIC talaria_request_t *talaria_request_create(
    talaria_request_class_t *request_class);

/* Frees a request. No thread may wait for it or complete it later. NULL is
 * allowed. */
HG_PUBLIC void talaria_request_destroy(talaria_request_t *request);

/* Makes a completed request incomplete again, for reuse. */
HG_PUBLIC void talaria_request_reset(talaria_request_t *request);

/* Completes a request, usually in the callback of an operation. Doesn't access
 * the request after a waiting thread may have returned. [any thread] */
HG_PUBLIC void talaria_request_complete(talaria_request_t *request);

/* Waits until a request is completed, for at most timeout milliseconds (0:
 * makes progress once without waiting, and triggers). flag: set to 1 if it is
 * completed, else to 0; may be NULL. Returns 0, or -1 if request is NULL.
 * Blocks, also in the callbacks that it runs. [any thread] */
HG_PUBLIC int talaria_request_wait(
    talaria_request_t *request, unsigned int timeout, unsigned int *flag);

/* Waits until `count` requests are completed, for at most timeout milliseconds
 * in total; otherwise like talaria_request_wait. */
HG_PUBLIC int talaria_request_waitall(int count, talaria_request_t *request[],
    unsigned int timeout, unsigned int *flag);

/* Attaches data to a request. The caller owns the data. */
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
