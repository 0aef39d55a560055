/*
 * plugin.c - dlopen, with messages of one line.
 */
#include "base/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The linker's own words, without the path that our message has in front. */
static const char *reason(const char *path) {
    const char *text = dlerror();
    if (!text) return "unknown reason";
    size_t n = strlen(path);
    if (strncmp(text, path, n) == 0 && strncmp(text + n, ": ", 2) == 0) return text + n + 2;
    return text;
}

cr_code cr_plugin_open(const char *path, const char *symbol, int abi, const char *header,
                       const void **out, cr_err *err) {
    *out = NULL;
    char file[4096];
    /* without a slash dlopen would look through the system's folders */
    int n = snprintf(file, sizeof(file), "%s%s", strchr(path, '/') ? "" : "./", path);
    if (n < 0 || (size_t)n >= sizeof(file))
        return cr_fail(err, CR_ECONF, "library path is too long; use a shorter one");
    if (access(file, R_OK) != 0)
        return cr_fail(err, CR_ECONF,
                       "cannot read library '%s': %s; give the path of a shared library, seen from "
                       "the folder crank runs in",
                       path, strerror(errno));
    /* RTLD_NOW: a symbol that is missing is told here, not in the middle of a run */
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return cr_fail(err, CR_ECONF,
                       "library '%s' does not load: %s; build it with `cc -shared -fPIC` for this "
                       "machine",
                       path, reason(file));
    const void *entry = dlsym(lib, symbol);
    if (!entry) {
        dlclose(lib);
        return cr_fail(err, CR_ECONF, "library '%s' has no object '%s'; define it as %s shows",
                       path, symbol, header);
    }
    int has;
    memcpy(&has, entry, sizeof(has));
    if (has != abi) {
        dlclose(lib);
        return cr_fail(err, CR_ECONF,
                       "library '%s' was compiled for interface %d of %s, this crank has %d; "
                       "compile it again with the header of this version",
                       path, has, header, abi);
    }
    *out = entry;
    return CR_OK;
}
