/*
 * cmd_ls.c - `crank ls`: what lies at a path, on a disk or in a store. It tries access with the
 * same keys and the same code as a training. Of a table of MaxCompute it tells the columns and the
 * partitions, of a topic of Kafka the offsets.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/file.h"
#include "base/fs.h"
#include "base/json.h"
#include "cli/cli.h"
#include "data/kafka/kafka.h"
#include "store/odps.h"

typedef struct args {
    cr_opt_list paths;
    bool bytes;
} args;

static const cr_opt opts[] = {
    CR_OPT_(args, paths, CR_O_LIST, 0, CR_O_REQUIRED | CR_O_PATH | CR_O_TABLE, "PATH", NULL, NULL,
            0, 0,
            "file, folder or pattern: a local path, s3://bucket/folder, oss://bucket/folder, "
            "hdfs://...; or a table odps://project/tables/table, or a topic kafka://..."),
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

/* The columns of a table, and its partitions. */
static cr_code list_table(cr_arena *a, const char *path, cr_err *err) {
    cr_odps_table t;
    cr_odps *client = NULL;
    cr_json *j = NULL;
    cr_buf schema;
    char **parts = NULL;
    int n = 0, n_said = 0;
    CR_TRY(cr_odps_parse(&t, path, a, err));
    CR_TRY(cr_odps_open(&client, t.project, "", err));
    cr_buf_init(&schema);
    cr_code code = cr_odps_schema(client, &t, path, &schema, err);
    if (code == CR_OK) code = cr_json_parse(&j, schema.data ? schema.data : "", schema.n, err);
    const cr_json *cols = cr_json_get(j, "columns"), *keys = cr_json_get(j, "partitionKeys");
    for (size_t i = 0; code == CR_OK && cols && i < cr_json_len(cols); i++) {
        const char *name = cr_json_str(cr_json_get(cr_json_at(cols, i), "name")),
                   *type = cr_json_str(cr_json_get(cr_json_at(cols, i), "type"));
        cr_ui_say("%-24s  %s\n", name ? name : "?", type ? type : "?");
    }
    if (code == CR_OK && keys && cr_json_len(keys) > 0)
        code = cr_odps_partitions(client, &t, path, a, &parts, &n, err);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < t.n_partitions || (k == 0 && t.n_partitions == 0); k++) {
            if (t.n_partitions && strcmp(t.partitions[k], parts[i]) != 0) continue;
            cr_ui_say("%s/\n", parts[i]);
            n_said++;
        }
    if (code == CR_OK && t.n_partitions > n_said)
        code = cr_fail_at(err, CR_EIO, ((cr_loc){path, 0, 0}),
                          "the table has %d of the %d partitions; 'crank ls' of the table without "
                          "a partition shows them all",
                          n_said, t.n_partitions);
    cr_json_free(j);
    cr_buf_clear(&schema);
    cr_odps_close(client);
    return code;
}

static cr_code list_topic(cr_arena *a, const char *path, cr_err *err) {
    cr_kafka_bounds *v;
    int n;
    CR_TRY(cr_kafka_look(path, a, &v, &n, err));
    for (int i = 0; i < n; i++)
        cr_ui_say("partition %d: offsets %lld to %lld\n", i, (long long)v[i].low,
                  (long long)v[i].high);
    return CR_OK;
}

/* The files of a pattern. */
static cr_code list_pattern(cr_arena *a, const char *pattern, bool bytes, cr_err *err) {
    char **paths;
    size_t n;
    CR_TRY(cr_glob(a, pattern, NULL, &paths, &n, err));
    for (size_t i = 0; i < n; i++) {
        cr_fs_stat st;
        if (cr_fs_stat_path(paths[i], true, &st, NULL) != 0)
            st = (cr_fs_stat){.kind = CR_FS_OTHER}; /* it went */
        say(paths[i], &st, bytes);
    }
    return CR_OK;
}

static cr_code list(cr_arena *a, const char *path, bool bytes, cr_err *err) {
    cr_fs_stat st;
    cr_fs_why why;
    cr_fs_kind *kinds;
    char **names;
    size_t n;
    if (cr_odps_is(path)) return list_table(a, path, err);
    if (cr_kafka_is_url(path)) return list_topic(a, path, err);
    int e = cr_fs_stat_path(path, true, &st, &why);
    if (e == ENOENT && strpbrk(path, "*?[{")) return list_pattern(a, path, bytes, err);
    if (e != 0) return cr_fs_fail(err, path, "list", e, &why);
    if (st.kind != CR_FS_DIR) {
        say(path, &st, bytes);
        return CR_OK;
    }
    CR_TRY(cr_list_kinds(a, path, &names, &kinds, &n, err));
    bool far = cr_store_can(path, CR_FS_FAR);
    for (size_t i = 0; i < n; i++) {
        const char *full = cr_path_join(a, path, names[i]);
        st = (cr_fs_stat){.kind = CR_FS_DIR};
        /* a folder far away costs requests and has nothing to tell but that it is one */
        e = far && kinds[i] == CR_FS_DIR ? 0 : cr_fs_stat_path(full, true, &st, &why);
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
    "crank ls 's3://bucket/train/dt=2025*/*.parquet'",
    "crank ls odps://project/tables/clicks",
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
