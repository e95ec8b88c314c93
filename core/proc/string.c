/* SPDX-License-Identifier: BSD-3-Clause */
/* Strings in a message: 8 bytes of length, which counts the terminating zero
 * and is 0 for a NULL string; then the bytes, and two zero bytes. Mercury has
 * these two as well, and programs rely on the size. */
#include <stdlib.h>

#include "mercury_proc_string.h"
#include "proc/proc.h"

#define LENGTH_SIZE sizeof(uint64_t)
#define TAIL_SIZE 2

hg_return_t
proc_string_encode(struct hg_proc *proc, const char *string)
{
    uint64_t length = string != NULL ? strlen(string) + 1 : 0;
    uint64_t tail = string != NULL ? TAIL_SIZE : 0;
    hg_return_t ret = proc_need(proc, LENGTH_SIZE + length + tail);

    if (ret != HG_SUCCESS)
        return ret;
    proc_copy_integer(proc->pos, (const char *) &length, LENGTH_SIZE);
    proc->pos += LENGTH_SIZE;
    if (length > 0) {
        memcpy(proc->pos, string, (size_t) length);
        memset(proc->pos + length, 0, TAIL_SIZE);
        proc->pos += length + TAIL_SIZE;
    }
    return HG_SUCCESS;
}

hg_return_t
proc_string_decode(struct hg_proc *proc, char **string_p)
{
    uint64_t length, left;
    const char *bytes;
    char *string;

    if (proc_left(proc) < LENGTH_SIZE)
        return HG_OVERFLOW;
    proc_copy_integer((char *) &length, proc->pos, LENGTH_SIZE);
    if (length == 0) {
        proc->pos += LENGTH_SIZE;
        *string_p = NULL;
        return HG_SUCCESS;
    }
    left = proc_left(proc) - LENGTH_SIZE;
    if (left < TAIL_SIZE || length > left - TAIL_SIZE)
        return HG_OVERFLOW;
    bytes = proc->pos + LENGTH_SIZE;
    if (memchr(bytes, '\0', (size_t) length) != bytes + length - 1 ||
        bytes[length] != '\0' || bytes[length + 1] != '\0')
        return HG_PROTOCOL_ERROR;

    string = malloc((size_t) length);
    if (string == NULL)
        return HG_NOMEM;
    /* Terminated here, since a peer may be able to write to the buffer. */
    memcpy(string, bytes, (size_t) length - 1);
    string[length - 1] = '\0';
    proc->pos += LENGTH_SIZE + length + TAIL_SIZE;
    *string_p = string;
    return HG_SUCCESS;
}

/* data points to a char * or a const char *; memcpy may access both. */
static hg_return_t
process(struct hg_proc *proc, void *data)
{
    char *string = NULL;
    hg_return_t ret;

    if (proc->op == HG_DECODE) {
        ret = proc_string_decode(proc, &string);
        if (ret == HG_SUCCESS)
            memcpy(data, &string, sizeof(string));
        return ret;
    }

    memcpy(&string, data, sizeof(string));
    if (proc->op == HG_ENCODE)
        return proc_string_encode(proc, string);
    free(string);
    string = NULL;
    memcpy(data, &string, sizeof(string));
    return HG_SUCCESS;
}

hg_return_t
hg_proc_hg_string_t(hg_proc_t proc, void *data)
{
    return process(proc, data);
}

hg_return_t
hg_proc_hg_const_string_t(hg_proc_t proc, void *data)
{
    return process(proc, data);
}
