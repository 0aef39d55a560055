/*
 * cpu.h - which instruction sets this CPU has; clock; core count.
 */
#ifndef CR_BASE_CPU_H
#define CR_BASE_CPU_H

#include <stdint.h>

typedef enum cr_cpu_level {
    CR_CPU_C,
    CR_CPU_AVX2,
    CR_CPU_AVX512,
    CR_CPU_AVX512_BF16,
    CR_CPU_LEVELS
} cr_cpu_level;
/* cr_cpu_level_max: what the CPU and the system allow, lowered by
 * CRANK_CPU=c|avx2|avx512|avx512_bf16. */
cr_cpu_level cr_cpu_level_max(void);
const char *cr_cpu_level_name(cr_cpu_level level);
/* cores this process may run on */
int cr_cpu_count(void);
/* bytes of a core's second-level cache; 1 MiB where the system does not tell */
int64_t cr_cpu_l2(void);
/* seconds, monotonic */
double cr_now(void);
/* seconds of CPU time that this thread has used */
double cr_thread_cpu(void);
/* bytes: peak resident memory of this process, and memory available on the machine */
int64_t cr_peak_rss(void);
int64_t cr_mem_available(void);

#endif
