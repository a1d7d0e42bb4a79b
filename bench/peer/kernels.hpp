// What kernels of Futhark's find on a device, beyond what ours do: `device.hpp` has the rest.
#include <stdint.h>
#include <stdlib.h>

#include "device.hpp"

namespace peer {
struct Three {
    unsigned x, y, z;
};
extern Three grid, block;
static inline QUIET Three apart(unsigned n, Three of) { return {n % of.x, n / of.x % of.y, n / of.x / of.y}; }
static inline QUIET Three whole(Three &of) { return of; }
static inline QUIET Three thread_in_block() { return apart(observer::thread().x, block); }
static inline QUIET Three block_in_grid() { return apart(observer::block().x, grid); }
}  // namespace peer

#undef threadIdx
#undef blockIdx
#undef blockDim
#undef __device__
#undef __shared__
#define threadIdx peer::thread_in_block()
#define blockIdx peer::block_in_grid()
#define blockDim peer::whole(peer::block)
#define gridDim peer::whole(peer::grid)
#define __device__ __attribute__((always_inline))
#define __shared__ __attribute__((section("of_block")))
#define __launch_bounds__(...)
#define __restrict__

QUIET static void __threadfence_block() {}
QUIET static int __popc(unsigned x) { return __builtin_popcount(x); }
QUIET static int __clz(int x) { return x ? __builtin_clz(x) : 32; }
QUIET static int __ffs(int x) { return __builtin_ffs(x); }
QUIET static int __mulhi(int a, int b) { return (long long)a * b >> 32; }
QUIET static unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }

// Calls a kernel with what its parameters point to.
template <class... A> struct Call {
    template <int... K> struct List {};
    template <int N, int... K> struct Upto : Upto<N - 1, N - 1, K...> {};
    template <int... K> struct Upto<0, K...> {
        QUIET static void call(void (*kernel)(A...), void **given) { kernel(*(A *)given[K]...); }
    };
};
template <class... A> QUIET static void called(void (*kernel)(A...), void **given) {
    Call<A...>::template Upto<sizeof...(A)>::call(kernel, given);
}
