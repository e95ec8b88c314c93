/* SPDX-License-Identifier: BSD-3-Clause */
/* A program that test_stranger.c installs with the set-user-ID bit: memory at an
 * address that is known in advance, and whether somebody has written to it. */
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
    /* an effective user other than the real one: the bit has had its effect */
    if (geteuid() == getuid() || write(STDOUT_FILENO, "r", 1) != 1)
        return 2;
    /* until the attacker hangs up */
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    for (size_t i = 0; i < sizeof(memory); i++)
        if (memory[i] != 0)
            return 3;
    return 0;
}
