/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk descriptors, at classes of each transport, and of two. A decoded
 * one is encoded to the same bytes. The data in it are read, and remote memory,
 * which belongs to no process or to the class itself, is read.
 *
 *   u8 which class; below 0x80 the bytes of a descriptor, else u8 which of the
 *   class's own, u8 patches, for each a position (u16) and a value (u8) */
#include "fuzz.h"
#include "loop_plugin.h"

#include "mercury.h"
#include "mercury_bulk.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

#define WANTED_MAX 4096U

extern const na_plugin NA_PLUGIN_SYMBOL(sm);
#ifdef FUZZ_OFI
extern const na_plugin NA_PLUGIN_SYMBOL(ofi);
#endif
#ifdef FUZZ_UCX
extern const na_plugin NA_PLUGIN_SYMBOL(ucx);
#endif

struct side {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t self;
    hg_bulk_t own[3]; /* read-only and bound, both ways, of two segments */
};
static struct side sides[4];
static unsigned side_count;

static void
make_own(struct side *side)
{
    static char memory[3][300];
    void *bases[2] = {memory[0], memory[1]};
    hg_size_t sizes[2] = {300, 100};

    fuzz_require(HG_Bulk_create(side->hg_class, 1, bases, sizes,
                     HG_BULK_READ_ONLY, &side->own[0]) == HG_SUCCESS);
    fuzz_require(HG_Bulk_bind(side->own[0], side->context) == HG_SUCCESS);
    fuzz_require(HG_Bulk_create(side->hg_class, 1, bases, sizes,
                     HG_BULK_READWRITE, &side->own[1]) == HG_SUCCESS);
    fuzz_require(HG_Bulk_create(side->hg_class, 2, bases, sizes,
                     HG_BULK_READ_ONLY, &side->own[2]) == HG_SUCCESS);
}

static void
open_side(const na_plugin *plugin, const char *info, bool auto_sm)
{
    struct side *side = &sides[side_count++];
    struct hg_init_info options = HG_INIT_INFO_INITIALIZER;
    na_return_t ret = talaria_plugin_register(plugin);

    fuzz_require(ret == NA_SUCCESS || ret == NA_EXIST);
    options.auto_sm = auto_sm;
    side->hg_class = HG_Init_opt2(info, HG_TRUE,
        HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &options);
    fuzz_require(side->hg_class != NULL);
    side->context = HG_Context_create(side->hg_class);
    fuzz_require(side->context != NULL);
    fuzz_require(HG_Addr_self(side->hg_class, &side->self) == HG_SUCCESS);
    make_own(side);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_log_drop();
    open_side(&NA_PLUGIN_SYMBOL(sm), "na+sm", false);
    open_side(&loop_plugin, "loop+mem", true);
#ifdef FUZZ_OFI
    open_side(&NA_PLUGIN_SYMBOL(ofi), "ofi+tcp://127.0.0.1", true);
#endif
#ifdef FUZZ_UCX
    open_side(&NA_PLUGIN_SYMBOL(ucx), "ucx+tcp://127.0.0.1", true);
#endif
    return 0;
}

static hg_return_t
on_moved(const struct hg_cb_info *info)
{
    *(bool *) info->arg = true;
    return HG_SUCCESS;
}

/* Asks for its data. */
static void
pull(const struct side *side, hg_bulk_t remote)
{
    static char memory[WANTED_MAX];
    hg_size_t size = HG_Bulk_get_size(remote);
    void *base = memory;
    bool moved = false;
    hg_bulk_t local;
    hg_op_id_t id;
    unsigned count;

    if (size == 0)
        return;
    if (size > WANTED_MAX)
        size = WANTED_MAX;
    fuzz_require(HG_Bulk_create(side->hg_class, 1, &base, &size,
                     HG_BULK_WRITE_ONLY, &local) == HG_SUCCESS);
    if (HG_Bulk_transfer(side->context, on_moved, &moved, HG_BULK_PULL,
            side->self, remote, 0, local, 0, size, &id) == HG_SUCCESS)
        for (unsigned i = 0; !*(volatile bool *) &moved; i++) {
            fuzz_require(i < 1000);
            if (i == 100)
                HG_Bulk_cancel(id);
            HG_Progress(side->context, i < 10 ? 0 : 10);
            HG_Trigger(side->context, 0, 1, &count);
        }
    fuzz_require(HG_Bulk_free(local) == HG_SUCCESS);
}

static void
decode(const struct side *side, const uint8_t *bytes, size_t size)
{
    hg_bulk_t bulk;
    hg_size_t length;
    uint8_t *again;

    if (HG_Bulk_deserialize(side->hg_class, &bulk, bytes, size) != HG_SUCCESS)
        return;
    length = HG_Bulk_get_serialize_size(bulk, 0);
    fuzz_require(length <= size);
    again = malloc(length);
    if (!again)
        abort();
    fuzz_require(HG_Bulk_serialize(again, length, 0, bulk) == HG_SUCCESS);
    fuzz_require(memcmp(again, bytes, length) == 0);
    free(again);
    fuzz_require(HG_Bulk_get_segment_count(bulk) > 0);
    pull(side, bulk);
    fuzz_require(HG_Bulk_free(bulk) == HG_SUCCESS);
}

/* One of the class's own, serialized. */
static uint8_t *
own_bytes(const struct side *side, unsigned which, size_t *size_p)
{
    hg_bulk_t own = side->own[which % 3];
    unsigned long flags = (which / 3) % 4 << 4; /* EAGER, SM */
    uint8_t *bytes;

    *size_p = HG_Bulk_get_serialize_size(own, flags);
    bytes = malloc(*size_p);
    if (!bytes)
        abort();
    fuzz_require(HG_Bulk_serialize(bytes, *size_p, flags, own) == HG_SUCCESS);
    return bytes;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned choice = fuzz_u8(&input);
    const struct side *side = &sides[choice % side_count];
    uint8_t *bytes;
    size_t length;

    if (choice & 0x80) {
        bytes = own_bytes(side, fuzz_u8(&input), &length);
        fuzz_patch(&input, bytes, length);
    } else {
        bytes = fuzz_bytes(&input, SIZE_MAX, &length);
    }
    decode(side, bytes, length);
    free(bytes);
    return 0;
}
