/*
 * places.h - where the partitions of a topic are read: where the stream begins and ends, what comes
 * next, and what came before which block.
 *
 * The stream is a fixed function of the topic: one message of each partition in turn, partition 0
 * first; a partition that has reached its end is left out. So the same messages come in the same
 * order again, on any number of ranks. A checkpoint keeps the places as text:
 *
 *   clicks:0=0,41,- clicks:1=0,40,-     topic:partition=first,next,end; "-": the stream has no end
 */
#ifndef CR_DATA_KAFKA_PLACES_H
#define CR_DATA_KAFKA_PLACES_H

#include "base/buf.h"
#include "base/mem.h"

typedef struct cr_kafka_place {
    int64_t first, next, end; /* offsets; end -1: there is none */
} cr_kafka_place;

typedef struct cr_kafka_places {
    const char *topic; /* borrowed */
    int n;
    cr_kafka_place *v;
    int turn; /* the partition that comes next */
    /* the messages since block `base`, of which mark may ask; a ring */
    int64_t base, block;  /* block: the next one */
    cr_kafka_place *then; /* the places before block `base`, and whose turn it was */
    int then_turn;
    struct cr_kafka_step *steps;
    size_t n_steps, cap_steps;
} cr_kafka_places;

void cr_kafka_places_init(cr_kafka_places *p, const char *topic, int n, cr_arena *a);
void cr_kafka_places_clear(cr_kafka_places *p);
/* cr_kafka_places_begin: v is filled in, and `block` comes next, at the turn of a partition. */
void cr_kafka_places_begin(cr_kafka_places *p, int64_t block, int turn);
/* cr_kafka_places_rewind goes back to the first messages, and to block 0. */
void cr_kafka_places_rewind(cr_kafka_places *p);
/* cr_kafka_places_step: a message of a partition became the next block, or (offset -1) the
 * partition was passed over. */
void cr_kafka_places_step(cr_kafka_places *p, int partition, int64_t offset);
/* cr_kafka_places_over: is a partition at its end? */
bool cr_kafka_places_over(const cr_kafka_places *p, int partition);
/* cr_kafka_places_mark writes the places before a block; false: it is too long ago. */
bool cr_kafka_places_mark(const cr_kafka_places *p, int64_t block, cr_buf *out);
/* cr_kafka_places_read takes the text of mark, for the same topic and number of partitions. */
CR_CHECKED cr_code cr_kafka_places_read(cr_kafka_places *p, const char *text, int64_t block,
                                        cr_err *err);

#endif
