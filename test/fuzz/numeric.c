/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of hosts are not looked up: no fuzzer asks the network. */
#include <netdb.h>

int __real_getaddrinfo(const char *node, const char *service,
    const struct addrinfo *hints, struct addrinfo **found_p);
int __wrap_getaddrinfo(const char *node, const char *service,
    const struct addrinfo *hints, struct addrinfo **found_p);

int
__wrap_getaddrinfo(const char *node, const char *service,
    const struct addrinfo *hints, struct addrinfo **found_p)
{
    struct addrinfo numeric = hints ? *hints : (struct addrinfo){0};

    numeric.ai_flags |= AI_NUMERICHOST | AI_NUMERICSERV;
    return __real_getaddrinfo(node, service, &numeric, found_p);
}
