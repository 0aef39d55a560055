/*
 * snappy.c - decompression of snappy, faster than the library on pages of short values.
 *
 * A stream is the decompressed size and then elements: literal bytes, or a copy of earlier output.
 * On columns of short strings and small numbers an element makes a handful of bytes and the kind
 * of the next cannot be guessed, so the time goes into mispredicted branches. Here literals and
 * copies of up to 32 bytes take one path: length and distance come from a table by the element's
 * first byte, the source is chosen without a branch, and 32 bytes are moved whatever the length.
 * The rest (long literals, sources that reach into their target, the first and last bytes) takes a
 * careful path.
 */
#include <string.h>

#include "parquet/decode_int.h"

/* Each entry is for one first byte: bits 0-7 hold the length, bits 16-31 the distance, bits 32-47
 * the mask of the following bytes that are added to the distance. Literals have a distance that
 * passes the check of the short path; elements of the careful path have 0, which does not. */
#define LEN(t)   ((t) % 4 == 1 ? (t) / 4 % 8 + 4 : (t) / 4 + 1)
#define SHORT(t) ((t) % 4 != 3 && LEN(t) <= 32)
#define DIST(t)  (!SHORT(t) ? 0 : (t) % 4 == 0 ? 64 : (t) % 4 == 1 ? (t) / 32 * 256 : 0)
#define BITS(t)  (!SHORT(t) || (t) % 4 == 0 ? 0 : (t) % 4 == 1 ? 0xff : 0xffff)
#define E(t)     ((uint64_t)LEN(t) | (uint64_t)DIST(t) << 16 | (uint64_t)BITS(t) << 32)
#define E4(t)    E(t), E((t) + 1), E((t) + 2), E((t) + 3)
#define E16(t)   E4(t), E4((t) + 4), E4((t) + 8), E4((t) + 12)
#define E64(t)   E16(t), E16((t) + 16), E16((t) + 32), E16((t) + 48)
static const uint64_t table[256] = {E64(0), E64(64), E64(128), E64(192)};

/* choose replaces the source and the next position of a copy by those of a literal when the element
 * is one. It uses conditional moves, because the conditional operator would become a jump. So each
 * element waits only for the load, the test and the move of the element before. */
static inline void choose(uint64_t tag, uintptr_t literal, uintptr_t behind, uintptr_t *from,
                          uintptr_t *next) {
#if defined(__x86_64__)
    __asm__("testb $3, %b[tag]\n\tcmove %[behind], %[next]\n\tcmove %[literal], %[from]"
            : [next] "+r"(*next), [from] "+r"(*from)
            : [tag] "q"(tag), [behind] "r"(behind), [literal] "r"(literal)
            : "cc");
#else
    if (tag % 4 == 0) {
        *from = literal;
        *next = behind;
    }
#endif
}

typedef uint64_t vec16 __attribute__((vector_size(16)));
static inline void copy32(uint8_t *to, const uint8_t *from) {
    vec16 a, b;
    memcpy(&a, from, 16);
    memcpy(&b, from + 16, 16);
    memcpy(to, &a, 16);
    memcpy(to + 16, &b, 16);
}

/* careful handles one element with every check; false: the stream is damaged. */
static inline bool careful(const uint8_t **ip, const uint8_t *in_end, uint8_t *out, uint8_t **op,
                           uint8_t *out_end) {
    const uint8_t *p = *ip;
    uint8_t *q = *op;
    const uint32_t tag = *p++, kind = tag & 3;
    const size_t left = (size_t)(in_end - p), room = (size_t)(out_end - q);
    size_t len = (tag >> 2) + 1, off = 0;
    if (kind == 0) {
        if (len > 60) {
            size_t extra = len - 60;
            if (left < extra) return false;
            uint32_t x = 0;
            memcpy(&x, p, extra);
            len = (size_t)x + 1;
            p += extra;
        }
        if (len > (size_t)(in_end - p) || len > room) return false;
        memcpy(q, p, len);
        *ip = p + len;
        *op = q + len;
        return true;
    }
    const size_t width = kind == 3 ? 4 : kind;
    if (left < width) return false;
    if (kind == 1) {
        len = (tag >> 2 & 7) + 4;
        off = (size_t)(tag >> 5) << 8 | p[0];
    } else {
        uint32_t x = 0;
        memcpy(&x, p, width);
        off = x;
    }
    if (off == 0 || off > (size_t)(q - out) || len > room) return false;
    if (off >= len) {
        memcpy(q, q - off, len);
    } else {
        const uint8_t *from = q - off;
        for (size_t i = 0; i < len; i++)
            q[i] = from[i];
    }
    *ip = p + width;
    *op = q + len;
    return true;
}

bool cr_pq_unsnappy(const uint8_t *in, size_t n, uint8_t *out, size_t out_n) {
    const uint8_t *ip = in, *in_end = in + n;
    uint64_t size = 0;
    for (int shift = 0;; shift += 7) {
        if (ip == in_end || shift > 28) return false;
        size |= (uint64_t)(*ip & 0x7f) << shift;
        if (*ip++ < 0x80) break;
    }
    if (size != out_n) return false;
    uint8_t *op = out, *out_end = out + out_n;
    /* an element of the short path takes up to 33 bytes of input and reads up to 65, and makes up
     * to 32 bytes of output and writes up to 64; with this distance to both ends no check is
     * needed */
    while (in_end - ip >= 80 && out_end - op >= 80) {
        const size_t by_in = (size_t)(in_end - ip - 40) / 33,
                     by_out = (size_t)(out_end - op - 40) / 32;
        size_t n_safe = by_in < by_out ? by_in : by_out;
        do {
            const uint64_t tag = *ip, entry = table[tag];
            const uint64_t len = entry & 0xff;
            uint32_t more;
            memcpy(&more, ip + 1, 4);
            const uint64_t off = (entry >> 16 & 0xffff) + (more & entry >> 32);
            const uintptr_t at = (uintptr_t)ip;
            uintptr_t from = (uintptr_t)op - off, next = at + (tag & 3) + 1;
            choose(tag, at + 1, at + (tag >> 2) + 2, &from, &next);
            const size_t before = (size_t)(op - out);
            if (__builtin_expect(off < len, 0) || __builtin_expect(off > before, 0)) {
                if (tag % 4 == 0 && tag < 60 * 4) {
                    copy32(op, ip + 1);
                    copy32(op + 32, ip + 33);
                    op += tag / 4 + 1;
                    ip += tag / 4 + 2;
                } else if (!careful(&ip, in_end, out, &op, out_end)) {
                    return false;
                }
                break;
            }
            copy32(op, (const uint8_t *)from);
            op += len;
            ip = (const uint8_t *)next;
        } while (--n_safe);
    }
    while (ip < in_end) {
        if (!careful(&ip, in_end, out, &op, out_end)) return false;
    }
    return op == out_end;
}
