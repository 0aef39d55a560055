/*
 * cmd_cp.c - `crank cp`: copies files between disks and stores. It tries access with the same keys
 * and the same code as a training. A file appears whole or not at all.
 */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/stop.h"
#include "cli/cli.h"

#define MOST_DEPTH 64

typedef struct args {
    cr_opt_list paths;
    bool recursive;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, paths, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH, "PATH", NULL, NULL, 0, 0,
            "what is copied, then where to: files, or with --recursive folders"),
    CR_OPT_(args, recursive, CR_O_BOOL, 'r', 0, NULL, NULL, NULL, 0, 0,
            "copy a folder with all that is in it"),
    CR_OPT_END,
};

typedef struct copied {
    cr_arena a;
    int64_t files, bytes;
} copied;

static cr_code copy_file(copied *c, const char *from, const char *to, cr_err *err) {
    cr_fs_stat st;
    /* what was sent of the file is taken back when the user ends the copy */
    CR_TRY(cr_file_copy_unless(from, to, &cr_stop_requested, err));
    c->files++;
    if (cr_fs_stat_path(to, true, &st, NULL) == 0) c->bytes += st.size;
    return CR_OK;
}

static cr_code copy_tree(copied *c, const char *from, const char *to, int depth, cr_err *err) {
    char **names;
    size_t n;
    if (depth > MOST_DEPTH)
        return cr_fail_at(err, CR_EIO, ((cr_loc){from, 0, 0}),
                          "the folder has more than %d levels; copy its parts", MOST_DEPTH);
    CR_TRY(cr_mkdirs(to, err));
    CR_TRY(cr_list_dir(&c->a, from, &names, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (atomic_load(&cr_stop_requested))
            return cr_fail_at(err, CR_ESTOP, ((cr_loc){to, 0, 0}),
                              "stopped by a signal; %lld files were copied", (long long)c->files);
        const char *f = cr_path_join(&c->a, from, names[i]), *t = cr_path_join(&c->a, to, names[i]);
        CR_TRY(cr_path_is_dir(f) ? copy_tree(c, f, t, depth + 1, err) : copy_file(c, f, t, err));
    }
    return CR_OK;
}

static cr_code copy(copied *c, const args *f, cr_err *err) {
    const char *from = f->paths.v[0], *to = f->paths.v[1];
    cr_fs_stat st;
    cr_fs_why why;
    int e = cr_fs_stat_path(from, true, &st, &why);
    if (e != 0) return cr_fs_fail(err, from, "copy", e, &why);
    if (st.kind == CR_FS_DIR && !f->recursive)
        return cr_fail_at(err, CR_EUSAGE, ((cr_loc){from, 0, 0}),
                          "this is a folder; add --recursive to copy all that is in it");
    if (st.kind == CR_FS_DIR) return copy_tree(c, from, to, 0, err);
    size_t n = strlen(to);
    if (cr_path_is_dir(to) || (n > 0 && to[n - 1] == '/'))
        to = cr_path_join(&c->a, to, cr_path_base(from));
    return copy_file(c, from, to, err);
}

static cr_code run(cr_ui *ui, const void *flags) {
    const args *f = flags;
    copied c = {.files = 0};
    cr_err err;
    if (f->paths.n != 2) {
        cr_fail(&err, CR_EUSAGE, "cp takes two paths, and %d were given: crank cp FROM TO",
                f->paths.n);
        return cr_ui_fail(ui, &err);
    }
    cr_arena_init(&c.a, 0);
    cr_code code = copy(&c, f, &err);
    if (code == CR_OK) {
        char size[32];
        cr_fmt_bytes(size, (double)c.bytes);
        if (!ui->quiet)
            cr_ui_say("copied %lld file%s, %s\n", (long long)c.files, c.files == 1 ? "" : "s",
                      size);
    } else {
        code = cr_ui_fail(ui, &err);
    }
    cr_arena_clear(&c.a);
    return code;
}

static const char *const examples[] = {
    "crank cp s3://bucket/train/part-0.parquet .",
    "crank cp -r experiments/deepfm oss://bucket/experiments/deepfm",
    NULL,
};

const cr_cmd cr_cmd_cp = {
    .name = "cp",
    .help = "Copy files between disks and stores",
    .operand = "FROM TO",
    .operand_opt = "paths",
    .opts = opts,
    .args_size = sizeof(args),
    .job = true,
    .examples = examples,
    .run = run,
};
