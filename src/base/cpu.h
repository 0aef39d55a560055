/*
 * cpu.h - which instruction sets this CPU has; clock; core count.
 */
#ifndef CR_BASE_CPU_H
#define CR_BASE_CPU_H

#include <stddef.h>
#include <stdint.h>

typedef enum cr_cpu_level {
    CR_CPU_C,
    CR_CPU_AVX2,
    CR_CPU_AVX512,
    CR_CPU_AVX512_BF16,
    CR_CPU_LEVELS
} cr_cpu_level;
/* cr_cpu_level_own: what the CPU and the system allow; cr_cpu_level_max: that, lowered by
 * CRANK_CPU=c|avx2|avx512|avx512_bf16. */
cr_cpu_level cr_cpu_level_own(void);
cr_cpu_level cr_cpu_level_max(void);
/* cr_cpu_level_wish returns the level that wish, the text of CRANK_CPU, names (any case), and own
 * when it is NULL, empty, no level or above own. In the last two cases why (n bytes) becomes a line
 * that says so, else "". */
cr_cpu_level cr_cpu_level_wish(const char *wish, cr_cpu_level own, char *why, size_t n);
const char *cr_cpu_level_name(cr_cpu_level level);
/* CR_CPU_PICK chooses among versions of one function or table, the one way in which crank does so.
 * of is an array of CR_CPU_LEVELS pointers; a level without a version of its own (NULL) has that of
 * the next lower level, and there is always one for CR_CPU_C. */
#define CR_CPU_PICK(of, level)                                                                     \
    ((of)[(level) >= CR_CPU_AVX512_BF16 && (of)[CR_CPU_AVX512_BF16] ? CR_CPU_AVX512_BF16           \
          : (level) >= CR_CPU_AVX512 && (of)[CR_CPU_AVX512]         ? CR_CPU_AVX512                \
          : (level) >= CR_CPU_AVX2 && (of)[CR_CPU_AVX2]             ? CR_CPU_AVX2                  \
                                                                    : CR_CPU_C])
/* cores this process may run on */
int cr_cpu_count(void);
/* bytes of a core's second-level cache; 1 MiB where the system does not tell */
int64_t cr_cpu_l2(void);
/* seconds, monotonic */
double cr_now(void);
/* seconds of CPU time that this thread has used */
double cr_thread_cpu(void);
/* bytes of the peak resident memory of this process */
int64_t cr_peak_rss(void);
/* cr_mem_room: bytes that this process may still take, by what the machine has free, its container
 * may use, and its own limits (ulimit -v, -d) allow; -1: not known. *who has the least: "this
 * machine". cr_mem_available is the same number. */
int64_t cr_mem_room(const char **who);
int64_t cr_mem_available(void);

#endif
