/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream of bytes from one process to another.
 *
 *   stream sink INFO FILE          prints its address, writes one stream to FILE
 *   stream source INFO ADDRESS     sends standard input
 *
 * Shows a pipeline of bulk transfers: the source has several blocks on the way,
 * each in a buffer that was registered once; the sink pulls them into buffers of
 * its own, and writes each at its place as soon as it has arrived. A block's
 * response confirms the write, and frees its buffer for the next one. */
#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_proc_bulk.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BLOCK_SIZE (1U << 20) /* bytes */
#define DEPTH 4U              /* blocks on the way */

/* size 0: the stream is complete */
MERCURY_GEN_PROC(
    block_in_t, ((uint64_t) (offset))((uint32_t) (size))((hg_bulk_t) (bytes)))
MERCURY_GEN_PROC(block_out_t, ((int32_t) (ret)))

/* A buffer of BLOCK_SIZE bytes, registered as long as the process runs. */
struct buffer {
    char *bytes;
    hg_bulk_t bulk;
    struct buffer *next; /* of the free ones */
};

static struct buffer *free_buffers;

static struct buffer *
buffer_get(hg_class_t *hg_class, uint8_t access)
{
    struct buffer *buffer = free_buffers;
    hg_size_t size = BLOCK_SIZE;
    void *start;

    if (buffer) {
        free_buffers = buffer->next;
        return buffer;
    }
    buffer = calloc(1, sizeof *buffer);
    start = buffer ? (buffer->bytes = malloc(size)) : NULL;
    if (start && HG_Bulk_create(hg_class, 1, &start, &size, access,
                     &buffer->bulk) == HG_SUCCESS)
        return buffer;
    free(start);
    free(buffer);
    return NULL;
}

static void
buffer_put(struct buffer *buffer)
{
    buffer->next = free_buffers;
    free_buffers = buffer;
}

static void
buffers_free(void)
{
    while (free_buffers) {
        struct buffer *buffer = free_buffers;

        free_buffers = buffer->next;
        HG_Bulk_free(buffer->bulk);
        free(buffer->bytes);
        free(buffer);
    }
}

static void
progress(hg_context_t *context)
{
    unsigned int count;

    HG_Progress(context, 100);
    do
        count = 0;
    while (HG_Trigger(context, 0, 1, &count) == HG_SUCCESS && count > 0);
}

/* The sink. */

static int file, complete, responses; /* responses: not sent yet */

struct block {
    hg_handle_t handle;
    block_in_t in;
    struct buffer *buffer; /* NULL: the block that ends the stream */
};

static hg_return_t
response_sent(const struct hg_cb_info *info)
{
    (void) info;
    responses--;
    return HG_SUCCESS;
}

static void
block_end(struct block *block, hg_return_t ret)
{
    block_out_t out = {ret};

    if (HG_Respond(block->handle, response_sent, NULL, &out) == HG_SUCCESS)
        responses++;
    if (block->buffer)
        buffer_put(block->buffer);
    HG_Free_input(block->handle, &block->in);
    HG_Destroy(block->handle);
    free(block);
}

static hg_return_t
pulled(const struct hg_cb_info *info)
{
    struct block *block = info->arg;
    hg_return_t ret = info->ret;

    if (ret == HG_SUCCESS &&
        pwrite(file, block->buffer->bytes, block->in.size,
            (off_t) block->in.offset) != (ssize_t) block->in.size)
        ret = HG_IO_ERROR;
    block_end(block, ret);
    return HG_SUCCESS;
}

static hg_return_t
on_block(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct block *block = calloc(1, sizeof *block);
    hg_return_t ret = block ? HG_Get_input(handle, &block->in) : HG_NOMEM;

    if (ret != HG_SUCCESS) {
        free(block);
        return ret; /* is the response */
    }
    block->handle = handle;
    if (block->in.size == 0) {
        complete = 1;
        block_end(block, HG_SUCCESS);
        return HG_SUCCESS;
    }
    block->buffer = buffer_get(info->hg_class, HG_BULK_WRITE_ONLY);
    if (!block->buffer || block->in.size > BLOCK_SIZE)
        ret = block->buffer ? HG_MSGSIZE : HG_NOMEM;
    else
        ret = HG_Bulk_transfer(info->context, pulled, block, HG_BULK_PULL,
            info->addr, block->in.bytes, 0, block->buffer->bulk, 0,
            block->in.size, HG_OP_ID_IGNORE);
    if (ret != HG_SUCCESS)
        block_end(block, ret);
    return HG_SUCCESS;
}

static int
sink(hg_class_t *hg_class, hg_context_t *context, const char *path)
{
    char text[256];
    hg_size_t size = sizeof text;
    hg_addr_t self;

    file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || HG_Addr_self(hg_class, &self) != HG_SUCCESS) {
        perror(path);
        return 1;
    }
    if (HG_Addr_to_string(hg_class, text, &size, self) == HG_SUCCESS) {
        puts(text);
        fflush(stdout);
    }
    HG_Addr_free(hg_class, self);
    while (!complete || responses > 0)
        progress(context);
    return close(file) == 0 ? 0 : 1;
}

/* The source. */

static unsigned int under_way;
static hg_return_t failed = HG_SUCCESS; /* the first error */

static hg_return_t
written(const struct hg_cb_info *info)
{
    hg_handle_t handle = info->info.forward.handle;
    hg_return_t ret = info->ret;
    block_out_t out;

    if (ret == HG_SUCCESS)
        ret = HG_Get_output(handle, &out);
    if (ret == HG_SUCCESS) {
        ret = (hg_return_t) out.ret;
        HG_Free_output(handle, &out);
    }
    if (failed == HG_SUCCESS)
        failed = ret;
    if (info->arg)
        buffer_put(info->arg);
    HG_Destroy(handle);
    under_way--;
    return HG_SUCCESS;
}

/* buffer: NULL for the block that ends the stream. */
static void
send_block(hg_context_t *context, hg_addr_t addr, hg_id_t id,
    struct buffer *buffer, uint64_t offset, uint32_t size)
{
    block_in_t in = {offset, size, buffer ? buffer->bulk : HG_BULK_NULL};
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = HG_Create(context, addr, id, &handle);

    if (ret == HG_SUCCESS)
        ret = HG_Forward(handle, written, buffer, &in);
    if (ret == HG_SUCCESS) {
        under_way++;
        return;
    }
    failed = ret;
    if (buffer)
        buffer_put(buffer);
    HG_Destroy(handle);
}

static int
source(hg_class_t *hg_class, hg_context_t *context, hg_id_t id,
    const char *address)
{
    struct timespec from, to;
    hg_addr_t addr = HG_ADDR_NULL;
    uint64_t offset = 0;
    size_t got = 1;
    double seconds;

    failed = HG_Addr_lookup(hg_class, address, &addr);
    clock_gettime(CLOCK_MONOTONIC, &from);
    while (failed == HG_SUCCESS && got > 0) {
        struct buffer *buffer = buffer_get(hg_class, HG_BULK_READ_ONLY);

        if (!buffer) {
            failed = HG_NOMEM;
            break;
        }
        got = fread(buffer->bytes, 1, BLOCK_SIZE, stdin);
        if (got > 0)
            send_block(context, addr, id, buffer, offset, (uint32_t) got);
        else
            buffer_put(buffer);
        offset += got;
        while (under_way >= DEPTH)
            progress(context);
    }
    while (under_way > 0)
        progress(context);
    if (failed == HG_SUCCESS)
        send_block(context, addr, id, NULL, offset, 0);
    while (under_way > 0)
        progress(context);
    clock_gettime(CLOCK_MONOTONIC, &to);
    HG_Addr_free(hg_class, addr);
    if (failed != HG_SUCCESS || ferror(stdin)) {
        fprintf(stderr, "stream: %s\n", HG_Error_to_string(failed));
        return 1;
    }
    seconds = (double) (to.tv_sec - from.tv_sec) +
              (double) (to.tv_nsec - from.tv_nsec) / 1e9;
    fprintf(stderr, "%.1f MiB in %.3f s, %.0f MiB/s\n",
        (double) offset / (1 << 20), seconds,
        (double) offset / (1 << 20) / seconds);
    return 0;
}

int
main(int argc, char **argv)
{
    int is_sink = argc == 4 && strcmp(argv[1], "sink") == 0;
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t id;
    int status;

    if (argc != 4 || (!is_sink && strcmp(argv[1], "source") != 0)) {
        fprintf(stderr, "usage: stream sink INFO FILE\n"
                        "       stream source INFO ADDRESS\n");
        return 2;
    }
    hg_class = HG_Init(argv[2], is_sink);
    context = hg_class ? HG_Context_create(hg_class) : NULL;
    if (!context)
        return 1; /* the library has logged the reason */
    id = MERCURY_REGISTER(
        hg_class, "block", block_in_t, block_out_t, is_sink ? on_block : NULL);
    status = is_sink ? sink(hg_class, context, argv[3])
                     : source(hg_class, context, id, argv[3]);
    buffers_free();
    HG_Context_destroy(context);
    HG_Finalize(hg_class);
    return status;
}
