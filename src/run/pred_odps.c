/*
 * pred_odps.c - writes predictions into a table of MaxCompute, or into one of its partitions, by
 * the Storage API.
 *
 * The table is made when it does not exist, the partition too. Rows go up in blocks of some
 * megabytes, in the order of the input; they appear all at once when the process that writes (rank
 * 0) commits, in place of what was there. Nothing appears when it does not come to that.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"
#include "data/arrow/sink.h"
#include "data/odps/types.h"
#include "run/pred_cols.h"
#include "run/pred_list.h"
#include "store/odps.h"

#define BLOCK_BYTES ((size_t)64 << 20)
#define BATCH_ROWS  20000 /* most rows of a record batch */
#define MOST_WAIT   1800  /* seconds until a session has changed its state */

struct cr_pred {
    cr_pred_cols cols;
    const cr_column **ordered; /* in the order of the table */
    int *order;                /* of our columns: which one is the table's k-th */
    cr_arrow_enc *enc;
    cr_odps *client;
    cr_odps_table table;
    const char *path, *base;
    char session[160];
    cr_buf block;
    int n_blocks;
    cr_buf messages; /* of blocks, as a JSON list without its end */
    cr_arena arena;
};

static void odps_free(cr_pred *w) {
    if (!w) return;
    cr_pred_cols_clear(&w->cols);
    cr_arrow_enc_free(w->enc);
    cr_odps_close(w->client);
    cr_buf_clear(&w->block);
    cr_buf_clear(&w->messages);
    cr_arena_clear(&w->arena);
    cr_free(w);
}

/* ---- table and partition ---- */

/* "dt=1" as "dt='1'"; a quote in the value would end it. */
static void partition_value(const char *p, size_t n_name, size_t n, cr_buf *out) {
    cr_buf_printf(out, "%.*s='", (int)n_name, p);
    for (size_t i = n_name + 1; i < n; i++) {
        if (p[i] == '\'' || p[i] == '\\') cr_buf_char(out, '\\');
        cr_buf_char(out, p[i]);
    }
    cr_buf_char(out, '\'');
}

/* "dt=1/hh=2" as "dt='1',hh='2'", or only the names with a type behind each. */
static void partition_sql(const char *part, const char *type, cr_buf *out) {
    for (const char *p = part; *p;) {
        size_t n = strcspn(p, "/"), k = strcspn(p, "=");
        if (out->n && out->data[out->n - 1] != '(') cr_buf_char(out, ',');
        if (type)
            cr_buf_printf(out, "`%.*s` %s", (int)k, p, type);
        else
            partition_value(p, k, n, out);
        p += n + (p[n] == '/');
    }
}

static cr_code make_table(cr_pred *w, cr_err *err) {
    const cr_arrow_schema *s = cr_arrow_enc_schema(w->enc);
    const char *days = getenv("ODPS_TABLE_LIFECYCLE");
    cr_buf sql;
    cr_code code = CR_OK;
    cr_buf_init(&sql);
    cr_buf_str(&sql, "CREATE TABLE IF NOT EXISTS ");
    cr_odps_sql_name(&w->table, &sql);
    cr_buf_str(&sql, " (");
    for (int i = 0; i < s->n && code == CR_OK; i = s->v[i].next) {
        if (i) cr_buf_str(&sql, ", ");
        cr_buf_printf(&sql, "`%s` ", s->v[i].name);
        if (!cr_odps_type_text(s, i, &sql))
            code = cr_fail_at(err, CR_EUSAGE, ((cr_loc){w->path, 0, 0}),
                              "column '%s' has a type that tables of MaxCompute do not have; leave "
                              "it out of --reserved_columns",
                              s->v[i].name);
    }
    cr_buf_char(&sql, ')');
    if (w->table.n_partitions) {
        cr_buf_str(&sql, " PARTITIONED BY (");
        partition_sql(w->table.partitions[0], "STRING", &sql);
        cr_buf_char(&sql, ')');
    }
    if (days && *days) cr_buf_printf(&sql, " LIFECYCLE %lld", atoll(days));
    cr_buf_char(&sql, ';');
    if (code == CR_OK)
        code = cr_odps_sql(w->client, &w->table, "SQLCreateTableTask", sql.data, w->path, err);
    if (code == CR_OK) CR_INFO("Made table %s.%s", w->table.project, w->table.table);
    cr_buf_clear(&sql);
    return code;
}

/* Finds our columns in the table, which must have these and no others. */
static cr_code match(cr_pred *w, const char *schema, size_t n, cr_err *err) {
    const cr_arrow_schema *s = cr_arrow_enc_schema(w->enc);
    cr_json *j;
    CR_TRY(cr_json_parse(&j, schema, n, err));
    const cr_json *cols = cr_json_get(j, "columns");
    size_t have = cols && cr_json_is_arr(cols) ? cr_json_len(cols) : 0;
    cr_code code = CR_OK;
    if (have != (size_t)w->cols.n)
        code = cr_fail_at(err, CR_EUSAGE, ((cr_loc){w->path, 0, 0}),
                          "the table has %zu columns and the predictions have %d; name another "
                          "table, or choose --reserved_columns and --output_columns to fit",
                          have, w->cols.n);
    for (size_t k = 0; k < have && code == CR_OK; k++) {
        const cr_json *c = cr_json_at(cols, k);
        const char *name = cr_json_str(cr_json_get(c, "name")),
                   *type = cr_json_str(cr_json_get(c, "type"));
        int at = -1, i = 0;
        for (int field = 0; field < s->n && at < 0; field = s->v[field].next, i++) {
            if (!name || strcasecmp(s->v[field].name, name) != 0) continue;
            cr_buf text;
            cr_buf_init(&text);
            at = i;
            if (!cr_odps_type_text(s, field, &text) || !type || strcasecmp(type, text.data) != 0)
                code = cr_fail_at(err, CR_EUSAGE, ((cr_loc){w->path, 0, 0}),
                                  "column '%s' of the table has the type %s, the predictions "
                                  "have %s; name another table, or make this one anew",
                                  name, type ? type : "?", text.data);
            cr_buf_clear(&text);
        }
        if (at < 0)
            code = cr_fail_at(err, CR_EUSAGE, ((cr_loc){w->path, 0, 0}),
                              "the predictions have no column '%s', which the table has; name "
                              "another table, or choose --reserved_columns to fit",
                              name ? name : "");
        w->order[k] = at;
    }
    cr_json_free(j);
    return code;
}

static cr_code find_place(cr_pred *w, cr_err *err) {
    cr_buf schema, sql;
    cr_err e = {0};
    cr_buf_init(&schema);
    cr_buf_init(&sql);
    cr_code code = cr_odps_schema(w->client, &w->table, w->path, &schema, &e);
    if (code != CR_OK && e.why == CR_ODPS_ABSENT) {
        code = make_table(w, err);
        if (code == CR_OK) code = cr_odps_schema(w->client, &w->table, w->path, &schema, err);
    } else if (code != CR_OK) {
        cr_err_copy(err, &e);
    }
    if (code == CR_OK) code = match(w, schema.data, schema.n, err);
    if (code == CR_OK && w->table.n_partitions) {
        cr_buf_str(&sql, "ALTER TABLE ");
        cr_odps_sql_name(&w->table, &sql);
        cr_buf_str(&sql, " ADD IF NOT EXISTS PARTITION (");
        partition_sql(w->table.partitions[0], NULL, &sql);
        cr_buf_str(&sql, ");");
        code = cr_odps_sql(w->client, &w->table, "SQLAddPartitionTask", sql.data, w->path, err);
    }
    cr_buf_clear(&schema);
    cr_buf_clear(&sql);
    return code;
}

/* ---- the session ---- */

/* Looks at the session until it is no longer in a state; `state` gets what it is then. */
/* Reads an answer, which is JSON. */
static cr_code parse(const cr_pred *w, const cr_http_res *r, cr_json **out, cr_err *err) {
    cr_err why;
    if (cr_json_parse(out, r->body.n ? r->body.data : "", r->body.n, &why) == CR_OK) return CR_OK;
    *out = NULL;
    return cr_fail_at(
        err, CR_EIO, ((cr_loc){w->path, 0, 0}),
        "MaxCompute's answer is no JSON; check ODPS_ENDPOINT and the proxies, and run "
        "again");
}

static cr_code wait_while(cr_pred *w, const char *a, char state[32], cr_err *err) {
    for (int waited = 0;; waited++) {
        cr_http_res r;
        cr_json *j;
        cr_odps_call c = {.method = "GET",
                          .data = true,
                          .path = cr_arena_printf(&w->arena, "%s/sessions/%s", w->base, w->session),
                          .what = "look at a session",
                          .place = w->path,
                          .schema = w->table.schema,
                          .query = {{"session_type", "batch_write"}},
                          .n_query = 1,
                          .quota = true};
        cr_code code = cr_odps_do(w->client, &c, &r, err);
        if (code == CR_OK) code = parse(w, &r, &j, err);
        cr_http_clear(&r);
        if (code != CR_OK) return code;
        const char *is = cr_json_str(cr_json_get(j, "SessionStatus"));
        snprintf(state, 32, "%s", is ? is : "");
        cr_json_free(j);
        if (strcmp(state, a) != 0) return CR_OK;
        if (waited > MOST_WAIT)
            return cr_fail_at(err, CR_EIO, ((cr_loc){w->path, 0, 0}),
                              "the session for writing is still '%s' after %d s; run again", state,
                              MOST_WAIT);
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
}

/* Posts JSON and gives a text of the answer, which is JSON too. */
static cr_code post(cr_pred *w, cr_odps_call *c, const char *key, char *out, size_t size,
                    cr_err *err) {
    cr_http_res r;
    cr_json *j = NULL;
    cr_code code = cr_odps_do(w->client, c, &r, err);
    if (code == CR_OK) code = parse(w, &r, &j, err);
    const char *text = code == CR_OK ? cr_json_str(cr_json_get(j, key)) : NULL;
    if (code == CR_OK && (!text || strlen(text) >= size))
        code = cr_fail_at(err, CR_EIO, ((cr_loc){w->path, 0, 0}),
                          "MaxCompute's answer has no %s; run again", key);
    if (code == CR_OK) snprintf(out, size, "%s", text);
    if (j) cr_json_free(j);
    cr_http_clear(&r);
    return code;
}

static cr_code begin(cr_pred *w, cr_err *err) {
    char state[32];
    cr_buf b;
    cr_buf_init(&b);
    cr_buf_str(&b, "{\"DynamicPartitionOptions\": {\"InvalidStrategy\": \"Exception\", "
                   "\"InvalidLimit\": 1, \"DynamicPartitionLimit\": 512}, \"ArrowOptions\": "
                   "{\"TimestampUnit\": \"nano\", \"DatetimeUnit\": \"milli\"}, \"Overwrite\": "
                   "true, \"PartitionSpec\": ");
    const char *part = w->table.n_partitions ? w->table.partitions[0] : "";
    char *spec = cr_arena_strdup(&w->arena, part);
    cr_json_escape(&b, spec, strlen(spec));
    cr_buf_str(&b, ", \"SupportWriteCluster\": false, \"EnhanceWriteCheck\": true}");
    cr_odps_call c = {.method = "POST",
                      .data = true,
                      .path = cr_arena_printf(&w->arena, "%s/sessions", w->base),
                      .what = "begin to write the table",
                      .place = w->path,
                      .schema = w->table.schema,
                      .query = {{"session_type", "batch_write"}},
                      .n_query = 1,
                      .quota = true,
                      .type = "application/json",
                      .md5 = true,
                      .body = b.data,
                      .n_body = b.n,
                      .again = true};
    cr_code code = post(w, &c, "SessionId", w->session, sizeof w->session, err);
    cr_buf_clear(&b);
    if (code == CR_OK) code = wait_while(w, "INIT", state, err);
    if (code == CR_OK && strcmp(state, "NORMAL") != 0)
        code = cr_fail_at(err, CR_EIO, ((cr_loc){w->path, 0, 0}),
                          "the session for writing is '%s' and not NORMAL; run again", state);
    return code;
}

static cr_code odps_open(cr_pred **out, const char *path, const cr_pred_shape *shape, cr_err *err) {
    const char *quota = getenv("ODPS_DATA_QUOTA_NAME");
    if (!quota || !*quota) quota = getenv("STORAGE_API_QUOTA_NAME");
    cr_pred *w = cr_alloc(sizeof *w, "predictions");
    *out = NULL;
    cr_arena_init(&w->arena, 0);
    cr_buf_init(&w->block);
    cr_buf_init(&w->messages);
    cr_pred_cols_init(&w->cols, shape);
    w->path = cr_arena_strdup(&w->arena, path);
    w->enc = cr_arrow_enc_new(w->cols.sink, w->cols.n, CR_ARROW_PLAIN);
    w->order = CR_NEW_N(&w->arena, int, w->cols.n + 1);
    w->ordered = CR_NEW_N(&w->arena, const cr_column *, w->cols.n + 1);
    cr_code code = cr_odps_parse(&w->table, path, &w->arena, err);
    if (code == CR_OK && w->table.n_partitions > 1)
        code = cr_fail_at(err, CR_EUSAGE, ((cr_loc){path, 0, 0}),
                          "predictions are written into one partition; name one");
    if (code == CR_OK)
        code = cr_odps_open(&w->client, w->table.project, quota && *quota ? quota : "pay-as-you-go",
                            err);
    if (code == CR_OK)
        w->base = cr_arena_printf(&w->arena, "/api/storage/v1/projects/%s/schemas/%s/tables/%s",
                                  w->table.project, *w->table.schema ? w->table.schema : "default",
                                  w->table.table);
    if (code == CR_OK) code = find_place(w, err);
    if (code == CR_OK) {
        /* the encoder writes the columns in the order of the table */
        cr_sink_col *cols = CR_NEW_N(&w->arena, cr_sink_col, w->cols.n + 1);
        for (int i = 0; i < w->cols.n; i++)
            cols[i] = w->cols.sink[w->order[i]];
        cr_arrow_enc_free(w->enc);
        w->enc = cr_arrow_enc_new(cols, w->cols.n, CR_ARROW_PLAIN);
        code = begin(w, err);
    }
    if (code != CR_OK) {
        odps_free(w);
        return code;
    }
    *out = w;
    return CR_OK;
}

/* ---- rows ---- */

static cr_code send_block(cr_pred *w, cr_err *err) {
    char number[32], message[4096];
    if (w->block.n == 0) return CR_OK;
    cr_arrow_enc_end(&w->block);
    snprintf(number, sizeof number, "%d", w->n_blocks);
    cr_odps_call c = {.method = "POST",
                      .data = true,
                      .path =
                          cr_arena_printf(&w->arena, "%s/sessions/%s/data", w->base, w->session),
                      .what = "write rows",
                      .place = w->path,
                      .schema = w->table.schema,
                      .query = {{"block_number", number}, {"attempt_number", "0"}},
                      .n_query = 2,
                      .attempt = 2,
                      .quota = true,
                      .type = "application/octet-stream",
                      .body = w->block.data,
                      .n_body = w->block.n,
                      .again = true}; /* the last attempt at a block counts */
    CR_TRY(post(w, &c, "CommitMessage", message, sizeof message, err));
    cr_buf_str(&w->messages, w->n_blocks ? ", " : "{\"CommitMessages\": [");
    cr_json_escape(&w->messages, message, strlen(message));
    w->n_blocks++;
    cr_buf_reset(&w->block);
    return CR_OK;
}

static cr_code odps_write(cr_pred *w, const cr_pred_rows *rows, cr_err *err) {
    if (rows->n_rows == 0) return CR_OK;
    if (rows->n_rows > BATCH_ROWS)
        return cr_fail_at(err, CR_EUSAGE, ((cr_loc){w->path, 0, 0}),
                          "a batch of %lld rows is more than MaxCompute takes; use --batch_size "
                          "%d or less",
                          (long long)rows->n_rows, BATCH_ROWS);
    CR_TRY(cr_pred_cols_make(&w->cols, rows, err));
    for (int i = 0; i < w->cols.n; i++)
        w->ordered[i] = w->cols.cols[w->order[i]];
    if (w->block.n == 0) cr_arrow_enc_begin(w->enc, &w->block);
    CR_TRY(cr_arrow_enc_batch(w->enc, w->ordered, rows->n_rows, &w->block, err));
    return w->block.n >= BLOCK_BYTES ? send_block(w, err) : CR_OK;
}

static cr_code odps_finish(cr_pred *w, cr_err *err) {
    char state[32];
    CR_TRY(send_block(w, err));
    cr_buf_str(&w->messages, w->n_blocks ? "]}" : "{\"CommitMessages\": []}");
    cr_http_res r;
    cr_odps_call c = {.method = "POST",
                      .data = true,
                      .path = cr_arena_printf(&w->arena, "%s/commit", w->base),
                      .what = "commit the rows",
                      .place = w->path,
                      .schema = w->table.schema,
                      .query = {{"session_id", w->session}},
                      .n_query = 1,
                      .quota = true,
                      .type = "application/json",
                      .body = w->messages.data,
                      .n_body = w->messages.n,
                      .again = true};
    cr_err lost;
    cr_code code = cr_odps_do(w->client, &c, &r, err);
    cr_http_clear(&r);
    /* a commit that was made already, and whose answer was lost, may be refused the second time */
    if (code != CR_OK && wait_while(w, "COMMITTING", state, &lost) == CR_OK &&
        strcmp(state, "COMMITTED") == 0)
        return CR_OK;
    if (code == CR_OK) code = wait_while(w, "COMMITTING", state, err);
    if (code == CR_OK && strcmp(state, "COMMITTED") != 0)
        code = cr_fail_at(err, CR_EIO, ((cr_loc){w->path, 0, 0}),
                          "the rows were not committed: the session is '%s'; run again", state);
    return code;
}

static const char *const ends[] = {NULL};

const cr_pred_type cr_pred_odps = {
    .name = "OdpsWriter",
    .dataset = "", /* a folder gets files, whatever was read */
    .ext = "odps",
    .ends = ends,
    .owns = cr_odps_is,
    .open = odps_open,
    .write = odps_write,
    .finish = odps_finish,
    .free = odps_free,
};
