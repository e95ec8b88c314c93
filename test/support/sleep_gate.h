/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Stops a thread of the library right before it sleeps in the kernel, in
 * programs linked with --wrap for what sleep_gate.c defines. A test can then
 * cause a wake-up that the thread cannot have noticed before sleeping. [any
 * thread]
 */
#ifndef SLEEP_GATE_H
#define SLEEP_GATE_H

#include <stdint.h>

/* The next thread that is about to sleep waits for sleep_gate_open. */
void sleep_gate_close(void);

/* Waits until a thread has arrived at the closed gate. Fails the test after
 * TEST_WAIT_MS. */
void sleep_gate_wait(void);

/* Lets the thread go to sleep. */
void sleep_gate_open(void);

/* From now on each clock reading of the calling thread adds 0.1 ms to its
 * clock, so that it soon stops spinning; hook is called once, at the nth
 * reading. nth 0 restores the clock. */
void sleep_gate_clock(unsigned nth, void (*hook)(void *arg), void *arg);

/* From now on hook is called right before the calling thread sleeps. NULL: not
 * any more. */
void sleep_gate_hook(void (*hook)(void *arg), void *arg);

/* Number of times that threads have begun to sleep. */
uint32_t sleep_gate_passed(void);

#endif /* SLEEP_GATE_H */
