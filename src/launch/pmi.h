/*
 * pmi.h - PMI-1, the conversation by which MPICH's library finds the other ranks.
 *
 * Each rank sends lines "cmd=NAME key=value ...\n" and waits for one line in return. Values that
 * ranks publish (put) are known on this node at once and on the others after the next barrier. This
 * is the part of one node; moving bytes is the agent's work.
 */
#ifndef CR_LAUNCH_PMI_H
#define CR_LAUNCH_PMI_H

#include "base/buf.h"
#include "base/map.h"

#define CR_PMI_KEY   64   /* bytes of a key, with its NUL */
#define CR_PMI_VALUE 1024 /* bytes of a value, with its NUL */
#define CR_PMI_LINE  2048 /* bytes of a line */
#define CR_PMI_KEYS  (1 << 20)

typedef struct cr_pmi_value {
    const char *key, *value;
    bool own; /* put by a rank of this node */
} cr_pmi_value;

typedef struct cr_pmi {
    int n_local, world, n_waiting;
    bool *waits;          /* per local rank: it is at the barrier */
    cr_map keys;          /* -> index in values; the last put of a key counts */
    cr_pmi_value *values; /* in the order of arrival */
    size_t n_values, cap_values;
    size_t told; /* of the values: other nodes know those before it */
    cr_arena arena;
} cr_pmi;

typedef enum cr_pmi_event {
    CR_PMI_NOTHING,
    CR_PMI_BARRIER, /* all ranks of this node wait */
    CR_PMI_ABORT,   /* the rank ends the job; *code is its exit code */
    CR_PMI_BAD      /* a line that is none */
} cr_pmi_event;

/* cr_pmi_init: n_nodes nodes of n_local ranks each make a world. */
void cr_pmi_init(cr_pmi *p, int n_local, int n_nodes);
void cr_pmi_clear(cr_pmi *p);
/* cr_pmi_line answers one line (without its newline) of a local rank; the answer is appended to
 * reply. */
cr_pmi_event cr_pmi_line(cr_pmi *p, int local, const char *line, size_t n, cr_buf *reply,
                         int *code);
/* cr_pmi_put adds a value of another node. False: it is too long, or there are too many. */
bool cr_pmi_put(cr_pmi *p, const char *key, size_t n_key, const char *value, size_t n_value);
/* cr_pmi_untold gives the next own value that other nodes do not know; false: none is left. */
bool cr_pmi_untold(cr_pmi *p, const char **key, const char **value);
/* cr_pmi_release ends the barrier; each local rank is to get this line. */
const char *cr_pmi_release(cr_pmi *p);

#endif
