/* SPDX-License-Identifier: BSD-3-Clause */
/* One direction of a connection: a ring of records in memory that two
 * processes map, each record announced by the word at its front. The producer
 * owns the memory's contents, the consumer believes nothing of them. */
#ifndef SM_RING_H
#define SM_RING_H

#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SM_RING_MAGIC 0x31676E52U /* "Rng1" */
#define SM_RING_LINE 64U          /* records begin at multiples of it */
#define SM_RING_HEADER 16U        /* bytes of a record before its payload: */
#define SM_RING_TAG 8U            /* word, tag, four bytes not used */
#define SM_RING_CAPACITY_MAX (1U << 20)

/* Payloads up to here are copied without a call, which would cost more than the
 * copy, and make its caller save registers. */
#define SM_RING_SHORT 512U

/* Payloads up to here fit into two lines, of which the first is written last: see
 * sm_ring_write. */
#define SM_RING_TWO_LINES (2 * SM_RING_LINE - SM_RING_HEADER)

/* Lines are fetched for writing when so many bytes are still to be written before
 * them: three records of a short call. */
#define SM_RING_AHEAD 384U

/* Kinds of record; 0 in its place: there is no record yet. */
#define SM_RING_UNEXPECTED 1U
#define SM_RING_EXPECTED 2U
#define SM_RING_RMA 3U /* of a put or get: emulated_rma.h */

/* The first page of the memory. Everything is in the byte order of the
 * machine, which both sides share. */
struct sm_ring_control {
    uint32_t magic;
    uint32_t capacity; /* bytes of records, which begin at the second page */

    /* The consumer's line: bytes consumed since the beginning. Written now
     * and then, read when the producer runs out of room. */
    alignas(64) _Atomic uint64_t consumed;

    /* Contexts of the consumer that sleep, one bit for each: set by the
     * consumer, cleared by it or by the producer, which then sends the wake-up.
     * watched: whether the producer has to look at them at all. */
    alignas(64) _Atomic uint64_t asleep[4];
    _Atomic uint64_t watched;

    /* The producer sleeps and wants a wake-up when there is room again. */
    alignas(64) _Atomic uint32_t waiting;

    /* A range that both sides copy: range.h. */
    alignas(64) _Atomic uint64_t claim;
    _Atomic uint64_t declined; /* number of the last that the consumer stopped
                                  copying */
    _Atomic uint64_t copied;   /* of a put: pieces that the consumer has copied,
                                  one bit for each */
};

static_assert(SM_RING_LINE == 64, "sm_ring_write, sm_ring_demote");
static_assert(sizeof(_Atomic uint64_t) == 8, "no lock inside an atomic");
static_assert(offsetof(struct sm_ring_control, consumed) == 64, "layout");
static_assert(offsetof(struct sm_ring_control, asleep) == 128, "layout");
static_assert(offsetof(struct sm_ring_control, watched) == 160, "layout");
static_assert(offsetof(struct sm_ring_control, waiting) == 192, "layout");
static_assert(offsetof(struct sm_ring_control, claim) == 256, "layout");
static_assert(offsetof(struct sm_ring_control, declined) == 264, "layout");
static_assert(offsetof(struct sm_ring_control, copied) == 272, "layout");

/* The producer's end. The records are mapped twice in a row, so that none
 * wraps. */
struct sm_ring_tx {
    unsigned char *record; /* the next one */
    unsigned char *fence;  /* records up to here need no further look: at most
                              the end of the first mapping, and NULL while it is
                              held */
    struct sm_ring_control *control;
    unsigned char *end;  /* of the first mapping */
    unsigned char *mark; /* in it: where produced was counted last */
    uint64_t produced;   /* bytes since the beginning, up to mark */
    uint64_t limit;    /* bytes that may have been produced: a ring and what is
                            known to have been consumed */
    uint32_t capacity; /* 0: no ring yet */
    bool held;         /* the next record has to wait for others */
    bool ordered;      /* the fence before looking at watched is ours to do */
    bool broken;       /* consumed was invalid */
};

/* The consumer's end. */
struct sm_ring_rx {
    unsigned char *record; /* the next one */
    unsigned char *stop;   /* from here on, sm_ring_report is due */
    uint32_t plain;        /* longest, or SM_RING_SHORT if that is less */
    uint32_t misses; /* score of looks without a record since the last one */
    struct sm_ring_control *control;
    unsigned char *end;  /* of the first mapping */
    unsigned char *mark; /* in it: where consumed was counted last */
    uint64_t consumed;   /* bytes since the beginning, up to mark */
    uint64_t report_at;  /* when the producer is to be told next */
    uint32_t capacity;
    uint32_t longest; /* payload that the producer announced to keep to */
};

/* Bytes that a record with this payload takes. */
static inline uint32_t
sm_ring_record(uint32_t length)
{
    return (length + SM_RING_HEADER + SM_RING_LINE - 1) & ~(SM_RING_LINE - 1);
}

/* The word that announces a record: source context, target context, kind (two
 * bytes), length of the payload (four). */
static inline uint64_t
sm_ring_word(uint32_t kind, uint32_t source, uint32_t target, uint32_t length)
{
    uint32_t front = source + (target << 8) + (kind << 16);

    return front | (uint64_t) length << 32;
}

static inline uint32_t
sm_ring_source(uint64_t word)
{
    return word & 0xFF;
}

static inline uint32_t
sm_ring_target(uint64_t word)
{
    return word >> 8 & 0xFF;
}

static inline uint32_t
sm_ring_kind(uint64_t word)
{
    return word >> 16 & 0xFFFF;
}

static inline uint32_t
sm_ring_length(uint64_t word)
{
    return (uint32_t) (word >> 32);
}

static inline _Atomic uint64_t *
sm_ring_word_of(unsigned char *record)
{
    return (_Atomic uint64_t *) (void *) record;
}

/* Copies the last 32 bytes. By halves: gcc would compute both addresses first. */
static inline __attribute__((always_inline)) void
sm_ring_copy_last32(
    unsigned char *to, const unsigned char *from, uint32_t length)
{
    memcpy(to + length - 32, from + length - 32, 16);
    memcpy(to + length - 16, from + length - 16, 16);
}

/* Copies size bytes twice, from both ends of a piece of at least as many and at
 * most twice as many. */
static inline __attribute__((always_inline)) void
sm_ring_copy_ends(
    unsigned char *to, const unsigned char *from, uint32_t length, size_t size)
{
    memcpy(to, from, size);
    memcpy(to + length - size, from + length - size, size);
}

/* Copies a short payload. Most messages, a header and some arguments, have more than
 * 64 bytes. */
static inline __attribute__((always_inline)) void
sm_ring_copy_short(void *to, const void *from, uint32_t length)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    if (__builtin_expect(length > 128, 0)) {
        unsigned char *last = out + length - 64;
        memcpy(last, in + length - 64, 64);
        do {
            memcpy(out, in, 64);
            out += 64;
            in += 64;
        } while (out < last);
    } else if (__builtin_expect(length > 64, 1)) {
        memcpy(out, in, 16);
        memcpy(out + 16, in + 16, 16);
        memcpy(out + 32, in + 32, 16);
        memcpy(out + 48, in + 48, 16);
        if (length > 96)
            memcpy(out + 64, in + 64, 32);
        sm_ring_copy_last32(out, in, length);
    } else if (length >= 32) {
        sm_ring_copy_ends(out, in, length, 32);
    } else if (length >= 16) {
        sm_ring_copy_ends(out, in, length, 16);
    } else if (length >= 8) {
        sm_ring_copy_ends(out, in, length, 8);
    } else if (length >= 4) {
        sm_ring_copy_ends(out, in, length, 4);
    } else if (length >= 2) {
        sm_ring_copy_ends(out, in, length, 2);
    } else if (length > 0) {
        out[0] = in[0];
    }
}

/* Copies a payload. */
static inline void
sm_ring_copy(void *to, const void *from, uint32_t length)
{
    if (length <= SM_RING_SHORT)
        sm_ring_copy_short(to, from, length);
    else
        memcpy(to, from, length);
}

/* Learns how much the consumer has freed; true if a record of size bytes fits
 * now. An invalid count marks the ring as broken. */
bool sm_ring_refresh(struct sm_ring_tx *tx, uint32_t size);

/* Whether a record of size bytes is known to fit. */
static inline bool
sm_ring_has_room(const struct sm_ring_tx *tx, uint32_t size)
{
    return tx->record + size <= tx->fence;
}

/* Bytes of all records since the beginning. */
static inline uint64_t
sm_ring_produced(const struct sm_ring_tx *tx)
{
    return tx->produced + (uint64_t) (tx->record - tx->mark);
}

/* Others wait to be sent: from now on no record is known to fit, until
 * sm_ring_release. */
static inline void
sm_ring_hold(struct sm_ring_tx *tx)
{
    tx->held = true;
    tx->fence = NULL;
}

/* None waits any more. The next record that is found to fit by sm_ring_reserve
 * or sm_ring_refresh makes it known again. */
static inline void
sm_ring_release(struct sm_ring_tx *tx)
{
    tx->held = false;
}

/* Announces the record, the next one, whose tag and payload have been written. */
static inline __attribute__((always_inline)) void
sm_ring_announce(
    struct sm_ring_tx *tx, unsigned char *record, uint64_t word, uint32_t size)
{
    /* release: pairs with the acquire in sm_ring_peek; seq_cst: with
     * sm_ring_watch and sm_ring_look, see sm_ring_watched */
    if (__builtin_expect(tx->ordered, 0))
        atomic_store_explicit(
            sm_ring_word_of(record), word, memory_order_seq_cst);
    else
        atomic_store_explicit(
            sm_ring_word_of(record), word, memory_order_release);

    tx->record = record + size;
}

/* Fetches a line for writing, so that the producer's processor has it before it
 * writes there. Not one of the next records, at which the consumer looks while it
 * waits: it would fetch it back. */
static inline __attribute__((always_inline)) void
sm_ring_fetch(const unsigned char *line)
{
#ifdef __x86_64__
    /* gcc's prefetch for writing is one for reading, unless told that the processor
     * has this instruction; one that has not ignores it */
    __asm__ volatile("prefetchw %0" ::"m"(*line));
#else
    __builtin_prefetch(line, 1);
#endif
}

/* Whether this processor has an instruction to demote lines. */
bool sm_ring_can_demote(void);

/* Demotes the two lines before the address end, which have been written, to the cache
 * that both processors share, where the consumer gets them sooner than out of this
 * processor's own. A hint: it faults at no address (Intel's manual), and processors
 * without the instruction ignore it. */
static inline __attribute__((always_inline)) void
sm_ring_demote(uintptr_t end)
{
#ifdef __x86_64__
    __asm__ volatile("cldemote -64(%0)\n\tcldemote -128(%0)" ::"r"(end)
                     : "memory");
#else
    (void) end;
#endif
}

/* Writes a payload of at most SM_RING_TWO_LINES bytes. What is in the first line
 * comes last: the consumer looks at that line all the time and, between two writes
 * to it that wait for the other line, would fetch it once more. By pieces, and from
 * the beginning of the record: gcc would keep more addresses in registers. */
static inline __attribute__((always_inline)) void
sm_ring_write(unsigned char *record, const unsigned char *from, uint32_t length)
{
    const uint32_t at = SM_RING_HEADER;
    const uint32_t first = SM_RING_LINE - SM_RING_HEADER;

    if (length <= first) {
        sm_ring_copy_short(record + at, from, length);
        return;
    }
    memcpy(record + at + length - 16, from + length - 16, 16);
    if (length > 64) {
        memcpy(record + at + first, from + first, 16);
        if (length > 80) {
            memcpy(record + at + 64, from + 64, 16);
            memcpy(record + at + length - 32, from + length - 32, 16);
        }
    }
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(record + at, from, 16);
    memcpy(record + at + 16, from + 16, 16);
    memcpy(record + at + 32, from + 32, 16);
}

/* Appends a record that fits and has one line or two. The caller then looks whether
 * the target sleeps: see sm_ring_sleeps. */
static inline __attribute__((always_inline)) void
sm_ring_append(struct sm_ring_tx *tx, uint64_t word, uint32_t tag,
    const void *payload, uint32_t length)
{
    unsigned char *record = tx->record;

    sm_ring_write(record, payload, length);
    memcpy(record + SM_RING_TAG, &tag, sizeof(tag));
    sm_ring_announce(tx, record, word, sm_ring_record(length));
    sm_ring_fetch(tx->record + SM_RING_AHEAD);
    sm_ring_fetch(tx->record + SM_RING_AHEAD + SM_RING_LINE);
}

/* The same for a longer payload, of at most SM_RING_SHORT bytes. */
static inline void
sm_ring_append_lines(struct sm_ring_tx *tx, uint64_t word, uint32_t tag,
    const void *payload, uint32_t length)
{
    unsigned char *record = tx->record;

    sm_ring_copy_short(record + SM_RING_HEADER, payload, length);
    memcpy(record + SM_RING_TAG, &tag, sizeof(tag));
    sm_ring_announce(tx, record, word, sm_ring_record(length));
    for (unsigned char *line = record; line < tx->record; line += SM_RING_LINE)
        sm_ring_fetch(line + (tx->record - record) + SM_RING_AHEAD);
}

/* The same with any payload; false when there is no room for it. */
bool sm_ring_put(struct sm_ring_tx *tx, uint64_t word, uint32_t tag,
    const void *payload, uint32_t length);

/* Room for a record of length bytes, to be written and then published; NULL if
 * there is none. For payloads that come in pieces. */
unsigned char *sm_ring_reserve(struct sm_ring_tx *tx, uint32_t length);
void sm_ring_publish(struct sm_ring_tx *tx, uint64_t word);

/*
 * After publishing: does the consumer sleep now and then, so that the producer
 * has to look for a sleeper?
 *
 * No wake-up is lost, by two handshakes. The consumer that begins to sleep now
 * and then sets watched, then looks for records; the producer publishes, then
 * looks at watched; one of them sees the other, provided that neither's look
 * overtakes its own write. Where both processes are registered for it, the
 * consumer's membarrier (sm_sleepers_watch) puts a full fence between the two on every
 * processor that runs the producer, which pays nothing itself. Elsewhere
 * (ordered) all four accesses are seq_cst.
 *
 * While watched stays set, no membarrier is needed: the sleeper sets its bit,
 * then looks for records; the producer publishes, then takes the bit. Both
 * access the bit by a read-modify-write. The one that comes second in the order
 * of its word sees what the first did before: the producer sees the bit, or
 * the sleeper the record.
 */
static inline bool
sm_ring_watched(const struct sm_ring_tx *tx)
{
    /* the compiler must not move the load up; see above for the processor */
    atomic_signal_fence(memory_order_seq_cst);
    return __builtin_expect(
        atomic_load_explicit(&tx->control->watched, memory_order_seq_cst) != 0,
        0);
}

/* Takes the bit of a context that sleeps, if it does: this producer, and no
 * other, has to send the wake-up. Of use once watched was seen. */
bool sm_ring_take_sleeper(struct sm_ring_tx *tx, uint32_t target);

/* The same of any context; each that sleeps gets the wake-up. */
bool sm_ring_take_any_sleeper(struct sm_ring_tx *tx);

/* Whether a context sleeps, as of now. */
bool sm_ring_any_sleeper(const struct sm_ring_tx *tx);

static inline bool
sm_ring_sleeps(struct sm_ring_tx *tx, uint32_t target)
{
    return sm_ring_watched(tx) && sm_ring_take_sleeper(tx, target);
}

/* Contexts of the consumer are about to sleep now and then, or have not slept
 * for long. */
void sm_ring_watch(struct sm_ring_rx *rx, bool watched);

/* A context of the consumer is about to sleep, or has stopped sleeping. clear:
 * false if the producer has taken the bit, and sends a wake-up. */
void sm_ring_set_sleeper(struct sm_ring_rx *rx, uint32_t context);
bool sm_ring_clear_sleeper(struct sm_ring_rx *rx, uint32_t context);
bool sm_ring_has_sleeper(const struct sm_ring_rx *rx, uint32_t context);

/* The producer sleeps, and wants a wake-up when there is room. It looks for room
 * afterwards (sm_ring_refresh): see sm_ring_report. */
void sm_ring_await_room(struct sm_ring_tx *tx);

/* The word of the next record, 0 when there is none. */
static inline uint64_t
sm_ring_peek(const struct sm_ring_rx *rx)
{
    /* acquire: pairs with the release in sm_ring_announce */
    return atomic_load_explicit(
        sm_ring_word_of(rx->record), memory_order_acquire);
}

/* The same for a consumer that is about to sleep. */
static inline uint64_t
sm_ring_look(const struct sm_ring_rx *rx)
{
    /* seq_cst: see sm_ring_watched */
    return atomic_load_explicit(
        sm_ring_word_of(rx->record), memory_order_seq_cst);
}

/* The tag beside it: read once, as the peer may change it. */
static inline uint32_t
sm_ring_tag(const unsigned char *record)
{
    return atomic_load_explicit(
        (const _Atomic uint32_t *) (const void *) (record + SM_RING_TAG),
        memory_order_relaxed);
}

/* Whether this word of a record is valid: one of the three kinds (unexpected,
 * expected, RMA), and no longer than records may be. */
static inline bool
sm_ring_valid(const struct sm_ring_rx *rx, uint64_t word)
{
    return sm_ring_kind(word) - 1 < 3 && sm_ring_length(word) <= rx->longest;
}

/* Counts what has been consumed, goes on in the first mapping, and tells the
 * producer if it is time to; true if that sleeps and has to be woken. */
bool sm_ring_report(struct sm_ring_rx *rx);

/* Zeroes the word at the beginning of a line. */
static inline void
sm_ring_clear(unsigned char *line)
{
    atomic_store_explicit(sm_ring_word_of(line), 0, memory_order_relaxed);
}

/*
 * Goes on to the next record; advance also reports when that is due, true as
 * sm_ring_report. After skip the caller does so before it skips another one. A
 * later record may begin at any line of this one, so the word there is zeroed. The consumer does it: the lines are in its cache then, and it
 * polls them at no cost until the producer takes them back, one at a time. (Where
 * the producer zeroed the word after its record, a round trip took a third longer.)
 */
static inline void
sm_ring_skip(struct sm_ring_rx *rx, unsigned char *record, uint32_t length)
{
    uint32_t size = sm_ring_record(length);
    unsigned char *next = record + size;

    /* Most records have one or two lines: the first and the last. */
    sm_ring_clear(record);
    sm_ring_clear(next - SM_RING_LINE);
    if (__builtin_expect(size > 2 * SM_RING_LINE, 0))
        for (size -= 2 * SM_RING_LINE; size > 0; size -= SM_RING_LINE)
            sm_ring_clear(record + size);
    rx->record = next;
}

/* Whether it is time for sm_ring_report. */
static inline bool
sm_ring_report_due(const struct sm_ring_rx *rx)
{
    return __builtin_expect(rx->record >= rx->stop, 0);
}

static inline bool
sm_ring_advance(struct sm_ring_rx *rx, uint32_t length)
{
    sm_ring_skip(rx, rx->record, length);
    return sm_ring_report_due(rx) && sm_ring_report(rx);
}

/* Bytes of the control page. */
uint32_t sm_ring_page(void);

/* Whether a ring of this capacity lets records of that payload pass. */
bool sm_ring_fits(uint64_t capacity, uint64_t longest);

/* Makes a ring, empty and sealed, and its producer's end. *fd_p: the memory, to
 * be passed to the consumer and closed. An errno, or 0. */
int sm_ring_create(struct sm_ring_tx *tx, uint32_t capacity, int *fd_p);

/* Maps the ring that a peer has passed, after checking that it is memory of
 * exactly that size which cannot shrink. fd stays the caller's. NULL, or what
 * is wrong with it. */
const char *sm_ring_open(
    struct sm_ring_rx *rx, uint32_t capacity, uint32_t longest, int fd);

/* Unmaps an end; nothing to do for one that was never mapped. */
void sm_ring_close_tx(struct sm_ring_tx *tx);
void sm_ring_close_rx(struct sm_ring_rx *rx);

#endif /* SM_RING_H */
