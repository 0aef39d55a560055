/*
 * source.c - KafkaDataset: the messages of a topic, each of them a batch of Arrow.
 *
 * A message is an Arrow stream, of which the first record batch counts, or, where input_fields says
 * what the columns are, one record batch without a schema. A message is a block; which message
 * comes next is told by places.h. What finds, checks and converts the columns is that of the
 * Parquet and Arrow readers.
 *
 * The stream has an end only where its address asks for one (stop.at.end, stop.timestamp.ms). Where
 * it stood is a text in the checkpoint, because offsets have gaps and cannot be counted.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/plugin.h"
#include "base/stop.h"
#include "conf/conf.h"
#include "data/arrow/vec.h"
#include "data/kafka/kafka.h"
#include "data/kafka/places.h"
#include "data/pq/pq_int.h"

#define WAIT_MS    30000
#define POLL_MS    100
#define TELL_S     60.0 /* a partition that is silent so long is told about */
#define MOST_BYTES ((size_t)1 << 30)

/* A schema that messages have had. */
typedef struct form {
    cr_arrow_schema schema;
    cr_arrow_shape shape;
    const cr_pqs_schema *places;
    bool *wanted;
    struct form *next;
} form;

struct cr_source {
    const cr_kafka_plug *plug;
    void *client;
    cr_kafka_url url;
    const char *path; /* the address without what stands behind '?', which may hold secrets */
    cr_pqs_wants w;
    cr_want *want; /* ours: every column as values */
    bool bare;     /* messages have no schema: input_fields is it */
    cr_arrow_schema given;
    form *forms; /* the newest first; cut adds, parse reads */
    cr_kafka_places at;
    bool fetching;
    double silent; /* since when the partition whose turn it is has been silent; 0: it is not */
    bool told;
    cr_file_id id;
    atomic_bool stop;
    pthread_mutex_t lock;     /* guards `at`, which one thread changes and others ask */
    pthread_rwlock_t columns; /* guards w and forms: a message may have a new schema */
    cr_arena arena;
};

/* ---- the plug-in ---- */

static const cr_kafka_plug *plug;
static cr_err plug_err;

static void load(void) {
    void *entry;
    if (cr_plugin_own("kafka-rdkafka.so", "cr_kafka_plug_of", CR_KAFKA_ABI,
                      "build crank with librdkafka-dev installed", &entry, &plug_err) == CR_OK)
        plug = entry;
}

static cr_code failed(const cr_source *s, cr_err *err, const char *what, const char *why) {
    return cr_fail_at(err, CR_EIO, ((cr_loc){s->path, 0, 0}),
                      "%s: %s; check the brokers, the topic and the keys of the address", what,
                      why);
}

/* ---- where the stream begins ---- */

static int env_int(const char *name, int def, int least, int most) {
    const char *v = getenv(name);
    int64_t x;
    return v && cr_parse_i64(v, strlen(v), &x) && x >= least && x <= most ? (int)x : def;
}

/* The first offsets whose time is not before ms, some partitions at a time; -1: none. */
static cr_code find_times(cr_source *s, int64_t ms, int64_t *out, cr_err *err) {
    int some = env_int("TZREC_KAFKA_OFFSETS_FOR_TIMES_BATCH_SIZE", 32, 1, 100000);
    int wait = 1000 * env_int("TZREC_KAFKA_OFFSETS_FOR_TIMES_TIMEOUT", 30, 1, 86400);
    int tries = 1 + env_int("TZREC_KAFKA_OFFSETS_FOR_TIMES_RETRIES", 2, 0, 1000);
    char why[300] = "";
    for (int from = 0; from < s->at.n; from += some) {
        int n = s->at.n - from < some ? s->at.n - from : some;
        bool fine = false;
        for (int k = 0; k < tries && !fine && !atomic_load(&cr_stop_requested); k++)
            fine = s->plug->at_time(s->client, from, n, ms, wait, out + from, why, sizeof why);
        if (!fine && atomic_load(&cr_stop_requested))
            return cr_fail_at(err, CR_ESTOP, ((cr_loc){s->path, 0, 0}), "stopped by a signal");
        if (!fine) return failed(s, err, "cannot find the offsets of a time", why);
    }
    return CR_OK;
}

/* Finds where every partition begins and ends, without a checkpoint. */
static cr_code find_places(cr_source *s, cr_err *err) {
    char why[300] = "";
    int n = s->at.n;
    int64_t *first = CR_NEW_N(&s->arena, int64_t, n + 1);
    int64_t *last = CR_NEW_N(&s->arena, int64_t, n + 1);
    for (int i = 0; i < n; i++)
        first[i] = last[i] = -1;
    if (s->url.start_ms >= 0)
        CR_TRY(find_times(s, s->url.start_ms, first, err));
    else if (!s->plug->committed(s->client, n, WAIT_MS, first, why, sizeof why))
        return failed(s, err, "cannot read the offsets of the group", why);
    if (s->url.stop_ms >= 0) CR_TRY(find_times(s, s->url.stop_ms, last, err));
    for (int i = 0; i < n; i++) {
        int64_t low, high;
        if (!s->plug->bounds(s->client, i, WAIT_MS, &low, &high, why, sizeof why))
            return failed(s, err, "cannot read the bounds of a partition", why);
        if (s->url.start_ms >= 0 && first[i] < 0)
            CR_WARN(
                "%s partition %d has no message of start.timestamp.ms or later; it begins where "
                "auto.offset.reset says, at its %s",
                s->path, i, s->url.earliest ? "first message" : "end");
        cr_kafka_place *p = &s->at.v[i];
        p->first = first[i] >= 0 ? first[i] : s->url.earliest ? low : high;
        if (p->first < low) p->first = low;
        p->end = s->url.stop_ms >= 0 && last[i] >= 0         ? last[i]
                 : s->url.stop_ms >= 0 || s->url.stop_at_end ? high
                                                             : -1;
        if (p->end >= 0 && p->end < p->first) p->end = p->first;
    }
    cr_kafka_places_rewind(&s->at);
    return CR_OK;
}

/* ---- schemas ---- */

static const struct {
    cr_arrow_kind kind;
    int bits;
} plain_types[] = {{CR_ARROW_INT, 32}, /* in the order of FieldType */
                   {CR_ARROW_INT, 64},
                   {CR_ARROW_UTF8, 0},
                   {CR_ARROW_FLOAT, 32},
                   {CR_ARROW_FLOAT, 64}};

static cr_arrow_field *add_field(cr_arrow_schema *s, const char *name, cr_arrow_kind kind,
                                 int children) {
    cr_arrow_field *f = &s->v[s->n++];
    *f = (cr_arrow_field){
        .name = name, .nullable = true, .kind = kind, .n_children = children, .parent = -1};
    return f;
}

static void add_plain(cr_arrow_schema *s, const char *name, int type) {
    cr_arrow_field *f = add_field(s, name, plain_types[type].kind, 0);
    f->bits = plain_types[type].bits;
    f->is_signed = true;
}

/* Makes the schema that input_fields tells: FieldType counts five types each of single values,
 * lists, lists of lists, and maps from text, 64-bit and 32-bit numbers. */
static void schema_of(cr_arrow_schema *s, const cr_data_conf *c, cr_arena *a) {
    static const int keys[] = {2, 1, 0}; /* STRING, INT64, INT32 */
    *s = (cr_arrow_schema){.v = CR_NEW_N(a, cr_arrow_field, 4 * c->input_fields.n + 1)};
    for (int64_t i = 0; i < c->input_fields.n; i++) {
        const cr_field_conf *f = c->input_fields.v[i];
        int group = f->input_type / 5, type = f->input_type % 5;
        if (group == 0) {
            add_plain(s, f->input_name, type);
        } else if (group <= 2) {
            add_field(s, f->input_name, CR_ARROW_LIST, 1);
            if (group == 2) add_field(s, "item", CR_ARROW_LIST, 1);
            add_plain(s, "item", type);
        } else {
            add_field(s, f->input_name, CR_ARROW_MAP, 1);
            add_field(s, "entries", CR_ARROW_STRUCT, 2)->nullable = false;
            add_plain(s, "key", keys[group - 3]);
            s->v[s->n - 1].nullable = false;
            add_plain(s, "value", type);
        }
    }
    cr_arrow_schema_link(s);
}

/* Copies a schema, whose names live only as long as their message. */
static void copy_schema(cr_arrow_schema *to, const cr_arrow_schema *from, cr_arena *a) {
    *to = *from;
    to->v = CR_NEW_N(a, cr_arrow_field, from->n + 1);
    for (int i = 0; i < from->n; i++) {
        to->v[i] = from->v[i];
        to->v[i].name = cr_arena_strdup(a, from->v[i].name);
    }
}

/* Finds the wanted columns in a schema that no message has had before. */
static form *new_form(cr_source *s, const cr_arrow_schema *schema, cr_diag *diag) {
    form *f = CR_NEW(&s->arena, form);
    const form *before = s->forms;
    size_t errors = diag->n_errors;
    cr_err e;
    copy_schema(&f->schema, schema, &s->arena);
    if (cr_arrow_shape_of(&f->schema, &s->arena, &f->shape, &e) != CR_OK) {
        cr_diag_add(diag, CR_SEV_ERROR, e.code, (cr_loc){s->path, 0, 0}, "%s", e.msg);
        return NULL;
    }
    f->places = cr_pqs_wants_look(&s->w, s->path, &f->shape.meta,
                                  before ? &before->shape.meta : NULL, diag);
    if (diag->n_errors > errors) return NULL;
    f->wanted = CR_NEW_N(&s->arena, bool, f->schema.n + 1);
    for (int i = 0; i < f->places->n_slots; i++) {
        int field = f->shape.field[f->shape.meta.leaves[f->places->leaf[i]]];
        int bad = cr_arrow_unreadable(&f->schema, field);
        if (bad >= 0) {
            char type[200];
            cr_arrow_type_text(&f->schema, bad, type, sizeof type);
            cr_diag_add(diag, CR_SEV_ERROR, CR_EDATA, (cr_loc){s->path, 0, 0},
                        "column '%s' has the type %s, which is not read; write it as a number, "
                        "text, a list or a map",
                        f->schema.v[bad].name, type);
            return NULL;
        }
        cr_arrow_want(&f->schema, field, f->wanted);
    }
    f->next = s->forms;
    s->forms = f;
    return f;
}

static const form *form_of(const cr_source *s, const cr_arrow_schema *schema) {
    const form *f = s->forms;
    while (f && !cr_arrow_same_schema(&f->schema, schema))
        f = f->next;
    return f;
}

/* ---- messages ---- */

static void place_text(const cr_source *s, int partition, int64_t offset, char *out, size_t size) {
    snprintf(out, size, "%s partition %d offset %lld", s->path, partition, (long long)offset);
}

static cr_code open_message(const cr_source *s, const void *data, size_t n, const char *name,
                            cr_arrow_file **out, cr_err *err) {
    cr_arrow_opts o = {.schema = s->bare ? &s->given : NULL, .budget = MOST_BYTES};
    CR_TRY(cr_arrow_open_mem(out, data, (int64_t)n, name, &o, err));
    if (cr_arrow_n_batches(*out) > 0) return CR_OK;
    cr_arrow_close(*out);
    *out = NULL;
    return cr_fail_at(err, CR_EDATA, ((cr_loc){name, 0, 0}),
                      "the message holds no record batch; write one Arrow stream with one batch "
                      "into each message%s",
                      s->bare ? ", or the batch alone" : "");
}

/* Reads the newest message of partition 0 for its schema. */
static cr_code peek(cr_source *s, cr_diag *diag, cr_err *err) {
    char why[300] = "", name[600];
    int64_t low, high;
    cr_kafka_msg m = {0};
    cr_arrow_file *f = NULL;
    if (!s->plug->bounds(s->client, 0, WAIT_MS, &low, &high, why, sizeof why))
        return failed(s, err, "cannot read the bounds of a partition", why);
    if (high <= low)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){s->path, 0, 0}),
                          "partition 0 has no message that would tell the columns; list them in "
                          "data_config.input_fields, or write a message first");
    if (!s->plug->start(s->client, 0, high - 1, why, sizeof why))
        return failed(s, err, "cannot read the newest message", why);
    cr_kafka_got got = CR_KAFKA_NONE;
    for (int waited = 0; got == CR_KAFKA_NONE && waited < WAIT_MS; waited += POLL_MS)
        got = s->plug->next(s->client, 0, POLL_MS, &m, why, sizeof why);
    s->plug->stop(s->client, 0);
    if (got != CR_KAFKA_MSG)
        return failed(s, err, "cannot read the newest message", why[0] ? why : "none came");
    place_text(s, 0, m.offset, name, sizeof name);
    cr_code code = open_message(s, m.data, m.n, name, &f, err);
    if (code == CR_OK && !new_form(s, cr_arrow_get_schema(f), diag)) code = cr_diag_code(diag);
    cr_arrow_close(f);
    s->plug->give_back(&m);
    return code;
}

static cr_code fetch_all(cr_source *s, cr_err *err) {
    char why[300] = "";
    for (int i = 0; i < s->at.n; i++) {
        if (cr_kafka_places_over(&s->at, i)) continue;
        if (!s->plug->start(s->client, i, s->at.v[i].next, why, sizeof why))
            return failed(s, err, "cannot read a partition", why);
    }
    s->fetching = true;
    return CR_OK;
}

static cr_code gone(const cr_source *s, int p, cr_err *err) {
    char name[600];
    place_text(s, p, s->at.v[p].next, name, sizeof name);
    return cr_fail_at(err, CR_EDATA, ((cr_loc){s->path, 0, 0}),
                      "%s is not there any more: the brokers have removed it; keep messages "
                      "longer than a run stands still, or start anew",
                      name);
}

/* wait_for waits for the message of a partition; *passed: it has none now, or no more at all. */
static cr_code wait_for(cr_source *s, int p, cr_kafka_msg *m, bool *passed, cr_err *err) {
    char why[300] = "";
    const cr_kafka_place *x = &s->at.v[p];
    for (;;) {
        cr_kafka_got got = s->plug->next(s->client, p, POLL_MS, m, why, sizeof why);
        if (got == CR_KAFKA_MSG && x->end >= 0 && m->offset >= x->end) {
            s->plug->give_back(m);
            *passed = true;
        } else if (got == CR_KAFKA_MSG) {
            s->silent = 0;
            return CR_OK;
        } else if (got == CR_KAFKA_GONE) {
            return gone(s, p, err);
        } else if (got == CR_KAFKA_FAILED) {
            return failed(s, err, "cannot read a partition", why);
        } else if (got == CR_KAFKA_END && x->end >= 0 && m->offset >= x->end) {
            *passed = true; /* what lies before the end are no messages */
        }
        if (*passed) {
            pthread_mutex_lock(&s->lock);
            s->at.v[p].next = x->end;
            pthread_mutex_unlock(&s->lock);
            return CR_OK;
        }
        if (atomic_load(&s->stop) || atomic_load(&cr_stop_requested))
            return cr_fail_at(err, CR_ESTOP, ((cr_loc){s->path, 0, 0}),
                              "stopped by a signal while it waited for a message");
        double now = cr_now();
        if (s->silent == 0) s->silent = now;
        if (s->url.skip_idle_ms > 0 && now - s->silent > 1e-3 * (double)s->url.skip_idle_ms) {
            *passed = true; /* it keeps its place, and is asked again in the next round */
            return CR_OK;
        }
        if (!s->told && now - s->silent > TELL_S) {
            s->told = true;
            CR_WARN("%s partition %d has had no message for %.0f s, and the others wait for it, so "
                    "that the same run can be made again; skip.idle.ms=MS in the address passes "
                    "over partitions that are silent",
                    s->path, p, TELL_S);
        }
    }
}

static void step(cr_source *s, int p, int64_t offset) {
    pthread_mutex_lock(&s->lock);
    cr_kafka_places_step(&s->at, p, offset);
    pthread_mutex_unlock(&s->lock);
}

/* next_message finds the message that is the next block; *end: there is none any more. */
static cr_code next_message(cr_source *s, cr_kafka_msg *m, int *partition, bool *end, cr_err *err) {
    for (;;) {
        int over = 0;
        while (over < s->at.n && cr_kafka_places_over(&s->at, (s->at.turn + over) % s->at.n))
            over++;
        *end = over == s->at.n;
        if (*end) return CR_OK;
        int p = (s->at.turn + over) % s->at.n;
        bool passed = false;
        CR_TRY(wait_for(s, p, m, &passed, err));
        *partition = p;
        if (!passed) return CR_OK;
        if (!cr_kafka_places_over(&s->at, p)) step(s, p, -1);
    }
}

/* Copies a message, and looks at its columns. */
static cr_code keep_message(cr_source *s, int p, const cr_kafka_msg *m, cr_raw *raw, cr_err *err) {
    char name[600];
    cr_arrow_file *f = NULL;
    if (m->n > MOST_BYTES)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){s->path, 0, 0}), "a message has %zu bytes",
                          m->n);
    if (raw->cap < m->n + CR_RAW_PAD) {
        void *text;
        cr_free(raw->text);
        raw->text = NULL;
        raw->cap = 0;
        CR_TRY(cr_try_alloc(&text, m->n + CR_RAW_PAD, "a message", err));
        raw->text = text;
        raw->cap = m->n + CR_RAW_PAD;
    }
    if (m->n > 0) memcpy(raw->text, m->data, m->n);
    place_text(s, p, m->offset, name, sizeof name);
    CR_TRY(open_message(s, raw->text, m->n, name, &f, err));
    cr_code code = CR_OK;
    if (!form_of(s, cr_arrow_get_schema(f))) {
        cr_diag diag;
        cr_diag_init(&diag);
        pthread_rwlock_wrlock(&s->columns);
        bool fine = new_form(s, cr_arrow_get_schema(f), &diag) != NULL;
        if (fine) cr_pqs_wants_end(&s->w);
        pthread_rwlock_unlock(&s->columns);
        if (!fine)
            code =
                cr_fail_at(err, CR_EDATA, ((cr_loc){s->path, 0, 0}),
                           "the columns of partition %d offset %lld are others than before: %s", p,
                           (long long)m->offset, diag.n ? diag.v[0].msg : "they cannot be read");
        cr_diag_clear(&diag);
    }
    cr_arrow_close(f);
    return code;
}

static cr_code kafka_cut(cr_source *s, int64_t file, int64_t block, cr_raw *raw, bool *end,
                         cr_err *err) {
    cr_kafka_msg m = {0};
    int p = 0;
    if (block == 0 && s->at.block != 0) { /* another epoch */
        pthread_mutex_lock(&s->lock);
        cr_kafka_places_rewind(&s->at);
        pthread_mutex_unlock(&s->lock);
        s->fetching = false;
    }
    if (block != s->at.block || block >= INT32_MAX)
        return cr_fail_at(err, CR_EDATA, ((cr_loc){s->path, 0, 0}),
                          "message %lld of the run was asked for and %lld comes next; the "
                          "checkpoint does not fit, or there were more than 2 billion: start a new "
                          "run from the checkpoint with fine_tune_checkpoint",
                          (long long)block, (long long)s->at.block);
    if (!s->fetching) CR_TRY(fetch_all(s, err));
    CR_TRY(next_message(s, &m, &p, end, err));
    if (*end) return CR_OK;
    cr_code code = keep_message(s, p, &m, raw, err);
    raw->file = file;
    raw->block = block;
    raw->first_row = -1;
    raw->first_line = 0;
    raw->offset = m.offset;
    raw->from = p; /* for messages */
    raw->size = m.n;
    s->plug->give_back(&m);
    if (code == CR_OK) step(s, p, raw->offset);
    return code;
}

/* What the columns of a chunk may point into. */
typedef struct loaded {
    cr_arrow_batch batch;
    cr_memo *memos;
    int n;
} loaded;

static void drop_loaded(void *ctx) {
    loaded *l = ctx;
    for (int i = 0; i < l->n; i++)
        cr_memo_clear(&l->memos[i]);
    cr_arrow_batch_clear(&l->batch);
}

static cr_code read_columns(const cr_source *s, const cr_arrow_file *f, const form *x,
                            cr_chunk *chunk, cr_bad *bad, cr_err *err) {
    cr_arena *a = &chunk->arena;
    int n = x->places->n_slots;
    cr_pq_vec *vecs = CR_NEW_N(a, cr_pq_vec, n + 1), *entries = CR_NEW_N(a, cr_pq_vec, n + 1);
    loaded *l = CR_NEW(a, loaded);
    l->memos = CR_NEW_N(a, cr_memo, n + 1);
    l->n = n;
    cr_arrow_batch_init(&l->batch);
    cr_arena_defer(a, drop_loaded, l);
    CR_TRY(cr_arrow_load(f, 0, x->wanted, &l->batch, err));
    for (int i = 0; i < n; i++) {
        int leaf = x->places->leaf[i], field = x->shape.field[x->shape.meta.leaves[leaf]];
        if (x->schema.v[field].coded)
            CR_TRY(cr_arrow_entries(f, &x->shape, leaf, cr_arrow_dict_of(f, 0, field), a,
                                    &entries[i], err));
        CR_TRY(cr_arrow_vec(f, &x->shape, leaf, &l->batch, 0, l->batch.n_rows, &entries[i], a,
                            &vecs[i], err));
    }
    return cr_pqs_chunk(&s->w, x->places, chunk->path, vecs, l->memos, chunk, bad, err);
}

static cr_code kafka_parse(const cr_source *s, const cr_raw *raw, cr_chunk *chunk, cr_bad *bad,
                           cr_err *err) {
    cr_arena *a = &chunk->arena;
    char name[600];
    cr_arrow_file *f = NULL;
    cr_arena_reset(a);
    place_text(s, (int)raw->from, raw->offset, name, sizeof name);
    CR_TRY(open_message(s, raw->text, raw->size, name, &f, err));
    chunk->n_rows = cr_arrow_batch_rows(f, 0);
    chunk->n_cols = s->w.n;
    chunk->path = cr_arena_strdup(a, name);
    chunk->first_row = -1;
    chunk->lines = NULL;
    cr_source *m = (cr_source *)(uintptr_t)s;
    pthread_rwlock_rdlock(&m->columns);
    cr_code code = read_columns(s, f, form_of(s, cr_arrow_get_schema(f)), chunk, bad, err);
    pthread_rwlock_unlock(&m->columns);
    cr_arrow_close(f);
    return code;
}

/* ---- the reader ---- */

static void kafka_close(cr_source *s) {
    if (!s) return;
    if (s->client) s->plug->close(s->client);
    cr_kafka_places_clear(&s->at);
    pthread_mutex_destroy(&s->lock);
    pthread_rwlock_destroy(&s->columns);
    cr_arena_clear(&s->arena);
    cr_free(s);
}

static cr_code open_topic(cr_source *s, const char *paths, int *n, cr_err *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char why[300] = "";
    CR_TRY(cr_kafka_parse(paths, &s->arena, &s->url, err));
    pthread_once(&once, load);
    if (!plug) {
        cr_err_copy(err, &plug_err);
        return plug_err.code;
    }
    s->plug = plug;
    if (!plug->open(&s->client, &s->url, why, sizeof why))
        return failed(s, err, "cannot open the topic", why);
    if (!plug->partitions(s->client, WAIT_MS, n, why, sizeof why))
        return failed(s, err, "cannot open the topic", why);
    return CR_OK;
}

cr_code cr_kafka_look(const char *path, cr_arena *a, cr_kafka_bounds **out, int *n, cr_err *err) {
    cr_source s = {.path = cr_arena_strndup(a, path, strcspn(path, "?"))};
    char why[300] = "";
    cr_arena_init(&s.arena, 0);
    cr_code code = open_topic(&s, path, n, err);
    if (code == CR_OK) *out = CR_NEW_N(a, cr_kafka_bounds, *n + 1);
    for (int i = 0; code == CR_OK && i < *n; i++)
        if (!plug->bounds(s.client, i, WAIT_MS, &(*out)[i].low, &(*out)[i].high, why, sizeof why))
            code = failed(&s, err, "cannot read the bounds of a partition", why);
    if (s.client) plug->close(s.client);
    cr_arena_clear(&s.arena);
    return code;
}

static cr_code connect_to(cr_source *s, const char *paths, cr_diag *diag, cr_err *err) {
    int n;
    CR_TRY(open_topic(s, paths, &n, err));
    cr_kafka_places_init(&s->at, s->url.topic, n, &s->arena);
    if (!s->bare) return peek(s, diag, err);
    schema_of(&s->given, s->w.conf, &s->arena);
    return new_form(s, &s->given, diag) ? CR_OK : cr_diag_code(diag);
}

static cr_code kafka_open(cr_source **out, const cr_data_conf *conf, const char *paths,
                          const cr_want *want, int n_want, cr_diag *diag) {
    cr_source *s = cr_alloc(sizeof *s, "a data set");
    size_t errors = diag->n_errors;
    cr_err err = {0};
    *out = NULL;
    cr_arena_init(&s->arena, 0);
    pthread_mutex_init(&s->lock, NULL);
    pthread_rwlock_init(&s->columns, NULL);
    s->path = cr_arena_strndup(&s->arena, paths, strcspn(paths, "?"));
    s->bare = conf->input_fields.n > 0;
    s->want = CR_NEW_N(&s->arena, cr_want, n_want + 1);
    for (int i = 0; i < n_want; i++) {
        s->want[i] = want[i];
        s->want[i].form = CR_WANT_VALUES;
    }
    cr_pqs_wants_init(&s->w, conf, s->want, n_want, &s->arena);
    s->w.otherwise = "name one of its columns";
    cr_code code = connect_to(s, paths, diag, &err);
    if (code != CR_OK) {
        if (diag->n_errors == errors)
            cr_diag_add(diag, CR_SEV_ERROR, err.code,
                        err.at.path ? err.at : (cr_loc){s->path, 0, 0}, "%s", err.msg);
        kafka_close(s);
        return code;
    }
    cr_pqs_wants_end(&s->w);
    *out = s;
    return CR_OK;
}

static cr_code kafka_begin(cr_source *s, const char *places, int64_t block, cr_err *err) {
    cr_buf text;
    CR_TRY(places ? cr_kafka_places_read(&s->at, places, block, err) : find_places(s, err));
    /* runs that begin and end at the same offsets read the same */
    cr_buf_init(&text);
    (void)cr_kafka_places_mark(&s->at, 0, &text);
    s->id = (cr_file_id){.digest = cr_digest_of(text.data, text.n), .size = 1};
    cr_buf_clear(&text);
    return CR_OK;
}

static bool kafka_mark(cr_source *s, int64_t block, cr_buf *out) {
    pthread_mutex_lock(&s->lock);
    bool known = cr_kafka_places_mark(&s->at, block, out);
    pthread_mutex_unlock(&s->lock);
    return known;
}

static void kafka_interrupt(cr_source *s) {
    atomic_store(&s->stop, true);
}

static bool kafka_endless(const char *path) {
    cr_arena a;
    cr_kafka_url u;
    cr_err err;
    cr_arena_init(&a, 0);
    bool endless = cr_kafka_parse(path, &a, &u, &err) == CR_OK && !u.stop_at_end && u.stop_ms < 0;
    cr_arena_clear(&a);
    return endless;
}

static int64_t kafka_n_files(const cr_source *s) {
    (void)s;
    return 1;
}

static const char *kafka_path(const cr_source *s, int64_t file) {
    (void)file;
    return s->path;
}

static const cr_file_id *kafka_file_id(const cr_source *s, int64_t file) {
    (void)file;
    return &s->id;
}

static cr_code kafka_n_blocks(cr_source *s, int64_t file, int64_t *out, cr_err *err) {
    (void)s;
    (void)file;
    (void)err;
    *out = -1; /* front to back */
    return CR_OK;
}

static int kafka_columns(const cr_source *s, const char *const **out) {
    *out = s->w.names;
    return s->w.n_names;
}

static void kafka_kinds(const cr_source *s, cr_colkind *out) {
    cr_pqs_kinds(&s->w, out);
}

static const cr_reader_stream stream = {.prefix = "kafka://",
                                        .endless = kafka_endless,
                                        .begin = kafka_begin,
                                        .mark = kafka_mark,
                                        .interrupt = kafka_interrupt};

const cr_reader_type cr_reader_kafka = {
    .name = "KafkaDataset",
    .open = kafka_open,
    .close = kafka_close,
    .n_files = kafka_n_files,
    .path = kafka_path,
    .file_id = kafka_file_id,
    .n_blocks = kafka_n_blocks,
    .cut = kafka_cut,
    .parse = kafka_parse,
    .columns = kafka_columns,
    .kinds = kafka_kinds,
    .typed = true,
    .stream = &stream,
};
