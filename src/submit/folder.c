/*
 * folder.c - the folder of a job: which files it gets, and writing them.
 *
 * Files are copied flat, as PaddleRec's submission does: two of the same name, a pattern without a
 * match and a folder among them are told before anything is written; there they overwrite each
 * other, or are left out. A folder with secrets is 0700, its files 0600; it is made so before the
 * first byte is written. A copy of a program can be executed, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/shown.h"
#include "base/stop.h"
#include "submit/submit_int.h"

#define PIECE ((size_t)1 << 20) /* bytes that are copied at once */

bool cr_owner_only(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && (!S_ISREG(st.st_mode) || (st.st_mode & 077) == 0);
}

bool cr_folder_has(const cr_submit *s, const char *name) {
    for (int i = 0; i < s->n_files; i++)
        if (strcmp(s->files[i].name, name) == 0) return true;
    return false;
}

void cr_folder_dots(const cr_submit *s, cr_buf *out, const char *prefix) {
    for (int i = 0; i < s->n_files; i++)
        if (s->files[i].name[0] == '.')
            cr_buf_printf(out, " %s%s", prefix, cr_sh(s->a, s->files[i].name));
}

/* Neither a pipe nor a device, whose reading may never end. */
static bool is_readable(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, R_OK) == 0;
}

void cr_folder_add(cr_submit *s, const char *path, cr_loc at) {
    cr_err err;
    cr_upload u = {.path = path, .name = cr_path_base(path)};
    for (int i = 0; i < s->n_files; i++) {
        if (strcmp(s->files[i].name, u.name) != 0) continue;
        if (!cr_same_file(s->files[i].path, path))
            cr_submit_wrong(s, at,
                            "files: %s and %s have the same name, and all files lie in one folder "
                            "on the nodes; rename one of them",
                            cr_shown(s->a, s->files[i].path), cr_shown(s->a, path));
        return;
    }
    if (cr_path_is_dir(path)) {
        cr_submit_wrong(s, at,
                        "files: %s is a folder, and folders are not copied; name the files in it, "
                        "as %s/*",
                        cr_shown(s->a, path), cr_shown(s->a, path));
        return;
    }
    if (cr_file_size(path, &u.size, &err) != CR_OK) {
        cr_submit_wrong(s, at, "files: %s: %s", cr_shown(s->a, path), err.msg);
        return;
    }
    if (!is_readable(path)) {
        cr_submit_wrong(s, at,
                        "files: %s is no file that you may read, so it cannot be copied; run "
                        "'chmod u+r' on it, or leave it out",
                        cr_shown(s->a, path));
        return;
    }
    if (s->n_files == s->cap_files) {
        int cap = s->cap_files ? 2 * s->cap_files : 32;
        cr_upload *v = CR_NEW_N(s->a, cr_upload, cap);
        if (s->n_files) memcpy(v, s->files, sizeof *v * (size_t)s->n_files);
        s->files = v;
        s->cap_files = cap;
    }
    s->files[s->n_files++] = u;
}

/* One word of `files`. */
static void add_word(cr_submit *s, const char *word, cr_loc at) {
    glob_t g;
    int code = glob(word, 0, NULL, &g);
    if (code != 0) {
        cr_submit_wrong(s, at,
                        "files: nothing fits '%s' in %s; correct the pattern or leave it out",
                        cr_shown(s->a, word), cr_shown(s->a, s->here));
        if (code != GLOB_NOMATCH) return;
    }
    for (size_t i = 0; code == 0 && i < g.gl_pathc; i++) {
        /* a pattern may fit folders too; as the shell's copy, it leaves them out */
        if (strpbrk(word, "*?[") && cr_path_is_dir(g.gl_pathv[i])) continue;
        cr_folder_add(s, cr_arena_strdup(s->a, g.gl_pathv[i]), at);
    }
    globfree(&g);
}

void cr_folder_files(cr_submit *s, const cr_conf_node *list) {
    if (!list) return;
    if (list->kind == CR_NODE_LIST) {
        for (size_t i = 0; i < list->n; i++) {
            if (list->v[i].val->kind == CR_NODE_SCALAR)
                add_word(s, list->v[i].val->text, list->v[i].at);
            else
                cr_submit_wrong(s, list->v[i].at,
                                "files: a part of the list is no text; write "
                                "names and globs: [a.txt, \"part*\"]");
        }
        return;
    }
    if (list->kind != CR_NODE_SCALAR) {
        cr_submit_wrong(s, list->at, "files is a text of words and globs, or a list of them");
        return;
    }
    char *save, *copy = cr_arena_strndup(s->a, list->text, list->len);
    for (char *w = strtok_r(copy, " \t\n", &save); w; w = strtok_r(NULL, " \t\n", &save))
        add_word(s, w, list->at);
}

cr_code cr_folder_make(cr_submit *s, cr_err *err) {
    mode_t mode = s->private ? 0700 : 0755;
    if (mkdir(s->dir, mode) != 0) {
        if (errno == EEXIST)
            return cr_fail_at(err, CR_EIO, ((cr_loc){s->dir, 0, 0}),
                              "the folder is there already, from a submission of the same minute; "
                              "wait a minute, or remove it");
        return cr_io_fail(err, s->dir, "make the folder", errno);
    }
    return CR_OK;
}

/* A file of the folder that is being written. */
typedef struct out {
    const char *path;
    int fd;
} out;

/* program: it can be executed. */
static cr_code begin(cr_submit *s, const char *name, bool program, out *o, cr_err *err) {
    mode_t mode = s->private ? 0600 : 0644;
    if (program) mode |= mode >> 2 & 0111;
    o->path = cr_path_join(s->a, s->dir, name);
    o->fd = open(o->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    return o->fd >= 0 ? CR_OK : cr_io_fail(err, o->path, "write", errno);
}

static cr_code add(const out *o, const char *data, size_t n, cr_err *err) {
    while (n > 0) {
        ssize_t k = write(o->fd, data, n);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) return cr_io_fail(err, o->path, "write", errno);
        data += k;
        n -= (size_t)k;
    }
    return CR_OK;
}

static cr_code end(const out *o, cr_code code, cr_err *err) {
    if (close(o->fd) != 0 && code == CR_OK) code = cr_io_fail(err, o->path, "write", errno);
    return code;
}

cr_code cr_folder_put(cr_submit *s, const char *name, cr_buf *text, cr_err *err) {
    out o;
    CR_TRY(begin(s, name, false, &o, err));
    cr_code code = add(&o, text->data, text->n, err);
    cr_buf_reset(text);
    return end(&o, code, err);
}

/* Copies piece by piece: a file may be larger than the memory. */
static cr_code copy(cr_submit *s, const cr_upload *u, char *piece, cr_err *err) {
    struct stat st;
    cr_fs *f;
    out o;
    size_t got = 0;
    bool program = stat(u->path, &st) == 0 && (st.st_mode & S_IXUSR) != 0;
    CR_TRY(cr_fs_open(&f, u->path, err));
    cr_code code = begin(s, u->name, program, &o, err);
    if (code == CR_OK) {
        for (int64_t at = 0; code == CR_OK; at += (int64_t)got) {
            code = cr_fs_pread(f, at, piece, PIECE, &got, err);
            if (got == 0) break;
            if (code == CR_OK) code = add(&o, piece, got, err);
            if (code == CR_OK && cr_stop_requested)
                code = cr_fail(err, CR_ESTOP, "stopped by a signal");
        }
        code = end(&o, code, err);
    }
    cr_fs_close(f);
    return code;
}

cr_code cr_folder_copy(cr_submit *s, cr_err *err) {
    char *piece = cr_arena_zalloc(s->a, PIECE);
    for (int i = 0; i < s->n_files; i++)
        CR_TRY(copy(s, &s->files[i], piece, err));
    return CR_OK;
}
