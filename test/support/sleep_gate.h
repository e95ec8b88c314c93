/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops a thread of the library right before it sleeps in the kernel: for
 * programs that are linked with --wrap for what sleep_gate.c defines. A test can
 * then do something that has to wake the thread, and be sure that the thread did
 * not notice it before it slept. [any thread]
 */
#ifndef SLEEP_GATE_H
#define SLEEP_GATE_H

#include <stdint.h>

/* The next thread that is about to sleep waits for sleep_gate_open. */
void sleep_gate_close(void);

/* Waits until a thread stands at the closed gate; fails the test if none comes
 * in TEST_WAIT_MS. */
void sleep_gate_wait(void);

/* Lets the thread go on to sleep. */
void sleep_gate_open(void);

/* From now on the clock of the calling thread goes on by 0.1 ms with each reading
 * of it, so that it soon has spun for long enough, and hook is called at the
 * nth reading, once. nth 0: its clock is as it was. */
void sleep_gate_clock(unsigned nth, void (*hook)(void *arg), void *arg);

/* From now on hook is called right before the calling thread sleeps. NULL: no
 * longer. */
void sleep_gate_hook(void (*hook)(void *arg), void *arg);

/* How often threads have gone to sleep so far. */
uint32_t sleep_gate_passed(void);

#endif /* SLEEP_GATE_H */
