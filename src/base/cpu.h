/*
 * cpu.h - which instruction sets this CPU has; clock; core count.
 */
#ifndef CR_BASE_CPU_H
#define CR_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum cr_cpu_level {
    CR_CPU_C,
    CR_CPU_AVX2,
    CR_CPU_AVX512,
    CR_CPU_AVX512_BF16,
    CR_CPU_AMX,
    CR_CPU_LEVELS
} cr_cpu_level;
/* The tile unit (AMX): there is none for BF16; it is there, but the system refuses it, or this
 * build has no code for it; or it can be used. */
typedef enum cr_cpu_tiles {
    CR_TILES_NONE,
    CR_TILES_REFUSED,
    CR_TILES_NOT_BUILT,
    CR_TILES_USABLE
} cr_cpu_tiles;
/* What decides about the level. A level needs all that the ones below it need, and what is named
 * here (avx2: with FMA, F16C and the bit instructions of that time). */
typedef struct cr_cpu_facts {
    bool avx2, avx512, avx512_bf16, amd;
    cr_cpu_tiles tiles;
} cr_cpu_facts;
/* cr_cpu_level_of returns the level of such a CPU. */
cr_cpu_level cr_cpu_level_of(const cr_cpu_facts *f);
/* cr_cpu_tiles_own returns the state of this CPU's tile unit, cr_cpu_tiles_why says why a unit that
 * is there is not used; NULL: it is used, or is not there. */
cr_cpu_tiles cr_cpu_tiles_own(void);
const char *cr_cpu_tiles_why(cr_cpu_tiles t);
/* cr_cpu_level_own returns the highest level that the CPU, the system and this build allow;
 * cr_cpu_level_max returns the same, lowered by CRANK_CPU=c|avx2|avx512|avx512_bf16|amx. */
cr_cpu_level cr_cpu_level_own(void);
cr_cpu_level cr_cpu_level_max(void);
/* cr_cpu_level_wish returns the level that wish, the text of CRANK_CPU, names (any case), and own
 * when it is NULL, empty, no level or above own. In the last two cases why (n bytes) becomes a line
 * that says so, else "". */
cr_cpu_level cr_cpu_level_wish(const char *wish, cr_cpu_level own, char *why, size_t n);
const char *cr_cpu_level_name(cr_cpu_level level);
/* CR_CPU_PICK chooses among versions of one function or table; crank has no other way to do so.
 * `of` is an array of CR_CPU_LEVELS pointers. A level whose pointer is NULL uses the version of the
 * next lower level (amx that of avx512, whose bits it has); CR_CPU_C always has one. */
#define CR_CPU_PICK(of, level)                                                                     \
    ((of)[(level) >= CR_CPU_AMX && (of)[CR_CPU_AMX]                   ? CR_CPU_AMX                 \
          : (level) == CR_CPU_AVX512_BF16 && (of)[CR_CPU_AVX512_BF16] ? CR_CPU_AVX512_BF16         \
          : (level) >= CR_CPU_AVX512 && (of)[CR_CPU_AVX512]           ? CR_CPU_AVX512              \
          : (level) >= CR_CPU_AVX2 && (of)[CR_CPU_AVX2]               ? CR_CPU_AVX2                \
                                                                      : CR_CPU_C])
/* cr_cpu_name writes how the CPU calls itself, with family and model, which tell apart those that
 * call themselves alike ("AMD EPYC (family 25, model 17)"), and returns out. */
char *cr_cpu_name(char out[96]);
/* cr_cpu_count returns the number of cores that this process may run on. */
int cr_cpu_count(void);
/* cr_cpu_cores sets a bit per core that this process may run on, in n words; all zeros when the
 * system does not tell, or has more cores than bits. */
void cr_cpu_cores(uint64_t *bits, int n);
/* cr_cpu_l2 returns the bytes of a core's second-level cache, or 1 MiB where the system does not
 * tell. */
int64_t cr_cpu_l2(void);
/* cr_now returns the seconds of a clock that never goes back. */
double cr_now(void);
/* cr_thread_cpu returns the seconds of CPU time that this thread has used. */
double cr_thread_cpu(void);
/* cr_peak_rss returns the peak resident memory of this process in bytes. */
int64_t cr_peak_rss(void);
/* cr_mem_room returns the bytes that this process may still take: the smallest of what the machine
 * has free, what its container may use, and what its own limits (ulimit -v, -d) allow; -1 when
 * nothing is known. *who becomes the name of the one that allows least, such as "this machine".
 * cr_mem_available returns the same number. */
int64_t cr_mem_room(const char **who);
int64_t cr_mem_available(void);

#endif
