/*
 * plugin.c - which libraries may be loaded, and dlopen, with messages of one line.
 */
#include "base/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/self.h"
#include "base/sha256.h"

#define MOST_BYTES ((size_t)1 << 30)
#define MOST_LIST  ((size_t)1 << 20)
#define LIST       "crank/libraries"

static bool all_allowed; /* set once, before any thread */

void cr_plugin_allow(void) {
    all_allowed = true;
}

/* list_path gives the user's list of digests: $XDG_CONFIG_HOME/crank/libraries, else
 * ~/.config/crank/libraries. */
static bool list_path(char *out, size_t size) {
    const char *dir = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int n = dir && *dir == '/' ? snprintf(out, size, "%s/" LIST, dir)
            : home && *home    ? snprintf(out, size, "%s/.config/" LIST, home)
                               : -1;
    return n > 0 && (size_t)n < size;
}

/* is_digest: does the line hold a digest? A line of the list is a digest and, after blanks, a
 * comment; lines that begin with # and empty lines are ignored. */
static bool is_digest(const char *line) {
    return strspn(line, "0123456789abcdefABCDEF") == CR_SHA256_TEXT &&
           strchr(" \t\r\n", line[CR_SHA256_TEXT]) != NULL;
}

static bool is_listed(const char *digest) {
    static bool told; /* mistakes in the list are reported only once */
    char path[4096];
    cr_buf text;
    bool found = false;
    int number = 0;
    if (!list_path(path, sizeof(path))) return false;
    cr_buf_init(&text);
    if (cr_file_read(path, MOST_LIST, &text, NULL) == CR_OK)
        for (const char *p = text.data, *next; p; p = next) {
            next = strchr(p, '\n');
            if (next) next++;
            number++;
            p += strspn(p, " \t");
            if (!*p || strchr("#\r\n", *p)) continue;
            if (!is_digest(p) && !told)
                CR_WARN("%s:%d: the line does not begin with a SHA-256 digest, so it allows "
                        "nothing; write the output of sha256sum there, or # in front",
                        path, number);
            found = found || (is_digest(p) && strncasecmp(p, digest, CR_SHA256_TEXT) == 0);
        }
    told = true;
    cr_buf_clear(&text);
    return found;
}

/* list_shown returns the list as a cure names it; "" when the environment names no folder for
 * it. */
static const char *list_shown(char *path, size_t size) {
    const char *dir = getenv("XDG_CONFIG_HOME");
    if (!list_path(path, size)) return "";
    return dir && *dir == '/' ? path : "~/.config/" LIST;
}

static cr_code may_load(const char *path, const char *file, cr_err *err) {
    if (all_allowed) return CR_OK;
    cr_buf code;
    cr_buf_init(&code);
    cr_code ok = cr_file_read(file, MOST_BYTES, &code, err);
    char digest[CR_SHA256_TEXT + 1];
    if (ok == CR_OK) cr_sha256_text(code.data, code.n, digest);
    cr_buf_clear(&code);
    if (ok != CR_OK) return ok;
    if (is_listed(digest)) return CR_OK;
    char list[4096];
    const char *shown = list_shown(list, sizeof(list));
    if (!*shown)
        return cr_fail(err, CR_ECONF,
                       "library '%.150s' is not loaded: its code could do anything; when you trust "
                       "it, give --allow_libraries",
                       path);
    return cr_fail(err, CR_ECONF,
                   "library '%.150s' is not loaded: its code could do anything; when you trust it, "
                   "give --allow_libraries, or add the line '%s %.40s' to %.120s",
                   path, digest, cr_path_base(path), shown);
}

/* reason returns the linker's own words, without the path, which our message has in front. */
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
    if (!cr_store_can(path, CR_FS_LOCAL))
        return cr_fail(
            err, CR_ECONF,
            "library '%s' is not on the local disk, from which alone libraries are loaded; "
            "copy it there and give that path",
            path);
    if (access(file, R_OK) != 0)
        return cr_fail(err, CR_ECONF,
                       "cannot read library '%s': %s; give the path of a shared library, seen from "
                       "the folder crank runs in",
                       path, strerror(errno));
    CR_TRY(may_load(path, file, err));
    /* with RTLD_NOW a missing symbol is reported here and not in the middle of a run */
    cr_guard_crashes();
    char what[256];
    snprintf(what, sizeof(what), "library '%.200s'", path);
    cr_guard g = {.what = what, .function = "its constructors"};
    cr_guard_enter(&g);
    void *lib = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    cr_guard_leave(&g);
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

cr_code cr_plugin_file(const char *name, const char *cure, char *path, size_t size, cr_err *err) {
    static const char *const places[] = {"%.*s/%s", "%.*s/../lib/crank/%s"};
    char self[CR_SELF_MAX];
    (void)cr_self_file(self);
    const char *slash = strrchr(self, '/');
    int dir = slash ? (int)(slash - self) : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int k = snprintf(path, size, places[i], dir, self, name);
        if (k >= 0 && (size_t)k < size && access(path, R_OK) == 0) return CR_OK;
    }
    return cr_fail(err, CR_ERUN, "%s is missing beside %s; %s", name, self, cure);
}

cr_code cr_plugin_own(const char *name, const char *symbol, int abi, const char *cure, void **out,
                      cr_err *err) {
    char file[4096];
    CR_TRY(cr_plugin_file(name, cure, file, sizeof file, err));
    void *lib = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    if (!lib)
        return cr_fail(err, CR_ERUN, "%s does not load: %s; install what it needs", file,
                       reason(file));
    *out = dlsym(lib, symbol);
    if (*out && *(const int *)*out == abi) return CR_OK;
    return cr_fail(err, CR_ERUN,
                   "%s belongs to another version of crank; build or install the two together",
                   file);
}
