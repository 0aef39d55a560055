/*
 * cmd_ls.c - `crank ls`: what lies at a path, on a disk or in a store. It tries access with the
 * same keys and the same code as a training.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/fs.h"
#include "cli/cli.h"

typedef struct args {
    cr_opt_list paths;
    bool bytes;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, paths, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL, NULL, 0, 0,
            "file or folder: a local path, s3://bucket/folder, oss://bucket/folder"),
    CR_OPT_BOOL(args, bytes, 0, "sizes as plain numbers of bytes"),
    CR_OPT_END,
};

static void say(const char *name, const cr_fs_stat *st, bool bytes) {
    char size[32] = "", when[32] = "";
    time_t t = (time_t)(st->changed / 1000000000);
    struct tm tm;
    if (st->kind == CR_FS_FILE && bytes)
        snprintf(size, sizeof size, "%lld", (long long)st->size);
    else if (st->kind == CR_FS_FILE)
        cr_fmt_bytes(size, (double)st->size);
    if (st->changed && gmtime_r(&t, &tm)) strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
    cr_ui_say("%12s  %-19s  %s%s\n", size, when, name, st->kind == CR_FS_DIR ? "/" : "");
}

static cr_code list(cr_arena *a, const char *path, bool bytes, cr_err *err) {
    cr_fs_stat st;
    cr_fs_why why;
    char **names;
    size_t n;
    int e = cr_fs_stat_path(path, true, &st, &why);
    if (e != 0) return cr_fs_fail(err, path, "list", e, &why);
    if (st.kind != CR_FS_DIR) {
        say(path, &st, bytes);
        return CR_OK;
    }
    CR_TRY(cr_list_dir(a, path, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        const char *full = cr_path_join(a, path, names[i]);
        e = cr_fs_stat_path(full, true, &st, &why);
        if (e != 0) st = (cr_fs_stat){.kind = CR_FS_OTHER}; /* it went, or leads nowhere */
        say(names[i], &st, bytes);
    }
    return CR_OK;
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *f = flags;
    cr_arena a;
    cr_code code = CR_OK;
    cr_arena_init(&a, 0);
    for (int i = 0; i < f->paths.n && code == CR_OK; i++) {
        cr_err err;
        if (f->paths.n > 1) cr_ui_say("%s%s:\n", i ? "\n" : "", f->paths.v[i]);
        code = list(&a, f->paths.v[i], f->bytes, &err);
        if (code != CR_OK) code = cr_ui_fail(ui, &err);
    }
    cr_arena_clear(&a);
    return code;
}

static const char *const examples[] = {
    "crank ls s3://bucket/train/dt=20250101",
    "crank ls oss://bucket/model_dir --bytes",
    NULL,
};

const cr_cmd cr_cmd_ls = {
    .name = "ls",
    .help = "List what lies at a path, on a disk or in a store",
    .operand = "PATH...",
    .operand_opt = "paths",
    .opts = opts,
    .args_size = sizeof(args),
    .examples = examples,
    .run = run,
};
