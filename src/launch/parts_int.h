/*
 * parts_int.h - what serving (parts.c) and reading (parts_read.c) of files on hosts share.
 *
 * A connection: the reader sends a nonce, the server a nonce and its proof, the reader its proof.
 * Then a request is four numbers (what is to be done, two that say with what, and how many
 * bytes follow) and those bytes, and an answer two (0 or an errno value, and how many bytes follow)
 * and those bytes; numbers have eight bytes, the lowest first.
 */
#ifndef CR_LAUNCH_PARTS_INT_H
#define CR_LAUNCH_PARTS_INT_H

#include "launch/parts.h"

#define CR_PART_MOST ((size_t)1 << 20) /* bytes behind the numbers */
#define CR_PART_ASK  32                /* bytes of the numbers of a request */
#define CR_PART_HEAD 16                /* ... and of an answer */

typedef enum cr_part_op {
    CR_PART_READ,   /* file, place; the bytes that are wanted are the last number, none follow */
    CR_PART_PUT,    /* flags of put; the path follows */
    CR_PART_WRITE,  /* the bytes follow */
    CR_PART_COMMIT, /* sync */
    CR_PART_END,
    CR_PART_OPS
} cr_part_op;

/* What the sides prove: which rank they speak of keeps an answer of another rank of the job from
 * being taken for that of this one. */
void cr_part_who(char out[40], bool server, int rank);
uint64_t cr_part_get(const uint8_t *p);
void cr_part_put(uint8_t *p, uint64_t v);
/* cr_part_open opens a file of this host and finds out whether it is still the one that it was;
 * returns 0 or an errno value. */
int cr_part_open(const cr_part_file *f, int *fd);

/* The files in use, for the store. */
typedef struct cr_parts_view {
    const cr_part_file *files;
    int64_t n;
    const cr_key *key;
    const char *addr;
    int n_ranks;
} cr_parts_view;
void cr_parts_read_begin(const cr_parts_view *v);
void cr_parts_read_end(void);

#endif
