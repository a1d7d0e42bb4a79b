"""The CUDA runtime. No headers: NVRTC compiles it as it is."""

from __future__ import annotations

from compiler.codegen.kernels.nodes import WARP

THREADS = 256
"""Threads per block, unless a launch needs fewer."""


def threads_for(busy: int) -> int:
    """Return the threads of a block of which at most `busy` have work."""
    return min(THREADS, max(WARP, -(-busy // WARP) * WARP))


def blocks_for(points: int, blocks: int) -> int:
    """Return the number of blocks for `points`, or `blocks` if `points` is negative."""
    return blocks if points < 0 else -(-points // THREADS)


HEAD = f"""\
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
enum {{ THREADS = {THREADS} }};
"""

INDEX = """\
typedef int32_t index_t;  // 64 bits in runs where a launch has indices that need them
"""
WIDE_INDEX = INDEX.replace("int32_t", "int64_t")
"""Replacement for launches that need wide indices."""

AT_LAUNCH = "at_launch"
SHARED = f"""\
extern __shared__ __align__(8) char {AT_LAUNCH}[];  // as many bytes as a launch says
"""

FAILURE = """\
// A failed check leaves its number and the values it shows; the first one stays.
__device__ __noinline__ void ss_fail(int64_t *failure, int64_t site, int64_t a = 0, int64_t b = 0,
        int64_t c = 0, int64_t d = 0, int64_t e = 0, int64_t f = 0, int64_t g = 0, int64_t h = 0) {
    if (atomicExch((unsigned long long *)failure, 1ull)) return;
    const int64_t values[] = {site, a, b, c, d, e, f, g, h};
    for (int k = 0; k < 9; k++) failure[k + 1] = values[k];
}
"""

ROUND = 15
"""Word of the flag that counts the loop iterations before the captured ones."""
NEXT = "ss_next"
"""Kernel that advances the iteration count."""
ROUNDS = f"""\
// A graph that is launched again is about other rounds of its loop.
extern "C" __global__ void {NEXT}(const int64_t rounds, int64_t *failure) {{
    if (threadIdx.x == 0) failure[{ROUND}] += rounds;
}}
"""

HALF = """\
__device__ float half_value(uint16_t h) {
    float r;
    asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(h));
    return r;
}
__device__ uint16_t nearest_half(float x) {
    uint16_t r;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
    return r;
}
__device__ uint16_t nearest_half(double x) {
    uint16_t r;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(r) : "d"(x));
    return r;
}
__device__ float half_of(float x) { return half_value(nearest_half(x)); }
__device__ float half_of(double x) { return half_value(nearest_half(x)); }
// Of what is no number the device's instructions leave neither the sign nor the rest.
__device__ float half_to_float(uint16_t h) {
    float r = __uint_as_float((h & 0x8000u) << 16 | 0x7f800000u | (h & 0x3ffu) << 13);
    return (h & 0x7fffu) > 0x7c00u ? r : half_value(h);
}
__device__ uint16_t float_to_half(float x) {
    unsigned bits = __float_as_uint(x);
    uint16_t r = bits >> 16 & 0x8000u | 0x7e00u | bits >> 13 & 0x3ffu;
    return x == x ? nearest_half(x) : r;
}
"""

CELLS = """\
template <typename T, int N> struct alignas(N * sizeof(T)) Cells { T of[N]; };
"""
"""Neighbouring cells that are touched at once."""

BITS = """\
__device__ int64_t ss_bits(double x) { return __double_as_longlong(x); }
"""
