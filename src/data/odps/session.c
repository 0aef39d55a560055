/*
 * session.c - sessions of MaxCompute: by the Storage API (version 1), and downloads of the tunnel.
 *
 * Row numbers mean something within a session only, so one process makes the sessions and gives
 * their ids to the others, and a checkpoint keeps them. A session that is over is replaced by a new
 * one; source.c then compares its rows with the digests of those that were read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/crc32c.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/log.h"
#include "data/odps/odps_int.h"

#define TRIES      5 /* answers that break off without a row, one after the other */
#define MOST_ROWS  20000
#define MOST_BODY  ((size_t)2 << 30)
#define MOST_CHUNK ((size_t)64 << 20)
#define MOST_TABLE ((int64_t)1 << 40) /* rows of a session */
#define MOST_WAIT  1800               /* seconds until a session is made */

/* ---- calls ---- */

/* The part of a path that all calls for a table have in common. */
static char *base_of(const cr_odps_sessions *s, const cr_odps_session *x) {
    const cr_odps_table *t = &x->table;
    if (!s->tunnel)
        return cr_arena_printf(s->arena, "/api/storage/v1/projects/%s/schemas/%s/tables/%s",
                               t->project, *t->schema ? t->schema : "default", t->table);
    return cr_arena_printf(s->arena, "/projects/%s%s%s/tables/%s", t->project,
                           *t->schema ? "/schemas/" : "", t->schema, t->table);
}

/* The partition of a tunnel: levels with commas. NULL: none. */
static const char *tunnel_partition(const cr_odps_sessions *s, const cr_odps_session *x) {
    if (x->table.n_partitions == 0) return NULL;
    char *p = cr_arena_strdup(s->arena, x->table.partitions[0]);
    for (char *c = p; *c; c++)
        if (*c == '/') *c = ',';
    return p;
}

static void pause_s(double seconds) {
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void add_text(cr_buf *b, const char *text) {
    cr_json_escape(b, text, strlen(text));
}

/* The request for a session, byte by byte as TorchEasyRec's client sends it. */
static void request_of(const cr_odps_session *x, cr_buf *b) {
    cr_buf_str(b, "{\"RequiredDataColumns\": [");
    for (int i = 0; i < x->n_columns; i++) {
        if (i) cr_buf_str(b, ", ");
        add_text(b, x->columns[i]);
    }
    cr_buf_str(b, "], \"RequiredPartitionColumns\": [], \"RequiredPartitions\": [");
    for (int i = 0; i < x->table.n_partitions; i++) {
        if (i) cr_buf_str(b, ", ");
        add_text(b, x->table.partitions[i]);
    }
    cr_buf_str(b, "], \"RequiredBucketIds\": [], \"SplitOptions\": {\"SplitMode\": \"RowOffset\", "
                  "\"SplitNumber\": 268435456, \"CrossPartition\": true}, \"ArrowOptions\": "
                  "{\"TimestampUnit\": \"nano\", \"DatetimeUnit\": \"milli\"}, "
                  "\"FilterPredicate\": \"\", \"EnableEstimateStats\": false}");
}

static const char *text_at(const cr_json *j, const char *key) {
    const char *t = cr_json_str(cr_json_get(j, key));
    return t ? t : "";
}

/* Takes id, rows, state and types out of an answer. */
static cr_code take_answer(const cr_odps_sessions *s, cr_odps_session *x, const cr_http_res *r,
                           char state[32], cr_err *err) {
    cr_json *j;
    cr_err why;
    if (cr_json_parse(&j, r->body.n ? r->body.data : "", r->body.n, &why) != CR_OK)
        return cr_fail_at(err, CR_EIO, ((cr_loc){x->path, 0, 0}),
                          "MaxCompute's answer about a session is no JSON; run again");
    const char *id = text_at(j, s->tunnel ? "DownloadID" : "SessionId");
    snprintf(state, 32, "%s", text_at(j, s->tunnel ? "Status" : "SessionStatus"));
    if (*id) snprintf(x->id, sizeof x->id, "%s", id);
    int64_t n = -1;
    if (cr_json_i64(cr_json_get(j, "RecordCount"), &n)) x->n_rows = n;
    const cr_json *schema = cr_json_get(j, s->tunnel ? "Schema" : "DataSchema");
    const cr_json *cols = cr_json_get(schema, s->tunnel ? "columns" : "DataColumns");
    const char *name_key = s->tunnel ? "name" : "Name", *type_key = s->tunnel ? "type" : "Type";
    for (size_t i = 0; cols && cr_json_is_arr(cols) && i < cr_json_len(cols); i++) {
        const cr_json *c = cr_json_at(cols, i);
        for (int k = 0; k < x->n_columns; k++)
            if (strcasecmp(text_at(c, name_key), x->columns[k]) == 0)
                x->types[k] = cr_arena_strdup(s->arena, text_at(c, type_key));
    }
    cr_json_free(j);
    return CR_OK;
}

/* What a session that can be read must have told. */
static cr_code check_session(const cr_odps_session *x, cr_err *err) {
    if (!*x->id)
        return cr_fail_at(err, CR_EIO, ((cr_loc){x->path, 0, 0}),
                          "MaxCompute made a session without an id; run again");
    if (x->n_rows < 0 || x->n_rows > MOST_TABLE)
        return cr_fail_at(
            err, CR_EIO, ((cr_loc){x->path, 0, 0}),
            "MaxCompute tells of %lld rows in the session, and crank reads 0 to %lld; "
            "run again, or read fewer partitions",
            (long long)x->n_rows, (long long)MOST_TABLE);
    for (int i = 0; i < x->n_columns; i++)
        if (!x->types[i])
            return cr_fail_at(err, CR_ECONF, ((cr_loc){x->path, 0, 0}),
                              "the table has no column '%s'; check the columns of the features",
                              x->columns[i]);
    return CR_OK;
}

/* Looks at a session. Its state is "" when it is not there any more. */
static cr_code look_at(const cr_odps_sessions *s, cr_odps_session *x, bool refresh, char state[32],
                       cr_err *err) {
    cr_http_res r;
    const char *part = tunnel_partition(s, x);
    cr_odps_call c = {.method = "GET",
                      .data = true,
                      .what = refresh ? "keep a session alive" : "look at a session",
                      .place = x->path,
                      .schema = x->table.schema,
                      .quota = true};
    c.path = s->tunnel ? base_of(s, x)
                       : cr_arena_printf(s->arena, "%s/sessions/%s", base_of(s, x), x->id);
    if (s->tunnel) {
        c.query[c.n_query++] = (cr_sig4_pair){"downloadid", x->id};
        if (part) c.query[c.n_query++] = (cr_sig4_pair){"partition", part};
        c.headers[c.n_headers++] = "x-odps-tunnel-version: 6";
    } else {
        c.query[c.n_query++] = (cr_sig4_pair){"session_type", "batch_read"};
        if (refresh) c.query[c.n_query++] = (cr_sig4_pair){"session_refresh", "true"};
    }
    cr_err e = {0};
    cr_code code = cr_odps_do(s->client, &c, &r, &e);
    *state = 0;
    if (code == CR_OK)
        code = take_answer(s, x, &r, state, err);
    else if (e.why == CR_ODPS_ABSENT || e.why == CR_ODPS_EXPIRED)
        code = CR_OK;
    else
        cr_err_copy(err, &e);
    cr_http_clear(&r);
    return code;
}

static cr_code make(const cr_odps_sessions *s, cr_odps_session *x, cr_err *err) {
    cr_http_res r;
    cr_buf b;
    char state[32];
    const char *part = tunnel_partition(s, x);
    cr_buf_init(&b);
    cr_odps_call c = {.method = "POST",
                      .data = true,
                      .what = "make a session for the table",
                      .place = x->path,
                      .schema = x->table.schema,
                      .quota = true,
                      .again = true}; /* a session too many ends by itself */
    if (s->tunnel) {
        c.path = base_of(s, x);
        c.query[c.n_query++] = (cr_sig4_pair){"downloads", ""};
        c.query[c.n_query++] = (cr_sig4_pair){"asyncmode", "true"};
        if (part) c.query[c.n_query++] = (cr_sig4_pair){"partition", part};
        c.headers[c.n_headers++] = "x-odps-tunnel-version: 6";
        c.headers[c.n_headers++] = "odps-tunnel-date-transform: v1";
        c.headers[c.n_headers++] = "odps-tunnel-sdk-support-schema-evolution: true";
    } else {
        request_of(x, &b);
        c.path = cr_arena_printf(s->arena, "%s/sessions", base_of(s, x));
        c.query[c.n_query++] = (cr_sig4_pair){"session_type", "batch_read"};
        c.type = "application/json";
        c.md5 = true;
        c.body = b.data;
        c.n_body = b.n;
    }
    cr_code code = cr_odps_do(s->client, &c, &r, err);
    if (code == CR_OK) code = take_answer(s, x, &r, state, err);
    cr_http_clear(&r);
    cr_buf_clear(&b);
    double wait = s->tunnel ? 0.1 : 1, waited = 0;
    while (code == CR_OK && (strcmp(state, "INIT") == 0 || strcmp(state, "INITIATING") == 0)) {
        if (waited > MOST_WAIT)
            return cr_fail_at(err, CR_EIO, ((cr_loc){x->path, 0, 0}),
                              "MaxCompute did not make the session within %d s; run again, or read "
                              "fewer partitions",
                              MOST_WAIT);
        pause_s(wait);
        waited += wait;
        if (s->tunnel && wait < 5) wait *= 2;
        code = look_at(s, x, false, state, err);
    }
    if (code != CR_OK) return code;
    if (strcmp(state, "NORMAL") != 0)
        return cr_fail_at(err, CR_EIO, ((cr_loc){x->path, 0, 0}),
                          "MaxCompute made a session that is '%s' and not NORMAL; run again",
                          state);
    CR_TRY(check_session(x, err));
    x->fresh = true;
    return CR_OK;
}

void cr_odps_refresh(const cr_odps_sessions *s, const cr_odps_session *x) {
    cr_odps_session copy = *x;
    cr_odps_sessions own = *s; /* with memory of this thread */
    cr_arena a;
    cr_err err = {0};
    char state[32] = "";
    if (s->tunnel) return; /* a download is not prolonged */
    cr_arena_init(&a, 0);
    own.arena = &a;
    copy.n_columns = 0;
    if (look_at(&own, &copy, true, state, &err) != CR_OK) CR_WARN("%s: %s", x->path, err.msg);
    cr_arena_clear(&a);
}

/* ---- which sessions ---- */

static cr_odps_session *add(cr_odps_sessions *s, const char *path, const cr_want *want,
                            int n_want) {
    cr_odps_session *v = CR_NEW_N(s->arena, cr_odps_session, s->n + 1);
    if (s->n) memcpy(v, s->v, (size_t)s->n * sizeof *v);
    s->v = v;
    cr_odps_session *x = &v[s->n++];
    x->path = path;
    x->n_rows = -1;
    x->columns = CR_NEW_N(s->arena, const char *, n_want + 1);
    x->types = CR_NEW_N(s->arena, const char *, n_want + 1);
    for (int i = 0; i < n_want; i++) {
        size_t k = strcspn(want[i].name, "."); /* a member of a struct needs all of it */
        const char *name = cr_arena_strndup(s->arena, want[i].name, k);
        bool have = false;
        for (int j = 0; j < x->n_columns; j++)
            have |= strcmp(x->columns[j], name) == 0;
        if (!have) x->columns[x->n_columns++] = name;
    }
    return x;
}

static cr_code client_of(cr_odps_sessions *s, const char *project, cr_err *err) {
    if (s->client && strcmp(s->project, project) == 0) return CR_OK;
    if (s->client)
        return cr_fail(err, CR_ECONF,
                       "tables of two projects, %s and %s, are read at once; read one project, or "
                       "copy the other table into it",
                       s->project, project);
    const char *quota = s->conf->odps_data_quota_name;
    s->project = project;
    return cr_odps_open(&s->client, project, quota, err);
}

/* Adds the sessions of one path: one for all its partitions, or one for each in their order. */
static cr_code add_path(cr_odps_sessions *s, const char *path, const cr_want *want, int n_want,
                        cr_err *err) {
    cr_odps_table t;
    CR_TRY(cr_odps_parse(&t, path, s->arena, err));
    CR_TRY(client_of(s, t.project, err));
    bool each = s->conf->is_orderby_partition || s->tunnel, listed = false;
    if (each && t.n_partitions == 0) { /* the partitions that the table has, if it has any */
        char **all;
        int n;
        CR_TRY(cr_odps_partitions(s->client, &t, path, s->arena, &all, &n, err));
        t.partitions = CR_NEW_N(s->arena, const char *, n + 1);
        for (int i = 0; i < n; i++)
            t.partitions[t.n_partitions++] = all[i];
        listed = n > 0;
    }
    if (!each || (t.n_partitions <= 1 && !listed)) {
        add(s, path, want, n_want)->table = t;
        return CR_OK;
    }
    for (int i = 0; i < t.n_partitions; i++) {
        const char *name =
            cr_arena_printf(s->arena, "odps://%s/tables/%s%s%s/%s", t.project, t.schema,
                            *t.schema ? "." : "", t.table, t.partitions[i]);
        cr_odps_session *x = add(s, name, want, n_want);
        x->table = t;
        x->table.partitions = t.partitions + i;
        x->table.n_partitions = 1;
    }
    return CR_OK;
}

cr_code cr_odps_sessions_make(cr_odps_sessions *s, const char *paths, const cr_want *want,
                              int n_want, const char *kept, cr_err *err) {
    char *list = cr_arena_strdup(s->arena, paths), *save = NULL;
    for (char *p = strtok_r(list, ", \n", &save); p; p = strtok_r(NULL, ", \n", &save))
        CR_TRY(add_path(s, p, want, n_want, err));
    if (s->n == 0)
        return cr_fail(err, CR_ECONF, "no table is named; write odps://project/tables/table");
    cr_odps_sessions old = {.arena = s->arena, .tunnel = s->tunnel};
    cr_err e;
    if (kept && cr_odps_sessions_read(&old, kept, &e) != CR_OK) old.n = 0;
    for (int i = 0; i < s->n; i++) {
        cr_odps_session *x = &s->v[i];
        char state[32] = "";
        int64_t rows = -1;
        for (int k = 0; k < old.n; k++) {
            const cr_odps_session *was = &old.v[k];
            if (strcmp(was->path, x->path) != 0 || was->n_columns != x->n_columns) continue;
            bool same = true;
            for (int c = 0; c < x->n_columns; c++)
                same &= strcmp(was->columns[c], x->columns[c]) == 0;
            if (!same) continue;
            memcpy(x->id, was->id, sizeof x->id);
            x->n_rows = rows = was->n_rows;
            x->digests = was->digests;
            x->n_digests = was->n_digests;
            x->run = was->run;
            CR_TRY(look_at(s, x, !s->tunnel, state, err));
        }
        if (strcmp(state, "NORMAL") == 0) {
            CR_TRY(check_session(x, err));
            if (rows != x->n_rows)
                return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                                  "the session of the checkpoint has %lld rows now and had %lld; "
                                  "train anew",
                                  (long long)x->n_rows, (long long)rows);
            continue;
        }
        if (*x->id)
            CR_INFO("%s: the session of the checkpoint is over; a new one is made and compared",
                    x->path);
        x->n_rows = -1;
        CR_TRY(make(s, x, err));
        if (x->n_digests && rows != x->n_rows)
            return cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                              "the session of the checkpoint is over, and the table has %lld rows "
                              "now and had %lld; train anew, or from a table that does not change",
                              (long long)x->n_rows, (long long)rows);
    }
    return CR_OK;
}

/* ---- as text ---- */

void cr_odps_sessions_text(const cr_odps_sessions *s, cr_buf *out) {
    cr_jw w;
    cr_jw_init(&w, out);
    cr_jw_obj(&w, NULL);
    cr_jw_arr(&w, "sessions");
    for (int i = 0; i < s->n; i++) {
        const cr_odps_session *x = &s->v[i];
        cr_jw_obj(&w, NULL);
        cr_jw_str(&w, "path", x->path);
        cr_jw_str(&w, "id", x->id);
        cr_jw_i64(&w, "rows", x->n_rows);
        cr_jw_bool(&w, "fresh", x->fresh);
        cr_jw_arr(&w, "columns");
        for (int k = 0; k < x->n_columns; k++) {
            cr_jw_str(&w, NULL, x->columns[k]);
            cr_jw_str(&w, NULL, x->types[k] ? x->types[k] : "");
        }
        cr_jw_end(&w);
        if (x->n_digests) {
            cr_buf text;
            cr_buf_init(&text);
            for (int64_t k = 0; k < x->n_digests; k++)
                cr_buf_printf(&text, "%016llx", (unsigned long long)x->digests[k]);
            cr_jw_i64(&w, "run", x->run);
            cr_jw_str(&w, "digests", text.data);
            cr_buf_clear(&text);
        }
        cr_jw_end(&w);
    }
    cr_jw_end(&w);
    cr_jw_end(&w);
}

cr_code cr_odps_sessions_read(cr_odps_sessions *s, const char *text, cr_err *err) {
    cr_json *j;
    CR_TRY(cr_json_parse(&j, text, strlen(text), err));
    const cr_json *all = cr_json_get(j, "sessions");
    cr_code code = CR_OK;
    for (size_t i = 0; code == CR_OK && all && cr_json_is_arr(all) && i < cr_json_len(all); i++) {
        const cr_json *o = cr_json_at(all, i), *cols = cr_json_get(o, "columns");
        cr_odps_session *x = add(s, cr_arena_strdup(s->arena, text_at(o, "path")), NULL, 0);
        code = cr_odps_parse(&x->table, x->path, s->arena, err);
        snprintf(x->id, sizeof x->id, "%s", text_at(o, "id"));
        if (!cr_json_i64(cr_json_get(o, "rows"), &x->n_rows) || x->n_rows < 0 ||
            x->n_rows > MOST_TABLE)
            code = cr_fail(err, CR_EDATA, "a session without a number of rows");
        (void)!cr_json_bool(cr_json_get(o, "fresh"), &x->fresh);
        size_t n = cols && cr_json_is_arr(cols) ? cr_json_len(cols) / 2 : 0;
        x->columns = CR_NEW_N(s->arena, const char *, (int64_t)n + 1);
        x->types = CR_NEW_N(s->arena, const char *, (int64_t)n + 1);
        for (size_t k = 0; k < n; k++) {
            const char *name = cr_json_str(cr_json_at(cols, 2 * k));
            const char *type = cr_json_str(cr_json_at(cols, 2 * k + 1));
            x->columns[k] = cr_arena_strdup(s->arena, name ? name : "");
            x->types[k] = cr_arena_strdup(s->arena, type ? type : "");
        }
        x->n_columns = (int)n;
        const char *digests = text_at(o, "digests");
        int64_t n_digests = (int64_t)strlen(digests) / 16;
        /* a digest is of `run` blocks, and a block has a row at least */
        if (n_digests && cr_json_i64(cr_json_get(o, "run"), &x->run) && x->run > 0 &&
            x->run <= MOST_TABLE && n_digests <= x->n_rows / x->run + 1) {
            x->n_digests = n_digests;
            x->digests = CR_NEW_N(s->arena, uint64_t, x->n_digests + 1);
            for (int64_t k = 0; k < x->n_digests; k++) {
                char one[17];
                snprintf(one, sizeof one, "%.16s", digests + 16 * k);
                x->digests[k] = strtoull(one, NULL, 16);
            }
        }
        if (code == CR_OK && !s->client && s->conf) code = client_of(s, x->table.project, err);
    }
    cr_json_free(j);
    return code;
}

/* ---- rows ---- */

void cr_odps_rows_clear(cr_odps_rows *r) {
    for (int i = 0; i < r->n; i++) {
        cr_arrow_close(r->v[i].f);
        cr_buf_clear(&r->v[i].bytes);
    }
    cr_free(r->v);
    *r = (cr_odps_rows){0};
}

static uint32_t big32(const char *p) {
    const uint8_t *u = (const uint8_t *)p;
    return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

/* Takes the frames of a tunnel's body apart, in place: chunks with their checksums, then a shorter
 * one whose checksum is that of everything. *whole: the end was there. false: a checksum is
 * wrong. */
static bool unframe(cr_buf *b, bool *whole) {
    *whole = false;
    if (b->n < 4) {
        b->n = 0;
        return true;
    }
    size_t size = big32(b->data), at = 4, to = 0;
    uint32_t all = 0;
    if (size == 0 || size > MOST_CHUNK) return false;
    while (b->n - at >= size + 4) {
        uint32_t crc = cr_crc32c(0, b->data + at, size);
        if (crc != big32(b->data + at + size)) return false;
        all = cr_crc32c(all, b->data + at, size);
        memmove(b->data + to, b->data + at, size);
        to += size;
        at += size + 4;
    }
    size_t left = b->n - at;
    if (left >= 4) {
        uint32_t crc = cr_crc32c(all, b->data + at, left - 4);
        if (crc == big32(b->data + b->n - 4)) {
            memmove(b->data + to, b->data + at, left - 4);
            to += left - 4;
            *whole = true;
        }
    }
    b->n = to;
    return true;
}

/* One request. *out has the batches that came whole; *more: there may be more. */
static cr_code fetch_once(const cr_odps_sessions *s, const cr_odps_session *x,
                          const cr_arrow_schema *schema, const char *path, int64_t from, int64_t n,
                          cr_odps_piece *out, cr_err *err) {
    char row[32], count[32], range[80], most[32];
    cr_http_res r;
    cr_buf columns;
    const char *codec = s->conf->odps_data_compression, *part = NULL;
    int64_t batch = s->conf->batch_size < MOST_ROWS ? s->conf->batch_size : MOST_ROWS;
    *out = (cr_odps_piece){0};
    cr_buf_init(&columns);
    snprintf(row, sizeof row, "%lld", (long long)from);
    snprintf(count, sizeof count, "%lld", (long long)n);
    snprintf(most, sizeof most, "%lld", (long long)batch);
    snprintf(range, sizeof range, "(%s,%s)", row, count);
    cr_odps_call c = {.method = "GET",
                      .data = true,
                      .path = path,
                      .what = "read rows",
                      .place = x->path,
                      .schema = x->table.schema,
                      .quota = true,
                      .partial = true,
                      .most = MOST_BODY};
    char partition[512];
    if (s->tunnel) {
        for (int i = 0; i < x->n_columns; i++)
            cr_buf_printf(&columns, "%s%s", i ? "," : "", x->columns[i]);
        c.query[c.n_query++] = (cr_sig4_pair){"data", ""};
        c.query[c.n_query++] = (cr_sig4_pair){"arrow", ""};
        c.query[c.n_query++] = (cr_sig4_pair){"downloadid", x->id};
        c.query[c.n_query++] = (cr_sig4_pair){"rowrange", range};
        c.query[c.n_query++] = (cr_sig4_pair){"columns", columns.data};
        if (x->table.n_partitions) {
            snprintf(partition, sizeof partition, "%s", x->table.partitions[0]);
            for (char *p = partition; *p; p++)
                if (*p == '/') *p = ',';
            part = partition;
        }
        if (part) c.query[c.n_query++] = (cr_sig4_pair){"partition", part};
        c.headers[c.n_headers++] = "x-odps-tunnel-version: 6";
        c.headers[c.n_headers++] = "Accept-Encoding:";
    } else {
        c.query[c.n_query++] = (cr_sig4_pair){"session_id", x->id};
        c.query[c.n_query++] = (cr_sig4_pair){"split_index", "0"};
        c.query[c.n_query++] = (cr_sig4_pair){"row_index", row};
        c.query[c.n_query++] = (cr_sig4_pair){"row_count", count};
        c.query[c.n_query++] = (cr_sig4_pair){"max_batch_rows", most};
        c.headers[c.n_headers++] = strcmp(codec, "ZSTD") == 0        ? "Accept-Encoding: ZSTD"
                                   : strcmp(codec, "LZ4_FRAME") == 0 ? "Accept-Encoding: LZ4_FRAME"
                                                                     : "Accept-Encoding:";
        c.headers[c.n_headers++] = "Connection: Keep-Alive";
    }
    cr_err e = {0};
    cr_code code = cr_odps_do(s->client, &c, &r, &e);
    bool whole = code == CR_OK, framed = true;
    cr_buf_clear(&columns);
    if (code != CR_OK && e.why != CR_ODPS_PARTIAL) {
        cr_http_clear(&r);
        cr_err_copy(err, &e);
        return code;
    }
    out->bytes = r.body;
    cr_buf_init(&r.body);
    cr_http_clear(&r);
    if (s->tunnel && !unframe(&out->bytes, &framed)) {
        /* a wrong checksum: all of it is asked for again */
        cr_buf_reset(&out->bytes);
    }
    if (out->bytes.n == 0) return CR_OK;
    cr_arrow_opts o = {.schema = schema, .partial = true};
    code = cr_arrow_open_mem(&out->f, out->bytes.data, (int64_t)out->bytes.n, x->path, &o, err);
    if (code != CR_OK && !whole) code = CR_OK; /* it broke off before the schema was whole */
    for (int i = 0; code == CR_OK && out->f && i < cr_arrow_n_batches(out->f); i++)
        out->n_rows += cr_arrow_batch_rows(out->f, i);
    return code;
}

cr_code cr_odps_fetch(const cr_odps_sessions *s, const cr_odps_session *x,
                      const cr_arrow_schema *schema, int64_t from, int64_t n, cr_odps_rows *out,
                      cr_err *err) {
    cr_buf path; /* not from the arena, which belongs to one thread */
    const cr_odps_table *t = &x->table;
    cr_code code = CR_OK;
    *out = (cr_odps_rows){0};
    cr_buf_init(&path);
    if (s->tunnel)
        cr_buf_printf(&path, "/projects/%s%s%s/tables/%s", t->project,
                      *t->schema ? "/schemas/" : "", t->schema, t->table);
    else
        cr_buf_printf(&path, "/api/storage/v1/projects/%s/schemas/%s/tables/%s/data", t->project,
                      *t->schema ? t->schema : "default", t->table);
    for (int idle = 0; code == CR_OK && out->n_rows < n;) {
        cr_odps_piece p;
        code = fetch_once(s, x, schema, path.data, from + out->n_rows, n - out->n_rows, &p, err);
        if (code == CR_OK && p.n_rows > n - out->n_rows)
            code = cr_fail_at(err, CR_EDATA, ((cr_loc){x->path, 0, 0}),
                              "MaxCompute sent %lld rows where %lld were asked for; run again",
                              (long long)p.n_rows, (long long)(n - out->n_rows));
        if (code == CR_OK && p.n_rows == 0 && ++idle >= TRIES)
            code = cr_fail_at(err, CR_EIO, ((cr_loc){x->path, 0, 0}),
                              "cannot read rows: %d answers in a row broke off before the first "
                              "row at row %lld; check the network, and run again",
                              TRIES, (long long)(from + out->n_rows));
        if (code != CR_OK || p.n_rows == 0) {
            cr_arrow_close(p.f);
            cr_buf_clear(&p.bytes);
            continue;
        }
        idle = 0;
        p.first_row = out->n_rows;
        out->v = cr_realloc(out->v, (size_t)out->n * sizeof *out->v,
                            ((size_t)out->n + 1) * sizeof *out->v, "rows of a table");
        out->v[out->n++] = p;
        out->n_rows += p.n_rows;
    }
    cr_buf_clear(&path);
    if (code != CR_OK) cr_odps_rows_clear(out);
    return code;
}
