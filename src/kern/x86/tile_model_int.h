/*
 * x86/tile_model_int.h - the tile unit in plain C, for gemm_amx.c on CPUs that have none: eight
 * registers of 16 rows of 64 bytes, and what the instructions do to them. A product follows the
 * order of bf16_int.h, which agrees with the CPU bit by bit.
 */
#ifndef CR_KERN_X86_TILE_MODEL_INT_H
#define CR_KERN_X86_TILE_MODEL_INT_H

#include "kern/bf16_int.h"

static _Thread_local struct { unsigned char row[16][64]; } model_tile[8];

static void model_zero(int t) {
    memset(&model_tile[t], 0, sizeof(model_tile[t]));
}
static void model_load(int t, const void *p, int64_t ld) {
    for (int r = 0; r < 16; r++)
        memcpy(model_tile[t].row[r], (const char *)p + r * ld, 64);
}
static void model_store(int t, void *p, int64_t ld) {
    for (int r = 0; r < 16; r++)
        memcpy((char *)p + r * ld, model_tile[t].row[r], 64);
}
static float model_bf16(const unsigned char *p) {
    uint16_t h;
    memcpy(&h, p, 2);
    return bf16_flush(cr_f32_of_bits((uint32_t)h << 16));
}
static void model_dot(int c, int a, int b) {
    for (int m = 0; m < 16; m++)
        for (int n = 0; n < 16; n++) {
            float s[2] = {0, 0}, sum;
            memcpy(&sum, model_tile[c].row[m] + 4 * n, 4);
            for (int k = 0; k < 32; k++)
                s[k % 2] =
                    bf16_step(model_bf16(model_tile[a].row[m] + 2 * k),
                              model_bf16(model_tile[b].row[k / 2] + 4 * n + 2 * (k % 2)), s[k % 2]);
            sum = bf16_step(1, bf16_step(1, s[0], s[1]), bf16_flush(sum));
            memcpy(model_tile[c].row[m] + 4 * n, &sum, 4);
        }
}

#define FENCE                 ((void)0)
#define TILE_ZERO(t)          model_zero(t)
#define TILE_LOAD(t, p, ld)   model_load(t, p, ld)
#define TILE_STREAM(t, p, ld) model_load(t, p, ld)
#define TILE_STORE(t, p, ld)  model_store(t, p, ld)
#define TILE_DOT(c, a, b)     model_dot(c, a, b)

#endif
