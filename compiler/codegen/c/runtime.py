"""The C runtime: memory, failures, large copies."""

from __future__ import annotations

HEAD = """\
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef _OPENMP
#include <omp.h>
#if defined SS_WRAPPED && !defined __clang__
// What one thread runs is called: GCC's library would make a team of one and wake those who wait.
void __real_GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags);
void __wrap_GOMP_parallel(void (*run)(void *), void *data, unsigned threads, unsigned flags) {
    if (threads == 1 || omp_get_max_threads() < 2) run(data);
    else __real_GOMP_parallel(run, data, threads, flags);
}
#endif
#else
static int omp_get_max_threads(void) { return 1; }
#endif
"""

MEMORY = """\
// Blocks of memory. A header stands before the elements; blocks are counted by their holders.
// Under sanitisers a block is exactly as large as asked for, nothing but the functions here may
// touch its header, and what is given back is not used again.
#ifdef SS_SANITIZE
#include <sanitizer/asan_interface.h>
#define SS_OWN __attribute__((no_sanitize("address")))
#else
#define SS_OWN
#endif
typedef struct ss_block { int64_t holders, bytes; struct ss_block *next, *before; } ss_block;
enum { SS_HEADER = 64, SS_KEPT = 16 };
int64_t ss_bytes_now, ss_bytes_peak, ss_bytes_limit = INT64_MAX;
int64_t ss_allocs, ss_bytes_allocated;
static ss_block *ss_live, *ss_kept[SS_KEPT];

// Copies and their bytes, of each kind. Those inside of kernels are counted only where the runner
// asks for it: threads would wait for each other.
enum { SS_IN_BLOCKS, SS_TRANSPOSED, SS_OTHER, SS_INSIDE, SS_KINDS };
int64_t ss_copies[2 * SS_KINDS];
static __attribute__((unused)) void ss_copied(int kind, int64_t bytes) {
    if (bytes > 0) { ss_copies[2 * kind]++; ss_copies[2 * kind + 1] += bytes; }
}
#ifdef SS_COUNT
static __attribute__((unused)) void ss_copied_inside(int64_t bytes) {
    if (bytes <= 0) return;
    __atomic_fetch_add(ss_copies + 2 * SS_INSIDE, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(ss_copies + 2 * SS_INSIDE + 1, bytes, __ATOMIC_RELAXED);
}
#else
#define ss_copied_inside(bytes) ((void)0)
#endif

static ss_block *ss_block_of(const void *cells) { return (ss_block *)((char *)cells - SS_HEADER); }

static ss_block *ss_reuse(int64_t bytes) {
    for (int k = 0; k < SS_KEPT; k++) {
        ss_block *b = ss_kept[k];
        if (b && b->bytes >= bytes && b->bytes - bytes <= bytes / 8 + 4096) {
            ss_kept[k] = 0;
            return b;
        }
    }
    return 0;
}

static void ss_forget(void) {
    for (int k = 0; k < SS_KEPT; k++) { free(ss_kept[k]); ss_kept[k] = 0; }
}

static ss_block *ss_fresh(int64_t bytes) {
#ifdef SS_SANITIZE
    void *exact;
    if (posix_memalign(&exact, SS_HEADER, SS_HEADER + bytes)) return 0;
    ASAN_POISON_MEMORY_REGION(exact, SS_HEADER);
    return exact;
#endif
    int64_t page = bytes < 1 << 22 ? 64 : 1 << 21;
    int64_t all = (SS_HEADER + bytes + page - 1) / page * page;
    ss_block *b = aligned_alloc(page, all);
#ifdef MADV_HUGEPAGE
    if (b && page > 64) madvise(b, all, MADV_HUGEPAGE);
#endif
    return b;
}

// Numbers of elements are exact; SS_MANY stands for those that 128 bits cannot hold.
typedef __int128 ss_wide;
#define SS_MANY ((ss_wide)1 << 126)

static __attribute__((unused)) ss_wide ss_times(ss_wide a, ss_wide b) {
    ss_wide r;
    if (a == 0 || b == 0) return 0;
    if (a == SS_MANY || b == SS_MANY || __builtin_mul_overflow(a, b, &r)) return SS_MANY;
    return r > SS_MANY || r < -SS_MANY ? SS_MANY : r;
}

static __attribute__((unused)) ss_wide ss_plus(ss_wide a, ss_wide b) {
    ss_wide r;
    if (a == SS_MANY || b == SS_MANY || __builtin_add_overflow(a, b, &r)) return SS_MANY;
    return r > SS_MANY || r < -SS_MANY ? SS_MANY : r;
}

static __attribute__((unused)) int64_t ss_narrow(ss_wide a) {
    return a > INT64_MAX ? INT64_MAX : a < INT64_MIN ? INT64_MIN : (int64_t)a;
}

// An array of less than no elements fails by a check of its own, which may come later. This is for
// products of variables, and not for those far below 0, which may have wrapped.
static __attribute__((unused)) ss_wide ss_at_least_none(ss_wide a) {
    return a < 0 && a > INT64_MIN / 2 ? 0 : a;
}

SS_OWN static void *ss_alloc(ss_wide wide, int64_t size) {
    if (wide < 0 || wide > (ss_bytes_limit - ss_bytes_now) / size) return 0;
    int64_t count = (int64_t)wide;
#ifdef SS_SANITIZE
    int64_t bytes = count * size;
#else
    int64_t bytes = (count * size + 63) / 64 * 64;
#endif
    ss_block *b = ss_reuse(bytes);
    if (!b) {
        b = ss_fresh(bytes);
        if (!b) { ss_forget(); b = ss_fresh(bytes); }
        if (!b) return 0;
        b->bytes = bytes;
    }
    b->holders = 1;
    b->before = 0;
    b->next = ss_live;
    if (ss_live) ss_live->before = b;
    ss_live = b;
    ss_allocs++;
    ss_bytes_allocated += bytes;
    ss_bytes_now += b->bytes;
    if (ss_bytes_now > ss_bytes_peak) ss_bytes_peak = ss_bytes_now;
    return (char *)b + SS_HEADER;
}

SS_OWN static void *ss_hold(void *cells) {
    if (cells) ss_block_of(cells)->holders++;
    return cells;
}

SS_OWN static void ss_drop(void *cells) {
    if (!cells) return;
    ss_block *b = ss_block_of(cells);
    if (--b->holders) return;
    if (b->before) b->before->next = b->next; else ss_live = b->next;
    if (b->next) b->next->before = b->before;
    ss_bytes_now -= b->bytes;
#ifdef SS_SANITIZE
    free(b);
    return;
#endif
    for (int k = 0; k < SS_KEPT; k++)
        if (!ss_kept[k]) { ss_kept[k] = b; return; }
    free(ss_kept[0]);
    memmove(ss_kept, ss_kept + 1, sizeof ss_kept - sizeof *ss_kept);
    ss_kept[SS_KEPT - 1] = b;
}

#define ss_set(x, y) do { void *ss_old = x; x = ss_hold(y); ss_drop(ss_old); } while (0)

SS_OWN void ss_clear(void) {
    while (ss_live) { ss_live->holders = 1; ss_drop((char *)ss_live + SS_HEADER); }
    ss_forget();
}

void ss_release(void *cells) { ss_drop(cells); }

void *ss_input(const void *from, int64_t bytes) {
    void *cells = ss_alloc(bytes, 1);
    if (cells && bytes) memcpy(cells, from, bytes);
    return cells;
}
"""

FAILURE = """\
// A failed check leaves its number and the values it shows; the first one stays.
int ss_failed;
int64_t ss_site, ss_values[16];

static __attribute__((noinline, cold, unused))
void ss_fail(int64_t site, int count, const int64_t *values) {
    if (__atomic_exchange_n(&ss_failed, 1, __ATOMIC_ACQ_REL)) return;
    ss_site = site;
    for (int k = 0; k < count && k < 16; k++) ss_values[k] = values[k];
}
"""

BITS = """\
static inline int64_t ss_bits(double x) {
    int64_t r;
    memcpy(&r, &x, sizeof r);
    return r;
}
"""

PARTS = """\
// Into how many parts a histogram's points go: each needs bins of its own.
static int64_t ss_parts(int64_t points, int64_t bins, int64_t weight) {
    int64_t parts = omp_get_max_threads();
    if (points * weight < 65536) return 1;
    return bins * parts <= points / 2 ? parts : 1;
}
"""

TRUNC = """\
double trunc(double);
float truncf(float);
"""

SCRATCH = """\
// Memory of one point, which gives it back at its end.
static void *ss_scratch(void *old, ss_wide count, int64_t size) {
    free(old);
    if (count < 0 || count > (ss_bytes_limit - ss_bytes_now) / size) return 0;
    int64_t bytes = (int64_t)count * size;
#ifdef SS_COUNT
    __atomic_fetch_add(&ss_allocs, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&ss_bytes_allocated, bytes, __ATOMIC_RELAXED);
#endif
    return malloc(bytes ? bytes : 1);
}
static void ss_unscratch(void *cells) { free(cells); }
"""

SECTIONS = 1000
"""Maximum number of measured statements."""
PROFILE = f"""\
// Nanoseconds and calls of what is measured.
#include <time.h>
int64_t ss_profile[{2 * SECTIONS}];

static int64_t ss_now(void) {{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}}

static void ss_spent(int section, int64_t began) {{
    ss_profile[2 * section] += ss_now() - began;
    ss_profile[2 * section + 1]++;
}}

"""

AMOUNTS = 254
"""Maximum number of distinct amounts recorded per threshold."""
TUNED = f"""\
// Thresholds of a program that is tuned, each with the amounts that it was compared with.
#define SS_ROW {AMOUNTS + 2}
int64_t ss_profile[{SECTIONS} * SS_ROW];

static bool ss_reached(int number, int64_t amount) {{
    int64_t *row = ss_profile + number * SS_ROW, count = row[1];
    const int64_t known = count < SS_ROW - 2 ? count : SS_ROW - 2;
    int64_t k = 0;
    while (k < known && row[2 + k] != amount) k++;
    if (k == known) {{
        if (known < SS_ROW - 2) row[2 + known] = amount;
        row[1] = count + 1;
    }}
    return amount >= row[0];
}}

"""
