/*
 * path.c - names of files: tests, directories made, listed and removed, globs.
 *
 * Everything that returns many names returns them sorted by byte value, so that a run does not
 * depend on the order in which a file system lists its directories.
 */
#include "base/file.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs_int.h"
#include "base/scheme.h"

bool cr_path_exists(const char *path) {
    cr_fs_stat st;
    return cr_fs_stat_path(path, true, &st, NULL) == 0;
}

bool cr_path_is_dir(const char *path) {
    cr_fs_stat st;
    return cr_fs_stat_path(path, true, &st, NULL) == 0 && st.kind == CR_FS_DIR;
}

bool cr_path_is_link(const char *path) {
    cr_fs_stat st;
    return cr_fs_stat_path(path, false, &st, NULL) == 0 && st.kind == CR_FS_LINK;
}

bool cr_same_file(const char *a, const char *b) {
    cr_fs_stat x, y;
    const cr_store *s = cr_store_of(a);
    if (s != cr_store_of(b) || cr_fs_stat_path(a, true, &x, NULL) != 0 ||
        cr_fs_stat_path(b, true, &y, NULL) != 0)
        return false;
    return x.ino || y.ino ? x.dev == y.dev && x.ino == y.ino : strcmp(a, b) == 0;
}

cr_code cr_can_write(const char *path, cr_err *err) {
    const cr_store *s = cr_store_of(path);
    int e = s && s->can_write ? s->can_write(path) : 0;
    return e == 0 ? CR_OK : cr_io_fail(err, path, "write", e);
}

cr_code cr_file_size(const char *path, int64_t *out, cr_err *err) {
    cr_fs_stat st;
    cr_fs_why why;
    int e = cr_fs_stat_path(path, true, &st, &why);
    if (e != 0) return cr_fs_fail(err, path, "open", e, &why);
    if (st.kind == CR_FS_DIR) return cr_io_fail(err, path, "read", EISDIR);
    *out = st.size;
    return CR_OK;
}

const char *cr_path_base(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* real returns path without links, from malloc, or NULL when it does not exist. A store without
 * links has nothing to resolve. */
static char *real(const char *path) {
    const cr_store *s = cr_store_of(path);
    if (s && s->real) return s->real(path);
    if (!cr_path_exists(path)) return NULL;
    char *copy = strdup(path);
    if (!copy) cr_no_memory(0, "a path");
    return copy;
}

char *cr_path_dir(cr_arena *a, const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return cr_arena_strdup(a, ".");
    return cr_arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path));
}

bool cr_path_below(const char *dir, const char *path) {
    char *a = real(*dir ? dir : "."), *b = real(path);
    size_t n = a ? strlen(a) : 0;
    while (n > 1 && a[n - 1] == '/')
        n--;
    bool below = a && b && strncmp(a, b, n) == 0 && (b[n] == '/' || (n == 1 && *a == '/'));
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
    return cr_fail(
        err, CR_ECONF,
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
    size_t n = strlen(p), first = cr_scheme_len(p);
    for (size_t i = first ? first + 3 : 1; i <= n && code == CR_OK; i++) {
        if ((p[i] != '/' && p[i] != 0) || p[i - 1] == '/') continue;
        char c = p[i];
        p[i] = 0;
        /* a parent on a read-only system may exist: only a folder that is missing afterwards is an
         * error */
        cr_fs_why why;
        int e = cr_fs_make_dir(p, &why);
        if (e != 0 && !cr_path_is_dir(p))
            code = cr_fs_fail(err, p, "make the directory", e == EEXIST ? ENOTDIR : e, &why);
        p[i] = c;
    }
    if (n == 0) code = cr_io_fail(err, path, "make the directory", ENOENT);
    free(p);
    return code;
}

cr_code cr_rmtree(const char *path, cr_err *err) {
    cr_fs_why why;
    int e = cr_fs_remove(path, true, &why);
    return e == 0 || e == ENOENT ? CR_OK : cr_fs_fail(err, path, "remove", e, &why);
}

cr_code cr_file_remove(const char *path, cr_err *err) {
    cr_fs_why why;
    int e = cr_fs_remove(path, false, &why);
    return e == 0 || e == ENOENT ? CR_OK : cr_fs_fail(err, path, "remove", e, &why);
}

/* ---- lists of names ---- */

typedef struct name {
    char *text;
    cr_fs_kind kind; /* CR_FS_UNKNOWN: ask the store */
} name;

typedef struct name_list {
    cr_arena *a;
    name *v;
    size_t n, cap;
    const char *const *exts; /* endings of the files that are wanted from folders; NULL: any */
} name_list;

static void list_add(void *ctx, const char *text, cr_fs_kind kind) {
    name_list *l = ctx;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 32;
        l->v = cr_realloc(l->v, l->cap * sizeof(*l->v), cap * sizeof(*l->v), "a list of files");
        l->cap = cap;
    }
    l->v[l->n++] = (name){cr_arena_strdup(l->a, text), kind};
}

static bool is_dir(const char *path, cr_fs_kind kind) {
    return kind == CR_FS_UNKNOWN ? cr_path_is_dir(path) : kind == CR_FS_DIR;
}

/* list_out moves the list into the arena, with a NULL after the last name. */
static char **list_out(const name_list *l) {
    char **v = cr_arena_alloc(l->a, (l->n + 1) * sizeof(*v));
    for (size_t i = 0; i < l->n; i++)
        v[i] = l->v[i].text;
    v[l->n] = NULL;
    return v;
}

static int by_bytes(const void *x, const void *y) {
    return strcmp(((const name *)x)->text, ((const name *)y)->text);
}

static void sort_from(name_list *l, size_t first) {
    if (l->n > first) qsort(l->v + first, l->n - first, sizeof(*l->v), by_bytes);
}

/* list_in adds the names in a folder to the list, sorted. In a store where folders are only
 * prefixes of names, an empty folder does not exist. */
static int list_in(name_list *l, const char *path, cr_fs_why *why) {
    const cr_store *s = cr_store_of(path);
    size_t first = l->n;
    int e;
    *why = (cr_fs_why){0};
    if (!s) return ENOENT;
    do {
        l->n = first;
        e = s->list(path, list_add, l, why);
    } while (e != 0 && cr_fs_again(s, e, &why->tries));
    if (e == ENOENT && !(s->can & CR_FS_FOLDERS)) e = 0;
    if (e != 0) l->n = first;
    sort_from(l, first);
    return e;
}

cr_code cr_list_dir(cr_arena *a, const char *path, char ***names, size_t *n, cr_err *err) {
    cr_fs_kind *kinds;
    return cr_list_kinds(a, path, names, &kinds, n, err);
}

cr_code cr_list_kinds(cr_arena *a, const char *path, char ***names, cr_fs_kind **kinds, size_t *n,
                      cr_err *err) {
    *names = NULL;
    *n = 0;
    name_list l = {.a = a};
    cr_fs_why why;
    int e = list_in(&l, path, &why);
    if (e == 0) {
        *names = list_out(&l);
        *n = l.n;
        *kinds = CR_NEW_N(a, cr_fs_kind, (int64_t)l.n + 1);
        for (size_t i = 0; i < l.n; i++)
            (*kinds)[i] = l.v[i].kind;
    }
    cr_free(l.v);
    return e == 0 ? CR_OK : cr_fs_fail(err, path, "open the directory", e, &why);
}

static bool has_ending(const char *file, const char *const *exts) {
    if (!exts) return true;
    size_t n = strlen(file);
    for (; *exts; exts++) {
        size_t k = strlen(*exts);
        if (n > k && strcmp(file + n - k, *exts) == 0) return true;
    }
    return false;
}

/* add_match adds a file, or the visible files of a directory that have one of the endings. */
static cr_code add_match(name_list *l, const name *m, const char *const *exts, cr_err *err) {
    if (!is_dir(m->text, m->kind)) {
        list_add(l, m->text, m->kind);
        return CR_OK;
    }
    name_list in = {.a = l->a};
    cr_fs_why why;
    int e = list_in(&in, m->text, &why);
    for (size_t i = 0; i < in.n; i++) {
        if (in.v[i].text[0] == '.' || !has_ending(in.v[i].text, exts)) continue;
        char *full = cr_path_join(l->a, m->text, in.v[i].text);
        if (!is_dir(full, in.v[i].kind)) list_add(l, full, CR_FS_FILE);
    }
    cr_free(in.v);
    return e == 0 ? CR_OK : cr_fs_fail(err, m->text, "open the directory", e, &why);
}

/* ---- globs, for stores without globs of their own ---- */

#define MAGIC       "*?[\\"
#define MAX_FOLDERS 6 /* levels of folders that a message looks into */

static bool has_magic(const char *s, size_t n) {
    return strcspn(s, MAGIC) < n;
}

/* match_in finds the names below the folder dir ("" or ending in a slash) that match rest, level by
 * level. */
static int match_in(name_list *l, const char *dir, const char *rest, cr_fs_why *why) {
    size_t n = strcspn(rest, "/");
    const char *next = rest[n] ? rest + n + 1 : NULL;
    char *part = cr_arena_strndup(l->a, rest, n);
    int e = 0;
    if (!has_magic(part, n)) {
        char *path = cr_arena_printf(l->a, "%s%s", dir, part);
        cr_fs_stat st;
        if (next) return match_in(l, cr_arena_printf(l->a, "%s/", path), next, why);
        e = cr_fs_stat_path(path, true, &st, why);
        if (e == 0) list_add(l, path, st.kind);
        return e == ENOENT ? 0 : e;
    }
    name_list in = {.a = l->a};
    e = list_in(&in, dir, why);
    if (e == ENOENT) e = 0;
    for (size_t i = 0; e == 0 && i < in.n; i++) {
        if (fnmatch(part, in.v[i].text, FNM_PERIOD) != 0) continue;
        char *path = cr_arena_printf(l->a, "%s%s", dir, in.v[i].text);
        if (!next)
            list_add(l, path, in.v[i].kind);
        else if (is_dir(path, in.v[i].kind))
            e = match_in(l, cr_arena_printf(l->a, "%s/", path), next, why);
    }
    cr_free(in.v);
    return e;
}

/* What match_flat looks for: paths from `root` on are compared. */
typedef struct flat {
    name_list *l;
    const char *pattern, *in_folder; /* in_folder: the files of a folder that matches */
    size_t root, fixed;
} flat;

static void flat_name(void *ctx, const char *rest, cr_fs_kind kind) {
    flat *f = ctx;
    size_t n = strlen(rest);
    (void)kind;
    if (n > 0 && rest[n - 1] == '/') return; /* an object that stands for a folder */
    char *path = cr_arena_printf(f->l->a, "%.*s%s", (int)f->fixed, f->pattern, rest);
    int how = FNM_PATHNAME | FNM_PERIOD;
    if (fnmatch(f->pattern + f->root, path + f->root, how) == 0 ||
        (has_ending(path, f->l->exts) && fnmatch(f->in_folder + f->root, path + f->root, how) == 0))
        list_add(f->l, path, CR_FS_FILE);
}

/* match_flat finds the same files as match_in, and those of folders that match, from one listing of
 * all names that begin as the pattern does: a request per page instead of one per folder. */
static int match_flat(name_list *l, const cr_store *s, const char *pattern, size_t root,
                      cr_fs_why *why) {
    flat f = {.l = l,
              .pattern = pattern,
              .in_folder = cr_arena_printf(l->a, "%s/*", pattern),
              .root = root,
              .fixed = strcspn(pattern, MAGIC)};
    char *prefix = cr_arena_strndup(l->a, pattern, f.fixed);
    size_t first = l->n;
    int e;
    *why = (cr_fs_why){0};
    do {
        l->n = first;
        e = s->list_tree(prefix, flat_name, &f, why);
    } while (e != 0 && cr_fs_again(s, e, &why->tries));
    return e;
}

/* match_one finds what one pattern without braces matches. A folder of a bucket that the pattern
 * leads into as a whole is listed flat; the root of a bucket may hold anything, so it is not. */
static int match_one(name_list *l, const char *pattern, cr_fs_why *why) {
    const cr_store *s = cr_store_of(pattern);
    size_t root = cr_scheme_len(pattern) ? cr_scheme_len(pattern) + 3 : 0, first = l->n, n = 0;
    root += strcspn(pattern + root, "/"); /* the name of a bucket or a host is not matched */
    root += pattern[root] == '/';
    size_t magic = strcspn(pattern, MAGIC);
    bool whole = s && s->list_tree && pattern[magic] &&
                 memchr(pattern + root, '/', magic > root ? magic - root : 0);
    if (whole && strchr(pattern + magic, '/')) return match_flat(l, s, pattern, root, why);
    int e = match_in(l, cr_arena_strndup(l->a, pattern, root), pattern + root, why);
    for (size_t i = first; whole && e == 0 && i < l->n; i++)
        n += l->v[i].kind == CR_FS_DIR;
    if (n < 2) return e;
    l->n = first; /* several folders match: their files are found by one listing */
    return match_flat(l, s, pattern, root, why);
}

/* brace_end returns the brace that closes the one at s, or NULL. */
static const char *brace_end(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        if (*s == '\\' && s[1])
            s++;
        else if (*s == '{')
            depth++;
        else if (*s == '}' && --depth == 0)
            return s;
    }
    return NULL;
}

/* match_all expands the braces of a pattern and matches each of its forms. */
static int match_all(name_list *l, const char *pattern, cr_fs_why *why) {
    const char *open = strchr(pattern, '{'), *close = open ? brace_end(open) : NULL;
    if (!close) return match_one(l, pattern, why);
    for (const char *s = open + 1, *end;; s = end + 1) {
        int depth = 0;
        for (end = s; end < close && (*end != ',' || depth); end++)
            depth += *end == '{' ? 1 : *end == '}' ? -1 : 0;
        char *one = cr_arena_printf(l->a, "%.*s%.*s%s", (int)(open - pattern), pattern,
                                    (int)(end - s), s, close + 1);
        int e = match_all(l, one, why);
        if (e != 0 || end == close) return e;
    }
}

/* The pattern of the folders below a directory that has no files itself, as Hive makes them
 * (day=1/hour=2/part-0): one star per level. NULL: the first folder of each level leads to no file.
 */
static const char *folders_below(cr_arena *a, const char *dir) {
    const char *stars = "", *at = dir;
    for (int depth = 0; depth < MAX_FOLDERS; depth++) {
        char **names;
        const char *next = NULL;
        size_t n;
        if (cr_list_dir(a, at, &names, &n, NULL) != CR_OK) return NULL;
        for (size_t i = 0; i < n; i++) {
            const char *path = cr_path_join(a, at, names[i]);
            if (names[i][0] == '.' || names[i][0] == '_') continue;
            if (!cr_path_is_dir(path)) return *stars ? cr_path_join(a, dir, stars + 1) : NULL;
            if (!next) next = path;
        }
        if (!next) return NULL;
        at = next;
        stars = cr_arena_printf(a, "%s/*", stars);
    }
    return NULL;
}

static cr_code nothing_found(cr_arena *a, const char *item, const char *const *exts, cr_err *err) {
    cr_loc at = {item, 0, 0};
    if (!cr_path_is_dir(item)) return cr_fail_at(err, CR_EIO, at, "no file found; check the path");
    char kinds[128] = "";
    for (size_t i = 0, n = 0; exts && exts[i] && n < sizeof(kinds); i++)
        n += (size_t)snprintf(kinds + n, sizeof(kinds) - n, "%s%s", i ? " or " : " ending in ",
                              exts[i]);
    /* files of another kind are there: perhaps the path is right and the format is not */
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
    const char *below = folders_below(a, item);
    if (below)
        return cr_fail_at(err, CR_EIO, at,
                          "the directory holds folders and no file%s; write '%s' for the files in "
                          "them",
                          kinds, below);
    return cr_fail_at(err, CR_EIO, at, "the directory holds no file%s; check the path", kinds);
}

bool cr_is_stdin(const char *path) {
    return strcmp(path, "-") == 0 || strcmp(path, CR_STDIN) == 0;
}

/* find_item looks for the files of one item on its store; they are sorted. */
static cr_code find_item(cr_arena *a, name_list *l, const char *item, const char *const *exts,
                         cr_err *err) {
    size_t first = l->n;
    cr_code code = CR_OK;
    cr_fs_stat st;
    cr_fs_why why;
    const cr_store *s = cr_store_of(item);
    /* Far away a question costs a request, and names with * are rare: the pattern comes first. */
    bool later = s && s->can & CR_FS_FAR && has_magic(item, strlen(item));
    int e = later ? ENOENT : cr_fs_stat_path(item, true, &st, &why);
    name_list found = {.a = a, .exts = exts};
    if (e == 0)
        list_add(&found, item, st.kind); /* an existing file may have [ or * in its name */
    else if (s && s->glob)
        e = s->glob(item, list_add, &found);
    else if (e == ENOENT)
        e = match_all(&found, item, &why);
    if (e == 0 && later && found.n == 0 && cr_fs_stat_path(item, true, &st, &why) == 0)
        list_add(&found, item, st.kind);
    if (e == ENOMEM)
        code = cr_fail(err, CR_ENOMEM, "no memory to expand '%s'", item);
    else if (e != 0)
        code = cr_fs_fail(err, item, "list the files", e, &why);
    for (size_t i = 0; i < found.n && code == CR_OK; i++)
        code = add_match(l, &found.v[i], exts, err);
    cr_free(found.v);
    CR_TRY(code);
    if (l->n == first) return nothing_found(a, item, exts, err);
    sort_from(l, first);
    /* braces may name a file twice */
    size_t n = first + 1;
    for (size_t i = first + 1; i < l->n; i++) {
        if (strcmp(l->v[i].text, l->v[n - 1].text) != 0) l->v[n++] = l->v[i];
    }
    l->n = n;
    return CR_OK;
}

static cr_code add_item(cr_arena *a, name_list *l, const char *item, const char *const *exts,
                        cr_err *err) {
    if (cr_is_stdin(item) || cr_scheme_rows(item)) {
        list_add(l, cr_scheme_rows(item) ? item : CR_STDIN, CR_FS_OTHER);
        return CR_OK;
    }
    if (!cr_store_can(item, CR_FS_FAR)) return find_item(a, l, item, exts, err);
    char *key = cr_arena_strdup(a, item);
    for (const char *const *e = exts; e && *e; e++)
        key = cr_arena_printf(a, "%s\n%s", key, *e);
    if (cr_kept_get(key, list_add, l)) return CR_OK;
    name_list found = {.a = a};
    cr_code code = find_item(a, &found, item, exts, err);
    char **names = list_out(&found);
    if (code == CR_OK)
        cr_kept_put(key, strcspn(item, MAGIC "{"), (const char *const *)names, found.n);
    for (size_t i = 0; i < found.n && code == CR_OK; i++)
        list_add(l, names[i], found.v[i].kind);
    cr_free(found.v);
    return code;
}

const char *cr_glob_item_end(const char *s) {
    int braces = 0;
    while (isspace((unsigned char)*s))
        s++;
    if (cr_scheme_rows(s)) /* commas between hosts belong to the address */
        s += cr_scheme_len(s) + 3 + strcspn(s + cr_scheme_len(s) + 3, "/");
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
    name_list l = {.a = a};
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
        *paths = list_out(&l);
        *n = l.n;
    }
    cr_free(l.v);
    return code;
}
