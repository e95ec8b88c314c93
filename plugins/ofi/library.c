/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libfabric. Were it linked, its own libraries' constructors would run
 * before anything of the plugin: libinfinipath's sets handlers of signals. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <rdma/fi_errno.h>

#include "common/log.h"
#include "common/system.h"
#include "library.h"
#include "na_plugin.h"

#define SONAME "libfabric.so.1"

OFI_LIBRARY_NOTE("[{\"feature\":\"ofi\","
                 "\"description\":\"Transports of libfabric\","
                 "\"priority\":\"required\",\"soname\":[\"" SONAME "\"]}]");

struct ofi_library ofi_library;

void *
ofi_library_open(const char *soname, const struct ofi_symbol *symbols,
    const char **missing_p)
{
    static char missing[128];
    void *object = dlopen(soname, RTLD_NOW | RTLD_LOCAL);

    if (object == NULL) {
        *missing_p = dlerror();
        return NULL;
    }
    for (; symbols->name != NULL; symbols++) {
        void *address = dlsym(object, symbols->name);
        if (address == NULL) {
            snprintf(missing, sizeof(missing), "%s has no %s", soname,
                symbols->name);
            *missing_p = missing;
            dlclose(object);
            return NULL;
        }
        memcpy(symbols->function_p, &address, sizeof(address));
    }
    return object;
}

int32_t
ofi_library_load(const na_plugin_host *host)
{
    struct ofi_library library;
    const char *missing = NULL;
    const struct ofi_symbol symbols[] = {{"fi_version", &library.version},
        {"fi_getinfo", &library.getinfo}, {"fi_dupinfo", &library.dupinfo},
        {"fi_freeinfo", &library.freeinfo}, {"fi_fabric", &library.fabric},
        {"fi_strerror", &library.strerror}, {NULL, NULL}};

    if (ofi_library.version != NULL)
        return NA_PLUGIN_OK;
    void *object = ofi_library_open(SONAME, symbols, &missing);
    if (object == NULL) {
        TP_LOG(host, ERROR, "libfabric cannot be loaded: %s", missing);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    uint32_t version = library.version();
    if (FI_VERSION_LT(version, OFI_API)) {
        TP_LOG(host, ERROR, "libfabric %u.%u is too old: %u.%u is needed",
            FI_MAJOR(version), FI_MINOR(version), FI_MAJOR(OFI_API),
            FI_MINOR(OFI_API));
        dlclose(object);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    ofi_library = library;
    return NA_PLUGIN_OK;
}

/* No thread may note what another thread's call has set temporarily. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void
ofi_signals_note(struct ofi_signals *signals)
{
    pthread_mutex_lock(&lock);
    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &signals->actions[i]) != 0)
            signals->actions[i].sa_handler = SIG_ERR;
}

void
ofi_signals_restore(const struct ofi_signals *signals)
{
    struct sigaction now;

    for (int i = 1; i < NSIG; i++)
        if (signals->actions[i].sa_handler != SIG_ERR &&
            sigaction(i, NULL, &now) == 0 &&
            now.sa_handler != signals->actions[i].sa_handler)
            sigaction(i, &signals->actions[i], NULL);
    pthread_mutex_unlock(&lock);
}

int32_t
ofi_error_code(int error)
{
#ifdef FI_EFIREWALLADDR
    if (error == FI_EFIREWALLADDR)
        return NA_PLUGIN_E_HOSTFIREWALL;
#endif
    if (error == FI_ETRUNC)
        return NA_PLUGIN_E_MSGSIZE;
    return ofi_error_is_loss(error) ? NA_PLUGIN_E_HOSTUNREACH
                                    : tp_error_code(error);
}

bool
ofi_error_is_loss(int error)
{
    /* of a closed connection: the plugin cancels nothing; and ENOENT of sockets,
     * when it could not connect */
    return error == FI_ECANCELED || error == EIO || error == ENOENT ||
           tp_error_code(error) == NA_PLUGIN_E_HOSTUNREACH;
}
