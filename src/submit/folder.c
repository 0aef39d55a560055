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
#include "base/shown.h"
#include "submit/submit_int.h"

bool cr_owner_only(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && (!S_ISREG(st.st_mode) || (st.st_mode & 077) == 0);
}

static const char plain[] =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=+,:@%";

const char *cr_sh(cr_arena *a, const char *text) {
    if (*text && strspn(text, plain) == strlen(text)) return text;
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_char(&b, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            cr_buf_str(&b, "'\\''");
        else
            cr_buf_char(&b, *text);
    }
    cr_buf_char(&b, '\'');
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
}

const char *cr_sh_double(cr_arena *a, const char *text) {
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_char(&b, '"');
    for (; *text; text++) {
        if (strchr("\"\\$`", *text)) cr_buf_char(&b, '\\');
        cr_buf_char(&b, *text);
    }
    cr_buf_char(&b, '"');
    const char *out = cr_arena_strdup(a, b.data);
    cr_buf_clear(&b);
    return out;
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

/* Writes a file of the folder; program: it can be executed. */
static cr_code put(cr_submit *s, const char *name, bool program, cr_buf *text, cr_err *err) {
    const char *path = cr_path_join(s->a, s->dir, name);
    mode_t mode = s->private ? 0600 : 0644;
    if (program) mode |= mode >> 2 & 0111;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0) return cr_io_fail(err, path, "write", errno);
    size_t at = 0;
    while (at < text->n) {
        ssize_t k = write(fd, text->data + at, text->n - at);
        if (k < 0 && errno == EINTR) continue;
        if (k < 0) {
            int e = errno;
            close(fd);
            return cr_io_fail(err, path, "write", e);
        }
        at += (size_t)k;
    }
    cr_buf_reset(text);
    return close(fd) == 0 ? CR_OK : cr_io_fail(err, path, "write", errno);
}

cr_code cr_folder_put(cr_submit *s, const char *name, cr_buf *text, cr_err *err) {
    return put(s, name, false, text, err);
}

cr_code cr_folder_copy(cr_submit *s, cr_err *err) {
    for (int i = 0; i < s->n_files; i++) {
        const cr_upload *u = &s->files[i];
        struct stat st;
        cr_buf text;
        cr_buf_init(&text);
        bool program = stat(u->path, &st) == 0 && (st.st_mode & S_IXUSR) != 0;
        cr_code code = cr_file_read(u->path, 0, &text, err);
        if (code == CR_OK) code = put(s, u->name, program, &text, err);
        cr_buf_clear(&text);
        CR_TRY(code);
    }
    return CR_OK;
}
