/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksums of requests and answers: what checksum_level asks for is sent,
 * what a header's flags announce is checked. header.h says where they stand. */
#ifndef HG_CHECKSUM_H
#define HG_CHECKSUM_H

#include "mercury_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hg_message;

/* The flags of messages at a level, 0 for none. */
uint8_t hg_checksum_flags(hg_checksum_level_t level);

/* Puts the checksums that its flags announce into an encoded header. */
void hg_checksum_put(
    void *header, size_t header_size, const struct hg_message *message);

/* Notes, of a message that came with a header that is right, what the arguments
 * have to agree with; those that are elsewhere are yet to be fetched. */
void hg_checksum_note(
    struct hg_message *message, const void *header, size_t header_size);

/* Whether the arguments agree with what was noted. */
bool hg_checksum_agrees(const struct hg_message *message);

#endif /* HG_CHECKSUM_H */
