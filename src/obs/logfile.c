/*
 * logfile.c - see logfile.h.
 */
#include "obs/logfile.h"

#include <string.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/log.h"
#include "base/mem.h"

struct cr_logfile {
    cr_outfile *f; /* NULL: writing has failed and was given up */
};

static cr_code open_it(cr_logfile **out, const char *path, bool fresh, cr_err *err) {
    cr_outfile *f;
    *out = NULL;
    if (strcmp(path, "-") == 0)
        CR_TRY(cr_outfile_stdout(&f, err));
    else {
        CR_TRY(cr_can_write(path, err)); /* its messages have cures */
        CR_TRY(cr_outfile_append(&f, path, fresh, err));
    }
    cr_outfile_no_sync(f);
    *out = cr_alloc(sizeof(**out), "a log file");
    (*out)->f = f;
    return CR_OK;
}

/* is_torn: does the file end in the middle of a line? */
static bool is_torn(const char *path) {
    cr_fs *f;
    char last = '\n';
    size_t n;
    if (cr_fs_open(&f, path, NULL) != CR_OK) return false;
    int64_t size = cr_fs_info(f)->kind == CR_FS_FILE ? cr_fs_info(f)->size : 0;
    if (size > 0 && cr_fs_pread(f, size - 1, &last, 1, &n, NULL) != CR_OK) last = '\n';
    cr_fs_close(f);
    return last != '\n';
}

cr_code cr_logfile_open(cr_logfile **out, const char *path, cr_err *err) {
    bool torn = strcmp(path, "-") != 0 && is_torn(path);
    CR_TRY(open_it(out, path, false, err));
    if (torn) cr_logfile_write(*out, "\n", 1);
    return CR_OK;
}

cr_code cr_logfile_new(cr_logfile **out, const char *path, cr_err *err) {
    return open_it(out, path, true, err);
}

static void give_up(cr_logfile *f, const cr_err *err) {
    char text[1024];
    cr_err cause = *err;
    /* the run goes on, so the user needs no cure */
    cause.msg[strlen(cause.msg) - (size_t)cause.n_cure] = 0;
    cr_err_text(&cause, text, sizeof text);
    CR_WARN("%s; nothing more is logged there, the run goes on", text);
    cr_outfile_abort(f->f);
    f->f = NULL;
}

void cr_logfile_write(cr_logfile *f, const void *data, size_t n) {
    cr_err err;
    if (!f || !f->f || n == 0) return;
    if (cr_outfile_write(f->f, data, n, &err) != CR_OK || cr_outfile_flush(f->f, &err) != CR_OK)
        give_up(f, &err);
}

void cr_logfile_settle(cr_logfile *f) {
    cr_err err;
    if (f && f->f && cr_outfile_settle(f->f, &err) != CR_OK) give_up(f, &err);
}

void cr_logfile_close(cr_logfile *f) {
    if (!f) return;
    cr_err err;
    cr_logfile_settle(f);
    if (f->f && cr_outfile_commit(f->f, &err) != CR_OK) {
        char text[1024];
        cr_err_text(&err, text, sizeof text);
        CR_WARN("%s", text);
    }
    cr_free(f);
}
