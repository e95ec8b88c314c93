/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that test_other_user.c installs with the set-user-ID bit: memory at
 * a known address; reports whether it was written to. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned char memory[4096];

int
main(int argc, char **argv)
{
    char byte;

    if (argc > 1 && strcmp(argv[1], "--address") == 0) {
        printf("%#" PRIxPTR "\n", (uintptr_t) memory);
        return 0;
    }
    /* effective and real user differ: the set-user-ID bit took effect */
    if (geteuid() == getuid() || write(STDOUT_FILENO, "r", 1) != 1)
        return 2;
    /* until the attacker closes it */
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    for (size_t i = 0; i < sizeof(memory); i++)
        if (memory[i] != 0)
            return 3;
    return 0;
}
