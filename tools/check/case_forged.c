/* SPDX-License-Identifier: BSD-3-Clause */
/* Cases: registrations whose bytes were altered in transit, so that the
 * initiator assumes it has more rights. Only the owner of the memory can refuse
 * that. Bytes that are no longer valid are refused, too. */
#include "check/cases.h"
#include "check/class.h"
#include "check/peers.h"
#include "check/rma.h"
#include "check/shared.h"

#include <string.h>

#define BYTES 4096U
#define GRANTED 4321U /* bytes, to be found in the serialized form */
#define WHOLE 16384U  /* of the memory, past the end of the registration */
#define FORGED 9U     /* number of the registration that is made of it */

/* One side's memory and the side that accesses it. */
struct forge {
    struct kit_side *a;
    struct kit_side *b; /* owns */
    unsigned char bytes[BYTES];
    size_t length;
};

static void
open_forge(struct forge *forge, uint32_t access)
{
    struct kit_region whole = {.access = NA_PLUGIN_MEM_READ,
        .segments = 1,
        .length = WHOLE,
        .seed = 1};
    struct kit_region part = {.number = 1,
        .access = access,
        .segments = 1,
        .inside = 1,
        .length = GRANTED,
        .seed = 2};
    struct kit_region own = {.access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
        .segments = 1,
        .length = WHOLE,
        .seed = 3};

    forge->a = kit_local(NULL);
    forge->b = kit_local(NULL);
    kit_lookup_each_other(forge->a, forge->b);
    kit_region(forge->b, &whole);
    kit_region(forge->b, &part);
    kit_region(forge->a, &own);
    forge->length =
        kit_region_bytes(forge->b, 1, forge->bytes, sizeof forge->bytes);
}

/* Deserializes the bytes, if they are still valid. */
static bool
take(struct forge *forge, const unsigned char *bytes, size_t length)
{
    struct kit_class *cls = kit_class_of(forge->a);
    na_plugin_mem *made = NULL;

    if (cls->ops.mem_deserialize(cls->cls, bytes, length, &made) !=
        NA_PLUGIN_OK)
        return false;
    cls->mems[FORGED] = (struct kit_mem){.mem = made, .remote = true};
    return true;
}

/* Transfers 64 bytes at an offset, which must fail. */
static void
expect_refused(struct forge *forge, enum kit_kind kind, uint64_t offset)
{
    struct kit_request request = {.kind = kind,
        .op = 10,
        .peer = kit_number(forge->b),
        .length = 64,
        .remote = FORGED,
        .remote_offset = offset,
        .may_fail = true};
    uint64_t before = kit_region_hash(forge->b, 0, 0, WHOLE);
    struct kit_completion end;

    kit_post(forge->a, &request);
    kit_await(forge->a, 10, 11, &end);
    kit_expect(end.status != NA_PLUGIN_OK, 11,
        "the owner of memory checks range and rights, whatever its peer "
        "assumed",
        "a %s at %llu of %u bytes with changed bytes: %s", kit_kind_name(kind),
        (unsigned long long) offset, GRANTED, kit_completion_text(&end));
    kit_expect(kit_region_hash(forge->b, 0, 0, WHOLE) == before, 11,
        "memory that was not granted is not written to", "it was");
}

/* Replaces each number of `size` bytes that equals `from`. */
static uint32_t
replace(const struct forge *forge, unsigned char *bytes, size_t size,
    uint64_t from, uint64_t to)
{
    uint32_t count = 0;

    memcpy(bytes, forge->bytes, forge->length);
    for (size_t i = 0; i + size <= forge->length; i++) {
        uint64_t found = 0;

        memcpy(&found, forge->bytes + i, size); /* of this byte order */
        if (found != from)
            continue;
        memcpy(bytes + i, &to, size);
        count++;
    }
    return count;
}

/* Increases the length of the memory wherever the bytes contain it. */
static void
range(void)
{
    static struct forge forge;
    static unsigned char bytes[BYTES];
    uint32_t found = 0;

    open_forge(&forge, NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE);
    for (size_t size = 8; size >= 4; size /= 2) {
        if (replace(&forge, bytes, size, GRANTED, WHOLE) == 0)
            continue;
        found++;
        kit_step("puts and gets beyond what was granted");
        for (uint32_t i = 0; i < 2; i++) {
            if (!take(&forge, bytes, forge.length))
                break;
            expect_refused(&forge, i == 0 ? KIT_PUT : KIT_GET, GRANTED + 100);
            kit_region_free(forge.a, FORGED);
        }
    }
    if (found == 0)
        kit_not_offered("the bytes of a registration do not show its length");
}

/* Exchanges the bytes that differ between two registrations of the same memory
 * with different rights, one run at a time. */
static void
rights_of(uint32_t less, enum kit_kind kind)
{
    static struct forge forge;
    static unsigned char more[BYTES], bytes[BYTES];
    struct kit_region both = {.number = 2,
        .access = NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE,
        .segments = 1,
        .inside = 1,
        .length = GRANTED,
        .seed = 2};
    uint32_t runs = 0;

    open_forge(&forge, less);
    kit_region(forge.b, &both);
    if (kit_region_bytes(forge.b, 2, more, sizeof more) != forge.length)
        kit_not_offered("registrations have bytes of several lengths");
    kit_region_free(forge.b, 2);
    for (size_t i = 0, next; i < forge.length; i = next) {
        next = i + 1;
        if (more[i] == forge.bytes[i])
            continue;
        while (next < forge.length && more[next] != forge.bytes[next])
            next++;
        memcpy(bytes, forge.bytes, forge.length);
        memcpy(bytes + i, more + i, next - i);
        runs++;
        if (!take(&forge, bytes, forge.length))
            continue;
        expect_refused(&forge, kind, 0);
        kit_region_free(forge.a, FORGED);
    }
    if (runs == 0)
        kit_not_offered("the bytes of a registration do not show its rights");
}

static void
right_to_write(void)
{
    rights_of(NA_PLUGIN_MEM_READ, KIT_PUT);
}

static void
right_to_read(void)
{
    rights_of(NA_PLUGIN_MEM_WRITE, KIT_GET);
}

static const struct kit_case cases[] = {
    {"forged_range", 11, KIT_NEEDS_RMA, 0, 0,
        "the owner refuses a range beyond its memory", range},
    {"forged_right_to_write", 11, KIT_NEEDS_RMA, 0, 0,
        "the owner refuses a put to read-only memory", right_to_write},
    {"forged_right_to_read", 11, KIT_NEEDS_RMA, 0, 0,
        "the owner refuses a get of write-only memory", right_to_read},
};

const struct kit_group kit_cases_forged = {
    cases, sizeof cases / sizeof cases[0]};
