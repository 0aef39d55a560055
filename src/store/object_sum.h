/*
 * object_sum.h - the CRC-64 of a file that is read in ranges, in any order.
 *
 * OSS tells the CRC-64 of the whole object with each of its ranges. The sums of the ranges that
 * were read are joined until they are that of the whole file, which is then compared. A file of
 * which a part is never read is not compared.
 */
#ifndef CR_STORE_OBJECT_SUM_H
#define CR_STORE_OBJECT_SUM_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Ranges that do not touch. A file that is read in more of them is not compared. */
#define CR_OBJ_RANGES 64

typedef struct cr_obj_range {
    int64_t at, n;
    uint64_t crc;
} cr_obj_range;

typedef struct cr_obj_sum {
    pthread_mutex_t lock;
    cr_obj_range v[CR_OBJ_RANGES]; /* sorted, none touches the next */
    int n;
    bool over; /* there were too many */
} cr_obj_sum;

void cr_obj_sum_init(cr_obj_sum *s);
void cr_obj_sum_clear(cr_obj_sum *s);
/* cr_obj_sum_add takes a range that was read, from any thread. true: the sum of all `size` bytes is
 * known now, in *out. A range of which a part was added before changes nothing. */
bool cr_obj_sum_add(cr_obj_sum *s, int64_t at, const void *data, size_t n, int64_t size,
                    uint64_t *out);

#endif
