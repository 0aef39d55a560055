/*
 * ps_int.h - training with parameter servers whose workers do not wait for each other
 * (docs/design/servers.md). Work is done in rounds: inside of one, workers run by themselves and
 * exchange letters with servers; between two, all processes make the same calls.
 *
 * ps.c has what both sides share and the ends of a round, ps_server.c the loop of a server,
 * ps_worker.c the rows and gradients of a worker's step, ps_post.c the thread that sends and
 * receives for it, ps_geo.c the rows that a worker of strategy geo trains itself, ps_lost.c what
 * becomes of a round when a worker is lost.
 */
#ifndef CR_TRAIN_PS_INT_H
#define CR_TRAIN_PS_INT_H

#include <pthread.h>

#include "emb/shards.h"
#include "train/train_int.h"

/* ---- letters ---- */
enum {
    PS_PULL = 1,
    PS_ROWS,
    PS_DENSE,
    PS_VALUES,
    PS_PUSH,
    PS_DELTA,
    PS_NEWS,
    PS_MEET,
    PS_DRY, /* a signal ended the wait for rows behind the step; NEWS without values answers */
    /* of the first server, where a worker may be lost: */
    PS_TAKE, /* rows of lost workers are to be trained; cr_take of `count` of them follow */
    PS_END   /* the round is over, without the workers of the cr_take that follow */
};
#define PS_NO_STOP INT64_MAX

/* Every letter begins with it. */
typedef struct ps_head {
    int32_t kind;
    int32_t parts; /* PUSH: lists of rows that follow each other, whose ids may be equal */
    int64_t step;  /* of the worker */
    int64_t count; /* PUSH: batches that are merged; ROWS: batches that the server has applied */
    int64_t seen; /* PUSH: the count of the ROWS that the oldest of its batches was computed from */
    int64_t stop; /* ROWS, NEWS: the last step of the round; PS_NO_STOP: not known yet */
    int64_t wish; /* PULL, DELTA, DRY: the worker got a signal */
    int64_t takes; /* END: how many TAKE there were */
    int64_t day;   /* PULL, DELTA: of the worker's batch; INT64_MIN: not known */
} ps_head;

typedef struct ps_box { /* a letter, or room for one */
    char *mem;
    size_t n, cap;
    int ticket;
    bool busy; /* it is being sent */
} ps_box;

/* A block of a table's rows that lies with a server. */
typedef struct ps_block {
    int table;
    const cr_shard *sh;
    bool grows, counted; /* the table grows, and wants to know how often ids are in a batch */
    cr_table *held;      /* on the server itself */
    cr_grow *grow;       /* there, where it grows */
} ps_block;

/* The part of a letter that belongs to a block: ids, counted from the block's first row, or keys of
 * a table that grows; how often each was seen, where somebody wants to know; values. */
typedef struct ps_span {
    int64_t n;
    uint32_t *id;
    int64_t *key;
    uint32_t *times;
    char *v;
} ps_span;
/* What follows the ids: nothing, as in PULL, weights, gradients (PUSH), or differences. How often
 * ids were seen is told by PULL and by differences. */
typedef enum ps_values { PS_IDS_ONLY, PS_WEIGHTS, PS_FLOATS, PS_DIFFS } ps_values;

/* Distinct ids of one table, ascending, with D floats each. */
typedef struct ps_rows {
    int64_t n;
    int64_t *id;
    float *v;
    size_t cap_id, cap_v; /* bytes */
} ps_rows;

typedef struct ps_worker ps_worker;
typedef struct ps_server ps_server;
typedef struct ps_geo ps_geo;

#define PS_STALE 24 /* classes of staleness: 0, 1, 2-3, 4-7 ... */
typedef struct ps_counts {
    int64_t batches, pushes; /* that this server has applied in the round */
    int64_t stale[PS_STALE];
    int64_t most; /* the largest staleness */
    /* of the server's time: seconds of the round, in it at pulls, and at pushes and differences */
    double round_s, pull_s, push_s;
    int64_t pulls;
} ps_counts;

struct cr_ps {
    cr_arena arena;
    cr_job *j;
    cr_model *m;
    const cr_meet *meet;
    const cr_mail *mail;
    const cr_servers_conf *conf;
    cr_strategy strategy;
    dense_side *dense;
    const int64_t *slice; /* by holder */
    int n_servers, n_workers;
    int *server, *worker; /* their numbers as holders */
    int *index;           /* by holder: which server or worker it is */
    bool serves;
    ps_block **blocks; /* by server, in the order of tables, then of rows */
    int *n_blocks;
    int most_blocks;
    int64_t *grown; /* by table: steps of a table that grows, when the round began */
    /* The others go on when a worker is lost, and `lost` are those that were, behind END. */
    bool may_lose;
    cr_take *lost;
    int n_lost;
    bool took_over;        /* the others have trained their rows */
    int64_t first_step;    /* of the round */
    double began;          /* when it began */
    int64_t sent;          /* bytes that this process had sent by then; at its end: that all have */
    cr_trainer_state base; /* counters when the round began */
    ps_counts counts;
    ps_worker *w;
    ps_server *s;
    ps_geo *g;
};

/* ---- ps.c ---- */
CR_CHECKED cr_code cr_ps_fit(ps_box *b, size_t n, cr_err *err); /* the content may be lost */
/* cr_ps_room grows an array to n bytes and keeps its content. */
CR_CHECKED cr_code cr_ps_room(void **p, size_t *cap, size_t n, cr_err *err);
void cr_ps_post(const cr_ps *p, ps_box *b, int to);
bool cr_ps_sent(const cr_ps *p, ps_box *b); /* may the box be used again? It does not wait. */
/* cr_ps_lay says where the parts of a list of rows lie: numbers per block (at), ids, values. With
 * at NULL nothing is set. Returns the bytes of all. */
size_t cr_ps_lay(const cr_ps *p, int server, const int64_t *n, ps_values values, char *at,
                 ps_span *out);
/* cr_ps_measure says how many of `left` bytes a list of rows takes; false: it ends behind them, or
 * its numbers are none. cr_ps_wrong fails because of a letter that no process of this crank would
 * send. */
bool cr_ps_measure(const cr_ps *p, int server, const char *at, size_t left, ps_values values,
                   size_t *used);
cr_code cr_ps_wrong(int from, cr_err *err);
/* Bytes of the values of one row in a block, and of those of n rows in an answer, padded. In an
 * answer a byte for each key of a table that grows follows its values: has it a row? */
size_t cr_ps_row(const cr_ps *p, const ps_block *b, ps_values values);
size_t cr_ps_answer_size(const cr_ps *p, const ps_block *b, ps_values values, int64_t n);
static inline char *cr_ps_flags(const cr_ps *p, const ps_block *b, ps_values values, int64_t n,
                                char *v) {
    return v + (size_t)n * cr_ps_row(p, b, values);
}
/* Writes a row, which lies in the block, as id number i of a span; the way back. */
static inline void cr_ps_put_id(const ps_block *b, const ps_span *s, int64_t i, int64_t row) {
    if (b->grows)
        s->key[i] = row;
    else
        s->id[i] = (uint32_t)(row - b->sh->row);
}
static inline int64_t cr_ps_id(const ps_block *b, const ps_span *s, int64_t i) {
    return b->grows ? s->key[i] : b->sh->row + s->id[i];
}
/* The rows of a list that lie in a block: [*first, *first + return value). */
int64_t cr_ps_part(const ps_block *b, const int64_t *id, int64_t n, int64_t *first);

/* ---- ps_server.c ---- */
CR_CHECKED cr_code cr_ps_server_new(cr_ps *p, cr_err *err);
void cr_ps_server_free(cr_ps *p);

/* ---- ps_worker.c ---- */
CR_CHECKED cr_code cr_ps_worker_new(cr_ps *p, cr_err *err);
void cr_ps_worker_free(cr_ps *p);
void cr_ps_worker_begin(cr_ps *p);

/* ---- ps_lost.c: the end of a round, also without workers that were lost ---- */
/* cr_ps_note_lost looks for workers that were lost; mark is called with each, as a worker. */
CR_CHECKED cr_code cr_ps_note_lost(cr_ps *p, int *seen, void (*mark)(cr_ps *p, int worker),
                                   cr_err *err);
/* cr_ps_read_end takes what END says, and leaves the lost ranks out of all calls from now on. */
void cr_ps_read_end(cr_ps *p, const ps_box *b);
void cr_ps_tell_lost(const cr_ps *p); /* logs what became of the rows of lost workers */

/* ---- ps_post.c: one thread makes all calls of the mail inside a round ---- */
typedef struct ps_entry { /* the gradients of one batch */
    int64_t step;
    int64_t *seen; /* by server */
    ps_rows *rows; /* by table */
    float *dense;
} ps_entry;
typedef enum ps_state { PS_IDLE, PS_WANTED, PS_SENT, PS_COME } ps_state;
typedef struct ps_talk { /* a letter to each server, and their answers */
    ps_state state;
    ps_box *out, *in; /* by server */
    int come;
    double since;
} ps_talk;
struct ps_worker {
    pthread_t thread;
    bool runs;
    pthread_mutex_t lock;
    pthread_cond_t news, work; /* for the training thread, and for the other one */
    bool closing;
    int64_t step, stop; /* the step under way; the last one of the round */
    ps_talk pull, recv, delta;
    bool has_fresh;
    float *fresh; /* dense parameters that came */
    ps_entry **ring, **idle;
    int cap, head, n, n_idle, n_entries;
    int64_t unfinished; /* gradients that are not sent, or whose values have not come */
    bool fake, inline_recv;
    /* of the posting thread alone */
    ps_entry **have;
    int n_have, misses, merged;
    double next_try;
    ps_box *push, spare;
    bool pushing;
    int64_t counter;
    ps_rows sum;
    /* of the training thread alone */
    struct {
        const int64_t *id;
        const uint32_t *seg; /* id i was seen seg[i + 1] - seg[i] times; NULL: nobody asks */
        int64_t n;
        float *rows;
        int64_t stride;
        char *has; /* [n] becomes 1 for each key that has a row; NULL: no matter */
    } * want;      /* by table */
    bool ahead, unsure;
    int64_t *count; /* room for the numbers of a letter */
    ps_span *span, *from;
    int64_t *seen; /* by server: of the rows of this batch */
    ps_entry *now; /* the entry that gradients go to */
    cr_shards_way way;
    struct ps_sink {
        cr_ps *p;
        int table;
    } * sinks;
    cr_err err; /* of the posting thread */
    bool failed;
};
CR_CHECKED cr_code cr_ps_post_begin(cr_ps *p, cr_err *err);
void cr_ps_post_end(cr_ps *p); /* waits until everything is sent */
/* cr_ps_entry returns an entry to fill; it waits while the queue is full. cr_ps_give queues it. */
CR_CHECKED cr_code cr_ps_entry(cr_ps *p, ps_entry **out, cr_err *err);
CR_CHECKED cr_code cr_ps_give(cr_ps *p, cr_err *err);
/* cr_ps_ask lets the letters of a talk go, whose boxes are filled; cr_ps_answer waits until all
 * answers are there. */
void cr_ps_ask(cr_ps *p, ps_talk *t);
CR_CHECKED cr_code cr_ps_answer(cr_ps *p, ps_talk *t, cr_err *err);
/* cr_ps_talk_idle waits until the boxes of a talk may be filled again. */
CR_CHECKED cr_code cr_ps_talk_idle(cr_ps *p, ps_talk *t, cr_err *err);
/* cr_ps_pull fetches the rows that w->want names and that have no rows yet; ahead: it only asks. */
CR_CHECKED cr_code cr_ps_pull(cr_ps *p, cr_err *err);

/* ---- ps_geo.c ---- */
CR_CHECKED cr_code cr_ps_geo_new(cr_ps *p, cr_err *err);
void cr_ps_geo_free(cr_ps *p);
void cr_ps_geo_begin(cr_ps *p);
CR_CHECKED cr_code cr_ps_geo_fetched(cr_ps *p, cr_err *err);
cr_sink cr_ps_geo_sink(cr_ps *p, int table);
/* cr_ps_geo_step trains the dense parameters and, when it is time or at the end, tells the servers
 * the differences and takes over theirs. */
CR_CHECKED cr_code cr_ps_geo_step(cr_ps *p, const cr_work *w, bool last, cr_err *err);

#endif
