/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress in the turns of an event loop. */
#include "binding.h"

#include <time.h>

#define TRIGGER_MAX 64U    /* callbacks and handlers in one turn */
#define SPIN_MAX_NS 50000U /* what other tasks of the loop may wait for */
#define SPIN_MIN_NS 1000U

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000U + (uint64_t) now.tv_nsec;
}

/* Polls for a short time before the loop sleeps, since a wake-up costs both
 * processes more than a fast answer takes. The time doubles when that
 * succeeds and halves when it does not, so long waits are not polled. */
static hg_return_t
spin(struct class_object *owner, unsigned int *count)
{
    uint64_t end = now_ns() + owner->spin_ns;
    hg_return_t ret;

    do {
        ret = HG_Event_progress(owner->context, count);
        if (ret != HG_SUCCESS)
            return ret;
        if (*count > 0) {
            owner->spin_ns = owner->spin_ns * 2 < SPIN_MAX_NS
                                 ? owner->spin_ns * 2
                                 : SPIN_MAX_NS;
            return HG_SUCCESS;
        }
    } while (now_ns() < end);
    owner->spin_ns = owner->spin_ns / 2 < SPIN_MIN_NS ? 0 : owner->spin_ns / 2;
    return HG_SUCCESS;
}

/* Something arrived after the loop slept: if that was short, polling would have
 * been better. */
static void
woken(struct class_object *owner)
{
    uint64_t slept_ns = now_ns() - owner->slept_ns;

    owner->slept_ns = 0;
    if (slept_ns < SPIN_MAX_NS)
        owner->spin_ns = SPIN_MAX_NS / 2;
}

static hg_return_t
work(struct class_object *owner, bool *more)
{
    unsigned int count = 0;
    hg_return_t ret = HG_Event_progress(owner->context, &count);

    if (ret == HG_SUCCESS && count > 0 && owner->slept_ns != 0)
        woken(owner);
    else if (ret == HG_SUCCESS && count == 0 && owner->spin_ns > 0)
        ret = spin(owner, &count);
    if (ret == HG_SUCCESS && count > 0)
        ret = HG_Event_trigger(owner->context, TRIGGER_MAX, NULL);
    /* After callbacks the loop has something to run. */
    *more = ret == HG_SUCCESS && (count > 0 || HG_Event_ready(owner->context));
    if (!*more)
        owner->slept_ns = now_ns();
    return ret;
}

PyObject *
progress_work(struct class_object *owner)
{
    bool more;
    hg_return_t ret;

    if (class_check(owner) != 0)
        return NULL;
    if (owner->working) {
        PyErr_SetString(PyExc_RuntimeError, "a handler made progress");
        return NULL;
    }
    owner->working = true;
    ret = work(owner, &more);
    owner->working = false;
    return ret == HG_SUCCESS ? PyBool_FromLong(more)
                             : error_set(ret, "the transport failed");
}
