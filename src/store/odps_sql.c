/*
 * odps_sql.c - tables and partitions of MaxCompute: what columns they have, which partitions there
 * are, and SQL that makes them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "store/odps.h"
#include "store/xml.h"

#define MOST_MARKER 1024
#define MOST_WAIT   1800 /* seconds until an SQL job has ended */

static void table_path(const cr_odps_table *t, cr_buf *out) {
    cr_buf_printf(out, "/projects/%s", t->project);
    if (*t->schema) cr_buf_printf(out, "/schemas/%s", t->schema);
    cr_buf_printf(out, "/tables/%s", t->table);
}

cr_code cr_odps_schema(cr_odps *o, const cr_odps_table *t, const char *place, cr_buf *out,
                       cr_err *err) {
    cr_buf path;
    cr_http_res r;
    cr_buf_init(&path);
    table_path(t, &path);
    cr_odps_call c = {.method = "GET",
                      .path = path.data,
                      .what = "look at the table",
                      .place = place,
                      .schema = t->schema};
    cr_code code = cr_odps_do(o, &c, &r, err);
    if (code == CR_OK) {
        /* <Schema format="Json"><![CDATA[{...}]]></Schema> */
        const char *at = r.body.n ? memmem(r.body.data, r.body.n, "<![CDATA[", 9) : NULL;
        const char *end = at ? memmem(at, r.body.n - (size_t)(at - r.body.data), "]]>", 3) : NULL;
        if (at && end) cr_buf_add(out, at + 9, (size_t)(end - at - 9));
        if (!at || !end)
            code = cr_fail_at(err, CR_EIO, ((cr_loc){place, 0, 0}),
                              "MaxCompute's answer about the table has no schema; run again");
    }
    cr_http_clear(&r);
    cr_buf_clear(&path);
    return code;
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

cr_code cr_odps_partitions(cr_odps *o, const cr_odps_table *t, const char *place, cr_arena *a,
                           char ***out, int *n, cr_err *err) {
    cr_buf path, name;
    char marker[MOST_MARKER] = "", next[MOST_MARKER];
    char **v = NULL;
    int cap = 0;
    bool more = false;
    cr_code code = CR_OK;
    *n = 0;
    cr_buf_init(&path);
    cr_buf_init(&name);
    table_path(t, &path);
    do {
        cr_http_res r;
        cr_odps_call c = {.method = "GET",
                          .path = path.data,
                          .what = "list the partitions",
                          .place = place,
                          .schema = t->schema,
                          .query = {{"partitions", ""}, {"expectmarker", "true"}},
                          .n_query = 2};
        if (*marker) c.query[c.n_query++] = (cr_sig4_pair){"marker", marker};
        code = cr_odps_do(o, &c, &r, err);
        cr_xml x = {r.body.data, r.body.data + r.body.n}, in;
        size_t length = 0;
        *next = 0;
        if (code == CR_OK && r.body.n) length = cr_xml_text(x, "Marker", next, sizeof next);
        more = length > 0;
        if (length >= sizeof next || (more && strcmp(next, marker) == 0))
            code = cr_fail_at(err, CR_EIO, ((cr_loc){place, 0, 0}),
                              "MaxCompute's list of partitions does not end; name the partitions "
                              "in the path");
        memcpy(marker, next, sizeof marker);
        while (code == CR_OK && r.body.n && cr_xml_next(&x, "Partition", &in)) {
            cr_buf_reset(&name);
            for (const char *p = in.at, *end; p < in.end; p = end + 1) {
                p = memmem(p, (size_t)(in.end - p), "<Column ", 8);
                end = p ? memchr(p, '>', (size_t)(in.end - p)) : NULL;
                if (!end) break;
                if (name.n) cr_buf_char(&name, '/');
                cr_xml tag = {p, end};
                cr_xml_attribute(tag, "Name", &name);
                cr_buf_char(&name, '=');
                cr_xml_attribute(tag, "Value", &name);
            }
            if (*n == cap) {
                cap = cap ? 2 * cap : 64;
                char **w = CR_NEW_N(a, char *, cap);
                if (*n) memcpy(w, v, (size_t)*n * sizeof *w);
                v = w;
            }
            v[(*n)++] = cr_arena_strndup(a, name.data ? name.data : "", name.n);
        }
        cr_http_clear(&r);
    } while (code == CR_OK && more);
    if (*n > 0) qsort(v, (size_t)*n, sizeof *v, by_text);
    *out = v;
    cr_buf_clear(&path);
    cr_buf_clear(&name);
    return code;
}

/* ---- SQL ---- */

static void random_id(char out[37]) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t a = cr_rng_below((uint64_t)now.tv_nsec, (uint64_t)now.tv_sec, UINT64_MAX),
             b = cr_rng_below((uint64_t)now.tv_sec, (uint64_t)now.tv_nsec, UINT64_MAX);
    snprintf(out, 37, "%08x-%04x-4%03x-8%03x-%012llx", (unsigned)(a >> 32),
             (unsigned)(a >> 16 & 0xffff), (unsigned)(a & 0xfff), (unsigned)(b >> 52),
             (unsigned long long)(b & 0xffffffffffffULL));
}

static void pause_ms(int ms) {
    struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

/* Asks for the state of a job until it has ended. */
static cr_code wait_for(cr_odps *o, const char *path, const char *place, cr_err *err) {
    cr_http_res r;
    char text[512] = "";
    for (int ms = 200, waited = 0;; ms = ms < 5000 ? 2 * ms : 5000) {
        cr_odps_call c = {.method = "GET",
                          .path = path,
                          .what = "follow an SQL job",
                          .place = place};
        cr_code code = cr_odps_do(o, &c, &r, err);
        cr_xml x = {r.body.data, r.body.data + r.body.n};
        if (code == CR_OK && r.body.n) cr_xml_text(x, "Status", text, sizeof text);
        cr_http_clear(&r);
        if (code != CR_OK) return code;
        if (strcmp(text, "Terminated") == 0) break;
        if (waited > 1000 * MOST_WAIT)
            return cr_fail_at(err, CR_EIO, ((cr_loc){place, 0, 0}),
                              "an SQL job of MaxCompute has not ended after %d s; run again when "
                              "the project has room for it",
                              MOST_WAIT);
        pause_ms(ms);
        waited += ms;
    }
    cr_odps_call c = {.method = "GET",
                      .path = path,
                      .what = "follow an SQL job",
                      .place = place,
                      .query = {{"taskstatus", ""}},
                      .n_query = 1};
    CR_TRY(cr_odps_do(o, &c, &r, err));
    cr_xml x = {r.body.data, r.body.data + r.body.n}, in;
    if (r.body.n && cr_xml_next(&x, "Task", &in)) cr_xml_text(in, "Status", text, sizeof text);
    cr_http_clear(&r);
    if (strcmp(text, "Success") == 0) return CR_OK;
    c.query[0] = (cr_sig4_pair){"result", ""};
    CR_TRY(cr_odps_do(o, &c, &r, err));
    const char *at = r.body.n ? memmem(r.body.data, r.body.n, "<![CDATA[", 9) : NULL;
    const char *end = at ? memmem(at, r.body.n - (size_t)(at - r.body.data), "]]>", 3) : NULL;
    cr_code code = cr_fail_at(err, CR_EIO, ((cr_loc){place, 0, 0}),
                              "SQL of MaxCompute ended as '%s': %.*s; check the rights of the "
                              "account",
                              text, at && end ? (int)(end - at - 9) : 0, at && end ? at + 9 : "");
    cr_http_clear(&r);
    return code;
}

void cr_odps_sql_name(const cr_odps_table *t, cr_buf *out) {
    cr_buf_printf(out, "%s.", t->project);
    if (*t->schema) cr_buf_printf(out, "%s.", t->schema);
    cr_buf_printf(out, "`%s`", t->table);
}

cr_code cr_odps_sql(cr_odps *o, const cr_odps_table *t, const char *name, const char *sql,
                    const char *place, cr_err *err) {
    /* without these a name of three parts is a mistake */
    const char *spaces = *t->schema ? ", \"odps.namespace.schema\": \"true\", "
                                      "\"odps.sql.allow.namespace.schema\": \"true\""
                                    : "";
    char id[37], path[256], job[300];
    cr_buf b;
    cr_http_res r;
    random_id(id);
    cr_buf_init(&b);
    cr_buf_printf(
        &b,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<Instance><Job><Priority>9</Priority>"
        "<Tasks><SQL><Name>%s</Name><Config><Property><Name>settings</Name><Value>"
        "{\"odps.sql.type.system.odps2\": \"true\", \"odps.sql.submit.mode\": \"\"%s}"
        "</Value></Property><Property><Name>uuid</Name><Value>%s</Value></Property>"
        "</Config><Query><![CDATA[%s]]></Query></SQL></Tasks>"
        "<DAG><RunMode>Sequence</RunMode></DAG></Job></Instance>",
        name, spaces, id, sql);
    snprintf(path, sizeof path, "/projects/%s/instances", cr_odps_project(o));
    /* a statement that is sent twice does the same: it says IF NOT EXISTS */
    cr_odps_call c = {.method = "POST",
                      .path = path,
                      .what = "run SQL",
                      .place = place,
                      .schema = t->schema,
                      .type = "application/xml",
                      .body = b.data,
                      .n_body = b.n,
                      .again = true};
    cr_code code = cr_odps_do(o, &c, &r, err);
    if (code == CR_OK) {
        const char *at = cr_http_header(&r, "location"), *slash = strrchr(at, '/');
        if (!slash || !slash[1])
            code = cr_fail_at(err, CR_EIO, ((cr_loc){place, 0, 0}),
                              "MaxCompute's answer to an SQL job does not name it; run again");
        else
            snprintf(job, sizeof job, "%s/%s", path, slash + 1);
    }
    cr_http_clear(&r);
    cr_buf_clear(&b);
    return code == CR_OK ? wait_for(o, job, place, err) : code;
}
