/*
 * path.c - names of files: tests, directories made, listed and removed, globs.
 *
 * Everything that returns many names returns them sorted by byte value, so that a run does not
 * depend on the order in which a file system lists its directories.
 */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/kill_point.h"

bool cr_path_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

bool cr_path_is_dir(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool cr_path_is_link(const char *path) {
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

bool cr_same_file(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

cr_code cr_can_write(const char *path, cr_err *err) {
    struct stat st;
    if (stat(path, &st) == 0) {
        int e = S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
        return e == 0 ? CR_OK : cr_io_fail(err, path, "write", e);
    }
    if (errno != ENOENT) return cr_io_fail(err, path, "write", errno);
    char *dir = strdup(path);
    if (!dir) cr_no_memory(0, "a path");
    char *slash = strrchr(dir, '/');
    if (slash) slash[slash == dir] = 0;
    int e = access(slash ? dir : ".", W_OK | X_OK) != 0 ? errno : 0;
    free(dir);
    return e == 0 ? CR_OK : cr_io_fail(err, path, "write", e);
}

cr_code cr_file_size(const char *path, int64_t *out, cr_err *err) {
    struct stat st;
    if (stat(path, &st) != 0) return cr_io_fail(err, path, "open", errno);
    if (S_ISDIR(st.st_mode)) return cr_io_fail(err, path, "read", EISDIR);
    *out = (int64_t)st.st_size;
    return CR_OK;
}

const char *cr_path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool cr_path_below(const char *dir, const char *path) {
    char *a = realpath(*dir ? dir : ".", NULL), *b = realpath(path, NULL);
    size_t n = a ? strlen(a) : 0;
    bool below = a && b && strncmp(a, b, n) == 0 && (b[n] == '/' || n == 1);
    free(a);
    free(b);
    return below;
}

static bool has_dots(const char *path) {
    for (const char *p = path; p; p = strchr(p, '/')) {
        p += *p == '/';
        if (strncmp(p, "..", 2) == 0 && (p[2] == '/' || p[2] == 0)) return true;
    }
    return false;
}

cr_code cr_path_inside(const char *dir, const char *path, cr_err *err) {
    size_t n = strcmp(dir, ".") == 0 ? 0 : strlen(dir); /* cr_path_join leaves "." out */
    bool begins = n == 0 ? path[0] != '/'
                         : strncmp(path, dir, n) == 0 && (path[n] == '/' || dir[n - 1] == '/');
    if (begins && !has_dots(path + n) && (!cr_path_exists(path) || cr_path_below(dir, path)))
        return CR_OK;
    return cr_fail(err, CR_ECONF,
                   "'%s' lies outside of '%s'; an export reads its own files only: put the file into "
                   "it, and no absolute path, '..' or link in its place",
                   path, dir);
}

char *cr_path_join(cr_arena *a, const char *dir, const char *name) {
    bool no_dir = dir[0] == 0 || strcmp(dir, ".") == 0;
    bool no_name = name[0] == 0 || strcmp(name, ".") == 0;
    if (no_name) return cr_arena_strdup(a, no_dir ? "." : dir);
    if (no_dir || name[0] == '/') return cr_arena_strdup(a, name);
    const char *sep = dir[strlen(dir) - 1] == '/' ? "" : "/";
    return cr_arena_printf(a, "%s%s%s", dir, sep, name);
}

cr_code cr_mkdirs(const char *path, cr_err *err) {
    char *p = strdup(path);
    if (!p) cr_no_memory(0, "a path");
    cr_code code = CR_OK;
    size_t n = strlen(p);
    for (size_t i = 1; i <= n && code == CR_OK; i++) {
        if ((p[i] != '/' && p[i] != 0) || p[i - 1] == '/') continue;
        char c = p[i];
        p[i] = 0;
        /* a parent on a read-only system may exist: only what is missing afterwards is an error */
        cr_kill_point("mkdir");
        if (mkdir(p, 0777) != 0) {
            int e = errno;
            if (!cr_path_is_dir(p))
                code = cr_io_fail(err, p, "make the directory", e == EEXIST ? ENOTDIR : e);
        }
        p[i] = c;
    }
    if (n == 0) code = cr_io_fail(err, path, "make the directory", ENOENT);
    free(p);
    return code;
}

/* remove_in removes everything in the directory behind fd, and closes fd. Returns errno or 0. */
static int remove_in(int fd) {
    DIR *d = fdopendir(fd);
    if (!d) {
        int e = errno;
        close(fd);
        return e;
    }
    int e = 0;
    struct dirent *ent;
    while (e == 0 && (errno = 0, ent = readdir(d))) {
        const char *name = ent->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        cr_kill_point("remove");
        if (unlinkat(fd, name, 0) == 0 || errno == ENOENT) continue;
        if (errno != EISDIR && errno != EPERM) { /* EPERM: what POSIX says for a directory */
            e = errno;
            break;
        }
        int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub < 0) {
            e = errno == ENOTDIR ? EPERM : errno;
            break;
        }
        e = remove_in(sub);
        if (e == 0 && unlinkat(fd, name, AT_REMOVEDIR) != 0 && errno != ENOENT) e = errno;
    }
    if (e == 0 && !ent && errno) e = errno;
    closedir(d);
    return e;
}

cr_code cr_rmtree(const char *path, cr_err *err) {
    struct stat st;
    int e = 0;
    if (lstat(path, &st) != 0)
        e = errno;
    else if (!S_ISDIR(st.st_mode))
        e = unlink(path) != 0 ? errno : 0;
    else {
        int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        e = fd < 0 ? errno : remove_in(fd);
        cr_kill_point("remove");
        if (e == 0 && rmdir(path) != 0) e = errno;
    }
    return e == 0 || e == ENOENT ? CR_OK : cr_io_fail(err, path, "remove", e);
}

/* ---- lists of names ---- */

typedef struct name_list {
    char **v;
    size_t n, cap;
} name_list;

static void list_add(name_list *l, char *name) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 32;
        l->v = cr_realloc(l->v, l->cap * sizeof(*l->v), cap * sizeof(*l->v), "a list of files");
        l->cap = cap;
    }
    l->v[l->n++] = name;
}

/* list_out moves the list into the arena, with a NULL behind the last name. */
static char **list_out(cr_arena *a, const name_list *l) {
    char **v = cr_arena_alloc(a, (l->n + 1) * sizeof(*v));
    if (l->n) memcpy(v, l->v, l->n * sizeof(*v));
    v[l->n] = NULL;
    return v;
}

static int by_bytes(const void *x, const void *y) {
    return strcmp(*(char *const *)x, *(char *const *)y);
}

static void sort_from(name_list *l, size_t first) {
    if (l->n > first) qsort(l->v + first, l->n - first, sizeof(*l->v), by_bytes);
}

cr_code cr_list_dir(cr_arena *a, const char *path, char ***names, size_t *n, cr_err *err) {
    *names = NULL;
    *n = 0;
    DIR *d = opendir(path);
    if (!d) return cr_io_fail(err, path, "open the directory", errno);
    name_list l = {0};
    struct dirent *ent;
    while (errno = 0, (ent = readdir(d))) {
        if (strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0)
            list_add(&l, cr_arena_strdup(a, ent->d_name));
    }
    int e = errno;
    closedir(d);
    cr_code code = CR_OK;
    if (e != 0)
        code = cr_io_fail(err, path, "list the directory", e);
    else {
        sort_from(&l, 0);
        *names = list_out(a, &l);
        *n = l.n;
    }
    cr_free(l.v);
    return code;
}

static bool has_ending(const char *name, const char *const *exts) {
    if (!exts) return true;
    size_t n = strlen(name);
    for (; *exts; exts++) {
        size_t k = strlen(*exts);
        if (n > k && strcmp(name + n - k, *exts) == 0) return true;
    }
    return false;
}

/* add_match adds a file, or the visible files of a directory that have one of the endings. */
static cr_code add_match(cr_arena *a, name_list *l, const char *path, const char *const *exts,
                         cr_err *err) {
    if (!cr_path_is_dir(path)) {
        list_add(l, cr_arena_strdup(a, path));
        return CR_OK;
    }
    char **names;
    size_t n;
    CR_TRY(cr_list_dir(a, path, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (names[i][0] == '.' || !has_ending(names[i], exts)) continue;
        char *full = cr_path_join(a, path, names[i]);
        if (!cr_path_is_dir(full)) list_add(l, full);
    }
    return CR_OK;
}

static cr_code nothing_found(cr_arena *a, const char *item, const char *const *exts, cr_err *err) {
    cr_loc at = {item, 0, 0};
    if (!cr_path_is_dir(item)) return cr_fail_at(err, CR_EIO, at, "no file found; check the path");
    char kinds[128] = "";
    for (size_t i = 0, n = 0; exts && exts[i] && n < sizeof(kinds); i++)
        n += (size_t)snprintf(kinds + n, sizeof(kinds) - n, "%s%s", i ? " or " : " ending in ",
                              exts[i]);
    /* files of another kind: perhaps the path is right and the format is not */
    char **names;
    size_t n = 0, i = 0;
    if (cr_list_dir(a, item, &names, &n, err) != CR_OK) n = 0;
    while (i < n && (names[i][0] == '.' || cr_path_is_dir(cr_path_join(a, item, names[i]))))
        i++;
    if (i < n)
        return cr_fail_at(err, CR_EIO, at,
                          "the directory holds no file%s, but '%.100s'; check the path, or "
                          "dataset_type in the config",
                          kinds, names[i]);
    return cr_fail_at(err, CR_EIO, at, "the directory holds no file%s; check the path", kinds);
}

bool cr_is_stdin(const char *path) {
    return strcmp(path, "-") == 0 || strcmp(path, CR_STDIN) == 0;
}

static cr_code add_item(cr_arena *a, name_list *l, const char *item, const char *const *exts,
                        cr_err *err) {
    size_t first = l->n;
    cr_code code = CR_OK;
    if (cr_is_stdin(item)) {
        list_add(l, cr_arena_strdup(a, CR_STDIN));
        return CR_OK;
    }
    if (cr_path_exists(item))
        code = add_match(a, l, item, exts, err); /* may contain [ or * */
    else {
        glob_t g;
        int rc = glob(item, GLOB_NOSORT | GLOB_BRACE | GLOB_TILDE, NULL, &g);
        if (rc == GLOB_NOSPACE) code = cr_fail(err, CR_ENOMEM, "no memory to expand '%s'", item);
        for (size_t i = 0; rc == 0 && i < g.gl_pathc && code == CR_OK; i++)
            code = add_match(a, l, g.gl_pathv[i], exts, err);
        globfree(&g);
    }
    CR_TRY(code);
    if (l->n == first) return nothing_found(a, item, exts, err);
    sort_from(l, first);
    /* braces may name a file twice */
    size_t n = first + 1;
    for (size_t i = first + 1; i < l->n; i++) {
        if (strcmp(l->v[i], l->v[n - 1]) != 0) l->v[n++] = l->v[i];
    }
    l->n = n;
    return CR_OK;
}

const char *cr_glob_item_end(const char *s) {
    int braces = 0;
    for (; *s; s++) {
        if (*s == '\\' && s[1])
            s++;
        else if (*s == '{')
            braces++;
        else if (*s == '}' && braces > 0)
            braces--;
        else if (*s == '[') {
            const char *close = strchr(s + 1, ']');
            if (close) s = close;
        } else if (*s == ',' && braces == 0)
            break;
    }
    return s;
}

cr_code cr_glob(cr_arena *a, const char *patterns, const char *const *exts, char ***paths,
                size_t *n, cr_err *err) {
    *paths = NULL;
    *n = 0;
    name_list l = {0};
    cr_code code = CR_OK;
    for (const char *s = patterns, *end; code == CR_OK; s = end + 1) {
        end = cr_glob_item_end(s);
        const char *from = s, *to = end;
        while (from < to && (*from == ' ' || *from == '\t' || *from == '\n'))
            from++;
        while (to > from && (to[-1] == ' ' || to[-1] == '\t' || to[-1] == '\n'))
            to--;
        if (from < to)
            code = add_item(a, &l, cr_arena_strndup(a, from, (size_t)(to - from)), exts, err);
        if (*end == 0) break;
    }
    if (code == CR_OK && l.n == 0)
        code = cr_fail(err, CR_EIO, "no input path given ('%s'); name a file or a directory",
                       patterns);
    if (code == CR_OK) {
        *paths = list_out(a, &l);
        *n = l.n;
    }
    cr_free(l.v);
    return code;
}
