/*
 * cpu.c - what this machine offers to this process: instructions, cores, memory, time.
 *
 * A container's limits count as much as the machine's: cores are bounded by the CPU quota and
 * memory by the control group (version 2), else a pod with 2 of 64 cores would start 64 threads.
 */
#include "base/cpu.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <sys/syscall.h>

/* The state of the tile unit. Linux asks for the wish to be stated once per process, because the
 * registers of a thread grow by 8 KiB. Which layouts of tiles there are (leaf 0x1d) is not asked:
 * some virtual machines hide that leaf. */
static cr_cpu_tiles tiles_state(void) {
#ifdef __x86_64__
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return CR_TILES_NONE;
    bool amx_bf16 = d >> 22 & 1, amx_tile = d >> 24 & 1;
    if (!amx_bf16 || !amx_tile) return CR_TILES_NONE;
#ifndef CR_HAVE_AMX
    return CR_TILES_NOT_BUILT;
#else
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0 ? CR_TILES_USABLE
                                                                       : CR_TILES_REFUSED;
#endif
#else
    return CR_TILES_NONE;
#endif
}

/* __builtin_cpu_supports also checks which registers the system saves on a context switch. F16C,
 * which some compilers cannot ask for by name, is usable when AVX is. */
static cr_cpu_facts find_facts(void) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    __builtin_cpu_init();
    int f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 29));
    cr_cpu_facts f = {
        .avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && f16c &&
                __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("pclmul"),
        .avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"),
        .avx512_bf16 = __builtin_cpu_supports("avx512bf16") != 0,
        .amd = __builtin_cpu_is("amd") != 0,
    };
    /* without the levels below there is nothing to ask permission for */
    if (f.avx2 && f.avx512 && f.avx512_bf16) f.tiles = tiles_state();
    return f;
}

char *cr_cpu_name(char out[96]) {
    unsigned r[12] = {0}, a = 0, b = 0, c = 0, d = 0;
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3]))
            break;
    __get_cpuid(1, &a, &b, &c, &d);
    unsigned family = a >> 8 & 15, model = a >> 4 & 15;
    if (family == 6 || family == 15) model += (a >> 16 & 15) << 4;
    if (family == 15) family += a >> 20 & 255;
    char name[49] = {0};
    memcpy(name, r, 48);
    char *at = name + strspn(name, " "); /* some are padded with blanks, in front or at the end */
    size_t n = strlen(at);
    while (n > 0 && at[n - 1] == ' ')
        n--;
    snprintf(out, 96, "%.*s (family %u, model %u)", n ? (int)n : 11, n ? at : "unknown CPU", family,
             model);
    return out;
}
#else
static cr_cpu_facts find_facts(void) {
    return (cr_cpu_facts){.avx2 = false};
}

char *cr_cpu_name(char out[96]) {
    snprintf(out, 96, "unknown CPU");
    return out;
}
#endif

cr_cpu_level cr_cpu_level_of(const cr_cpu_facts *f) {
    if (!f->avx2) return CR_CPU_C;
    if (!f->avx512) return CR_CPU_AVX2;
    if (!f->avx512_bf16) return CR_CPU_AVX512;
    if (f->tiles == CR_TILES_USABLE) return CR_CPU_AMX;
    /* Intel's dot product of pairs is slower than multiply-adds of floats */
    return f->amd ? CR_CPU_AVX512_BF16 : CR_CPU_AVX512;
}

const char *cr_cpu_tiles_why(cr_cpu_tiles t) {
    switch (t) {
    case CR_TILES_REFUSED:
        return "the system does not allow it; it takes Linux 5.16, and a container or virtual "
               "machine that lets arch_prctl pass";
    case CR_TILES_NOT_BUILT:
        return "the compiler of this build did not know it; build with gcc 11, clang 12 or later";
    default: return NULL;
    }
}

/* The CPU is asked once: in a virtual machine each question takes some microseconds (25 for all of
 * them on ours), and readers ask for the level page by page. Threads that come first at the same
 * time find the same. */
static int known(void) {
    static _Atomic int found; /* the level, and the state of the tiles, plus 1 */
    int x = atomic_load(&found);
    if (x == 0) {
        cr_cpu_facts f = find_facts();
        atomic_store(&found, x = 1 + (int)cr_cpu_level_of(&f) + (int)f.tiles * CR_CPU_LEVELS);
    }
    return x - 1;
}
cr_cpu_level cr_cpu_level_own(void) {
    return (cr_cpu_level)(known() % CR_CPU_LEVELS);
}
cr_cpu_tiles cr_cpu_tiles_own(void) {
    return (cr_cpu_tiles)(known() / CR_CPU_LEVELS);
}

const char *cr_cpu_level_name(cr_cpu_level level) {
    static const char *const names[CR_CPU_LEVELS] = {"c", "avx2", "avx512", "avx512_bf16", "amx"};
    return (unsigned)level < CR_CPU_LEVELS ? names[level] : "?";
}

/* list_levels writes a list such as "c, avx2 or avx512". */
static void list_levels(char out[64], cr_cpu_level last) {
    out[0] = 0;
    for (cr_cpu_level l = CR_CPU_C; l <= last; l++) {
        size_t n = strlen(out);
        snprintf(out + n, 64 - n, "%s%s",
                 l == CR_CPU_C ? ""
                 : l == last   ? " or "
                               : ", ",
                 cr_cpu_level_name(l));
    }
}

cr_cpu_level cr_cpu_level_wish(const char *wish, cr_cpu_level own, char *why, size_t n) {
    if (n > 0) why[0] = 0;
    if (!wish || !*wish) return own;
    cr_cpu_level level = CR_CPU_C;
    while (level < CR_CPU_LEVELS && strcasecmp(wish, cr_cpu_level_name(level)) != 0)
        level++;
    if (level <= own) return level;
    bool known = level < CR_CPU_LEVELS;
    char choice[64];
    list_levels(choice, known ? own : CR_CPU_LEVELS - 1);
    snprintf(why, n, "CRANK_CPU is '%s'%s; use %s", wish,
             known ? ", which this CPU does not have" : "", choice);
    return own;
}

cr_cpu_level cr_cpu_level_max(void) {
    return cr_cpu_level_wish(getenv("CRANK_CPU"), cr_cpu_level_own(), NULL, 0);
}

/* read_text reads a small file of the system; false when it is not there. */
static int read_text(const char *path, char *out, size_t size) {
    FILE *f = fopen(path, "re");
    if (!f) return 0;
    size_t n = fread(out, 1, size - 1, f);
    fclose(f);
    out[n] = 0;
    return n > 0;
}

/* field returns the number that follows name at the beginning of a line, -1 when no line begins
 * so. */
static int64_t field(const char *text, const char *name) {
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        if (*line == '\n') line++;
        if (strncmp(line, name, n) == 0) return strtoll(line + n, NULL, 10);
    }
    return -1;
}

int cr_cpu_count(void) {
    int n = 0;
    /* the set must be as large as the kernel's: try larger ones until the call accepts it */
    for (int max = 1024; max <= 1 << 16 && n == 0; max *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)max);
        if (!set) break;
        size_t size = CPU_ALLOC_SIZE((size_t)max);
        CPU_ZERO_S(size, set);
        if (sched_getaffinity(0, size, set) == 0) n = CPU_COUNT_S(size, set);
        CPU_FREE(set);
    }
    if (n == 0) n = (int)sysconf(_SC_NPROCESSORS_ONLN);
    char text[128];
    long long quota, period;
    if (read_text("/sys/fs/cgroup/cpu.max", text, sizeof(text)) &&
        sscanf(text, "%lld %lld", &quota, &period) == 2 && quota > 0 && period > 0) {
        long long whole = (quota + period - 1) / period;
        if (whole < n) n = (int)whole;
    }
    return n < 1 ? 1 : n;
}

void cr_cpu_cores(uint64_t *bits, int n) {
    size_t size = (size_t)n * sizeof *bits;
    memset(bits, 0, size);
    cpu_set_t *set = CPU_ALLOC(size * 8);
    if (!set) return;
    CPU_ZERO_S(size, set);
    if (sched_getaffinity(0, size, set) == 0)
        for (size_t c = 0; c < size * 8; c++)
            if (CPU_ISSET_S(c, size, set)) bits[c / 64] |= (uint64_t)1 << (c % 64);
    CPU_FREE(set);
}

int64_t cr_cpu_l2(void) {
    long n = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return n >= 128 * 1024 && n <= 64L * 1024 * 1024 ? n : 1024 * 1024;
}

double cr_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double cr_thread_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t cr_peak_rss(void) {
    /* getrusage would also count the memory that a parent used before exec */
    char text[8192];
    if (read_text("/proc/self/status", text, sizeof(text))) {
        int64_t kb = field(text, "VmHWM:");
        if (kb > 0) return kb * 1024;
    }
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? (int64_t)u.ru_maxrss * 1024 : 0;
}

/* cgroup_room returns the bytes that the container of this process may still take, -1 when it has
 * no limit. */
static int64_t cgroup_room(void) {
    char text[8192];
    if (!read_text("/sys/fs/cgroup/memory.max", text, sizeof(text))) return -1;
    char *end;
    long long limit = strtoll(text, &end, 10); /* "max": no limit */
    if (end == text || !read_text("/sys/fs/cgroup/memory.current", text, sizeof(text))) return -1;
    int64_t used = strtoll(text, NULL, 10);
    if (read_text("/sys/fs/cgroup/memory.stat", text, sizeof(text))) {
        /* the kernel gives pages of files back on demand */
        int64_t cold = field(text, "inactive_file "), warm = field(text, "active_file ");
        used -= (cold > 0 ? cold : 0) + (warm > 0 ? warm : 0);
    }
    return limit > used ? limit - used : 0;
}

/* limit_room returns the bytes that a limit of the process (RLIMIT_AS, RLIMIT_DATA) still allows,
 * -1 when there is no limit. */
static int64_t limit_room(__rlimit_resource_t resource, const char *used_field) {
    char text[8192];
    struct rlimit r;
    if (getrlimit(resource, &r) != 0 || r.rlim_cur == RLIM_INFINITY) return -1;
    if (!read_text("/proc/self/status", text, sizeof(text))) return -1;
    int64_t kb = field(text, used_field), limit = (int64_t)r.rlim_cur;
    if (kb < 0 || limit < 0) return -1;
    return limit > kb * 1024 ? limit - kb * 1024 : 0;
}

int64_t cr_mem_room(const char **who) {
    char text[8192];
    int64_t kb = -1;
    if (read_text("/proc/meminfo", text, sizeof(text))) kb = field(text, "MemAvailable:");
    const struct {
        int64_t room;
        const char *who;
    } bounds[] = {{kb >= 0 ? kb * 1024 : -1, "this machine"},
                  {cgroup_room(), "this container (cgroup)"},
                  {limit_room(RLIMIT_AS, "VmSize:"), "this process (ulimit -v)"},
                  {limit_room(RLIMIT_DATA, "VmData:"), "this process (ulimit -d)"}};
    int64_t least = -1;
    *who = bounds[0].who;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (bounds[i].room >= 0 && (least < 0 || bounds[i].room < least)) {
            least = bounds[i].room;
            *who = bounds[i].who;
        }
    return least;
}

int64_t cr_mem_available(void) {
    const char *who;
    return cr_mem_room(&who);
}
