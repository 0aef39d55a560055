/*
 * number.h - numbers in data: text to number and back, fast for millions of short fields.
 */
#ifndef CR_FEAT_NUMBER_H
#define CR_FEAT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cr_num { CR_NUM_OK, CR_NUM_RANGE, CR_NUM_BAD } cr_num;
/* cr_num_i64 reads a decimal integer: sign, leading zeros and blanks around it are fine.
 * CR_NUM_RANGE: an integer that does not fit in 64 bits. */
cr_num cr_num_i64(const char *s, size_t n, int64_t *out);
/* cr_num_whole also reads floats that are whole: 7.0 is 7. */
cr_num cr_num_whole(const char *s, size_t n, int64_t *out);
/* cr_num_f64 reads a finite decimal number, correctly rounded; blanks around it are fine. */
bool cr_num_f64(const char *s, size_t n, double *out);
/* cr_num_why says what is wrong with a text that cr_num_f64 refuses. */
const char *cr_num_why(const char *s, size_t n);
/* cr_number_text writes a number as text (without NUL): whole ones as integers, others with as few
 * digits as give the same float32. It returns the length. */
size_t cr_number_text(char out[32], double x);

#endif
