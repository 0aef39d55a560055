/*
 * places.c - see places.h.
 */
#include "data/kafka/places.h"

#include <stdio.h>
#include <string.h>

/* Steps that are kept: far more than the loader has in flight. */
#define MOST_STEPS ((size_t)1 << 20)

typedef struct cr_kafka_step {
    int64_t offset; /* -1: the partition was passed over, and no block was made */
    int partition;
} cr_kafka_step;

void cr_kafka_places_init(cr_kafka_places *p, const char *topic, int n, cr_arena *a) {
    *p = (cr_kafka_places){.topic = topic, .n = n};
    p->v = CR_NEW_N(a, cr_kafka_place, n + 1);
    p->then = CR_NEW_N(a, cr_kafka_place, n + 1);
}

void cr_kafka_places_clear(cr_kafka_places *p) {
    cr_free(p->steps);
    p->steps = NULL;
    p->n_steps = p->cap_steps = 0;
}

void cr_kafka_places_begin(cr_kafka_places *p, int64_t block, int turn) {
    p->base = p->block = block;
    p->turn = p->then_turn = turn;
    p->n_steps = 0;
    memcpy(p->then, p->v, (size_t)p->n * sizeof *p->v);
}

void cr_kafka_places_rewind(cr_kafka_places *p) {
    for (int i = 0; i < p->n; i++)
        p->v[i].next = p->v[i].first;
    cr_kafka_places_begin(p, 0, 0);
}

bool cr_kafka_places_over(const cr_kafka_places *p, int partition) {
    const cr_kafka_place *x = &p->v[partition];
    return x->end >= 0 && x->next >= x->end;
}

/* Makes a step in some places. */
static void apply(cr_kafka_place *v, int n, int *turn, const cr_kafka_step *s) {
    if (s->offset >= 0) v[s->partition].next = s->offset + 1;
    *turn = (s->partition + 1) % n;
}

void cr_kafka_places_step(cr_kafka_places *p, int partition, int64_t offset) {
    cr_kafka_step s = {offset, partition};
    if (p->n_steps == MOST_STEPS) { /* the older half is forgotten */
        size_t half = MOST_STEPS / 2;
        for (size_t i = 0; i < half; i++) {
            apply(p->then, p->n, &p->then_turn, &p->steps[i]);
            p->base += p->steps[i].offset >= 0;
        }
        memmove(p->steps, p->steps + half, (MOST_STEPS - half) * sizeof *p->steps);
        p->n_steps -= half;
    }
    if (p->n_steps == p->cap_steps) {
        size_t cap = p->cap_steps ? 2 * p->cap_steps : 256;
        p->steps = cr_realloc(p->steps, p->cap_steps * sizeof *p->steps, cap * sizeof *p->steps,
                              "places of a topic");
        p->cap_steps = cap;
    }
    p->steps[p->n_steps++] = s;
    apply(p->v, p->n, &p->turn, &s);
    p->block += offset >= 0;
}

static void put(cr_buf *out, const cr_kafka_places *p, const cr_kafka_place *v, int turn) {
    for (int i = 0; i < p->n; i++) {
        cr_buf_printf(out, "%s%s:%d=%lld,%lld,", i ? " " : "", p->topic, i, (long long)v[i].first,
                      (long long)v[i].next);
        if (v[i].end >= 0)
            cr_buf_printf(out, "%lld", (long long)v[i].end);
        else
            cr_buf_str(out, "-");
    }
    cr_buf_printf(out, " turn=%d", turn);
}

bool cr_kafka_places_mark(const cr_kafka_places *p, int64_t block, cr_buf *out) {
    if (block == 0) { /* of any epoch: its beginning */
        cr_kafka_place *v = cr_alloc((size_t)(p->n + 1) * sizeof *v, "places of a topic");
        for (int i = 0; i < p->n; i++) {
            v[i] = p->v[i];
            v[i].next = v[i].first;
        }
        put(out, p, v, 0);
        cr_free(v);
        return true;
    }
    if (block < p->base || block > p->block) return false;
    cr_kafka_place *v = cr_alloc((size_t)(p->n + 1) * sizeof *v, "places of a topic");
    memcpy(v, p->then, (size_t)p->n * sizeof *v);
    int turn = p->then_turn;
    int64_t at = p->base;
    for (size_t i = 0; i < p->n_steps && at < block; i++) {
        apply(v, p->n, &turn, &p->steps[i]);
        at += p->steps[i].offset >= 0;
    }
    put(out, p, v, turn);
    cr_free(v);
    return true;
}

/* Reads a number up to one of the ends; false: there is none. */
static bool number(const char **at, const char *ends, int64_t *out) {
    size_t n = strcspn(*at, ends);
    if (!cr_parse_i64(*at, n, out) || *out < 0) return false;
    *at += n;
    return true;
}

static bool read_places(cr_kafka_places *p, const char *at, int64_t *turn) {
    size_t n = strlen(p->topic);
    for (int i = 0; i < p->n; i++) {
        int64_t number_of;
        cr_kafka_place *x = &p->v[i];
        if (strncmp(at, p->topic, n) != 0 || at[n] != ':') return false;
        at += n + 1;
        if (!number(&at, "= ", &number_of) || number_of != i || *at++ != '=') return false;
        if (!number(&at, ", ", &x->first) || *at++ != ',') return false;
        if (!number(&at, ", ", &x->next) || *at++ != ',') return false;
        x->end = -1;
        if (*at == '-')
            at++;
        else if (!number(&at, " ", &x->end))
            return false;
        if (*at++ != ' ' || x->next < x->first) return false;
    }
    if (strncmp(at, "turn=", 5) != 0) return false;
    at += 5;
    return number(&at, " ", turn) && *at == 0 && *turn < p->n;
}

cr_code cr_kafka_places_read(cr_kafka_places *p, const char *text, int64_t block, cr_err *err) {
    int64_t turn;
    if (!read_places(p, text, &turn))
        return cr_fail(err, CR_EDATA,
                       "the checkpoint has the offsets of another topic, or of another number of "
                       "partitions than the %d of '%s' ('%.100s'); go on with that topic, or start "
                       "a new run from the checkpoint with fine_tune_checkpoint",
                       p->n, p->topic, text);
    cr_kafka_places_begin(p, block, (int)turn);
    return CR_OK;
}
