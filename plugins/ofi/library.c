/* SPDX-License-Identifier: BSD-3-Clause */
/* Loading libfabric. Were it linked, its own libraries' constructors would run
 * before anything of the plugin: libinfinipath's sets handlers of signals. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#include "common/log.h"
#include "library.h"
#include <pthread.h>

#define SONAME "libfabric.so.1"

/* For those who make packages: what is needed without being linked, in the form
 * of systemd's note for loaded libraries. */
#define NOTE                                                                   \
    "[{\"feature\":\"ofi\",\"description\":\"Transports of libfabric\","       \
    "\"priority\":\"required\",\"soname\":[\"" SONAME "\"]}]"
#define NOTE_TYPE 0x407C0C0AU

__attribute__((used, aligned(4), section(".note.dlopen"))) static const struct {
    uint32_t owner_size;
    uint32_t text_size;
    uint32_t type;
    char owner[4];
    char text[sizeof(NOTE)];
} note = {4, sizeof(NOTE), NOTE_TYPE, "FDO", NOTE};

struct ofi_library ofi_library;

/* Of each name the newest version: infos, which have grown in the course of
 * time, are all made by libfabric itself. */
static bool
find(void *object, const char *name, void *function_p)
{
    void *address = dlsym(object, name);

    memcpy(function_p, &address, sizeof(address));
    return address != NULL;
}

static bool
find_all(void *object, struct ofi_library *library, const char **missing_p)
{
    const struct {
        const char *name;
        void *function_p;
    } wanted[] = {{"fi_version", &library->version},
        {"fi_getinfo", &library->getinfo}, {"fi_dupinfo", &library->dupinfo},
        {"fi_freeinfo", &library->freeinfo}, {"fi_fabric", &library->fabric},
        {"fi_strerror", &library->strerror}};

    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        if (!find(object, wanted[i].name, wanted[i].function_p)) {
            *missing_p = wanted[i].name;
            return false;
        }
    return true;
}

int32_t
ofi_library_load(const na_plugin_host *host)
{
    struct ofi_library library;
    const char *missing = NULL;

    if (ofi_library.version != NULL)
        return NA_PLUGIN_OK;
    void *object = dlopen(SONAME, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL) {
        TP_LOG(host, ERROR, "libfabric cannot be loaded: %s", dlerror());
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    if (!find_all(object, &library, &missing)) {
        TP_LOG(host, ERROR, "what was loaded as " SONAME " has no %s", missing);
        dlclose(object);
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

/* Nobody may note what another thread's call has set for the moment. */
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
