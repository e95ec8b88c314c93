/* SPDX-License-Identifier: BSD-3-Clause */
/* The rule that a class of the wire plugin breaks: one enumerator per line of
 * the file variants, in order. */
#ifndef VARIANTS_H
#define VARIANTS_H

enum wire_variant {
#define WIRE_VARIANT(name) WIRE_##name,
#include "variants.def"
#undef WIRE_VARIANT
    WIRE_VARIANTS
};

#endif /* VARIANTS_H */
