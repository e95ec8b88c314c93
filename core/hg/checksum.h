/* SPDX-License-Identifier: BSD-3-Clause */
/* Checksums of requests and responses: checksum_level selects those sent; the
 * flags of a header announce those to check. header.h has their positions. */
#ifndef HG_CHECKSUM_H
#define HG_CHECKSUM_H

#include "mercury_types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hg_message;

/* Returns the header flags for a checksum level, 0 for none. */
uint8_t hg_checksum_flags(hg_checksum_level_t level);

/* Writes the checksums that its flags announce into an encoded header. */
void hg_checksum_put(
    void *header, size_t header_size, const struct hg_message *message);

/* Stores the expected checksum of a received message with a valid header, for
 * hg_checksum_agrees. An extra payload is fetched later. */
void hg_checksum_note(
    struct hg_message *message, const void *header, size_t header_size);

/* Returns whether the payload matches the stored checksum. */
bool hg_checksum_agrees(const struct hg_message *message);

#endif /* HG_CHECKSUM_H */
