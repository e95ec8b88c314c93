/* SPDX-License-Identifier: BSD-3-Clause */
/* The control RPCs between the leading process and the server. A session is one
 * plan, from open to close; it belongs to the address that opened it. If the
 * server has a token, open carries a proof for a challenge that was requested
 * before, and its answer the server's proof (common/token.h). */
#ifndef PERF_CONTROL_H
#define PERF_CONTROL_H

#include "common/token.h"
#include "mercury_macros.h"
#include "perf/origin.h"

#define PERF_CONTROL_VERSION 4U
#define PERF_TEXT_SIZE 300U

/* A server closes a session without requests: a running one after this time
 * (its client sends a request every few seconds), a paused one after the idle
 * time. */
#define PERF_RUNNING_SILENCE_NS (30 * PERF_SECOND_NS)
#define PERF_IDLE_DEFAULT 300U
#define PERF_PING_NS (5 * PERF_SECOND_NS)

enum perf_control {
    PERF_CONTROL_HELLO,
    PERF_CONTROL_CHALLENGE,
    PERF_CONTROL_OPEN,
    PERF_CONTROL_REMOTE,
    PERF_CONTROL_RUN,
    PERF_CONTROL_CLOSE,
    PERF_CONTROLS
};

/* A string and a byte array of limited size. */
typedef struct {
    char text[PERF_TEXT_SIZE];
} perf_text_t;

typedef struct {
    uint32_t size;
    char bytes[PERF_MEMORY_KEY_SIZE];
} perf_bytes_t;

hg_return_t hg_proc_perf_text_t(hg_proc_t proc, void *data);
hg_return_t hg_proc_perf_bytes_t(hg_proc_t proc, void *data);

MERCURY_GEN_PROC(perf_hello_in_t, ((hg_uint32_t) (version)))

/* The settings of the server. cpu: -1 if it is not pinned. */
MERCURY_GEN_PROC(
    perf_hello_out_t, ((hg_uint32_t) (version))((hg_uint8_t) (busy))(
                          (hg_uint8_t) (single))((hg_int32_t) (cpu)))

/* id: 0 if no proof is required. */
MERCURY_GEN_PROC(perf_challenge_in_t, ((token_key_t) (nonce)))
MERCURY_GEN_PROC(perf_challenge_out_t,
    ((hg_uint8_t) (wants_proof))((hg_uint64_t) (id))((token_key_t) (nonce)))

/* The plan without the server's settings. */
MERCURY_GEN_PROC(
    perf_amounts_t, ((hg_uint32_t) (inflight))((hg_uint32_t) (threads))(
                        (hg_uint32_t) (contexts))((hg_uint32_t) (classes))(
                        (hg_uint32_t) (clients)))
/* Zeros if no proof is required. */
MERCURY_GEN_PROC(perf_proof_t, ((hg_uint64_t) (challenge))((token_key_t) (key)))
MERCURY_GEN_PROC(
    perf_load_t, ((hg_uint64_t) (size_max))((perf_amounts_t) (amounts)))
MERCURY_GEN_PROC(
    perf_way_t, ((hg_uint8_t) (verify))((hg_uint8_t) (progress_thread))(
                    (hg_uint8_t) (mem_alloc)))
MERCURY_GEN_PROC(perf_open_in_t,
    ((hg_uint8_t) (level))((hg_uint8_t) (bandwidth))((perf_way_t) (way))(
        (perf_load_t) (load))((perf_proof_t) (proof)))

/* In all responses, error is "" or the reason of the refusal. denied: wrong
 * proof. */
MERCURY_GEN_PROC(
    perf_open_out_t, ((perf_text_t) (error))((hg_uint64_t) (session))(
                         (hg_uint8_t) (denied))((token_key_t) (proof)))

MERCURY_GEN_PROC(
    perf_remote_in_t, ((hg_uint64_t) (session))((hg_uint32_t) (index)))
MERCURY_GEN_PROC(perf_remote_out_t,
    ((perf_text_t) (error))((perf_text_t) (address))((perf_bytes_t) (key)))

enum perf_run { PERF_RUN_PAUSE, PERF_RUN_START, PERF_RUN_ASK, PERF_RUNS };

MERCURY_GEN_PROC(perf_run_in_t, ((hg_uint64_t) (session))((hg_uint8_t) (what)))

/* cpu_ns: processor time of the server process. fault_offset: in the first
 * message with wrong data. */
MERCURY_GEN_PROC(
    perf_run_out_t, ((perf_text_t) (error))((hg_uint64_t) (cpu_ns))(
                        (hg_uint64_t) (faults))((hg_uint64_t) (fault_offset)))

MERCURY_GEN_PROC(perf_close_in_t, ((hg_uint64_t) (session)))
MERCURY_GEN_PROC(perf_close_out_t, ((perf_text_t) (error)))

/* Registers all RPCs. handlers: NULL at the client. */
hg_return_t perf_control_register(hg_class_t *hg_class,
    const hg_rpc_cb_t handlers[PERF_CONTROLS], hg_id_t ids[PERF_CONTROLS]);

#endif /* PERF_CONTROL_H */
