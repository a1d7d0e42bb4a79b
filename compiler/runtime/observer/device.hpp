// What kernels find on a device, for a processor: `watch.cpp` runs their threads, in turns, and sees
// each access. Nothing here is watched but the kernels themselves.
#include <math.h>

#define QUIET __attribute__((no_sanitize("thread")))
#define __global__
#define __device__ static
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __shared__ static __attribute__((section("of_block")))

namespace observer {
struct Place {
    unsigned x;
};
Place thread();
Place block();
Place threads();
bool wait(int line, bool said);
unsigned long long shuffle(int line, unsigned long long mine, int lane);
void fence();
void rest();
void may_yield();
void access(void *at, int size, bool writes, bool atomic, void *where);
void swapped(void *at, bool done);
void given_back(void *at);
void run(long long blocks, int threads, void (*kernel)());

// An iteration of the loop in that line: accesses of threads that are in the same one go together.
struct Turn {
    explicit Turn(int line);
    ~Turn();
};
}  // namespace observer

#define threadIdx observer::thread()
#define blockIdx observer::block()
#define blockDim observer::threads()
#define __syncthreads() ((void)observer::wait(__LINE__, false))
#define __syncthreads_or(said) observer::wait(__LINE__, said)
#define __shfl_sync(mask, value, lane) observer_shuffle(__LINE__, value, lane)
template <class T> QUIET static T observer_shuffle(int line, T value, int lane) {
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    bits = observer::shuffle(line, bits, lane);
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}
QUIET static void __threadfence() { observer::fence(); }
QUIET static void __nanosleep(unsigned) { observer::rest(); }

#define CHANGES template <class T, class V> __attribute__((noinline)) QUIET static T
#define SEEN observer::access(p, sizeof(T), true, true, __builtin_return_address(0))
CHANGES atomicAdd(T *p, V v) { SEEN; T old = *p; *p = old + (T)v; return old; }
CHANGES atomicMin(T *p, V v) { SEEN; T old = *p; *p = (T)v < old ? (T)v : old; return old; }
CHANGES atomicMax(T *p, V v) { SEEN; T old = *p; *p = (T)v > old ? (T)v : old; return old; }
CHANGES atomicAnd(T *p, V v) { SEEN; T old = *p; *p = old & (T)v; return old; }
CHANGES atomicOr(T *p, V v) { SEEN; T old = *p; *p = old | (T)v; return old; }
CHANGES atomicXor(T *p, V v) { SEEN; T old = *p; *p = old ^ (T)v; return old; }
CHANGES atomicExch(T *p, V v) {
    SEEN;
    observer::given_back(p);
    T old = *p;
    *p = (T)v;
    observer::may_yield();
    return old;
}
template <class T, class U, class V>
__attribute__((noinline)) QUIET static T atomicCAS(T *p, U expected, V v) {
    SEEN;
    T old = *p;
    observer::swapped(p, old == (T)expected);
    if (old == (T)expected) *p = (T)v;
    return old;
}

template <class To, class From> QUIET static To same_bits(From x) {
    To r;
    __builtin_memcpy(&r, &x, sizeof r);
    return r;
}
QUIET static long long __double_as_longlong(double x) { return same_bits<long long>(x); }
QUIET static double __longlong_as_double(long long x) { return same_bits<double>(x); }
QUIET static unsigned __float_as_uint(float x) { return same_bits<unsigned>(x); }
QUIET static float __uint_as_float(unsigned x) { return same_bits<float>(x); }
QUIET static int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
QUIET static int __clzll(unsigned long long x) { return x ? __builtin_clzll(x) : 64; }
QUIET static int __ffsll(unsigned long long x) { return __builtin_ffsll(x); }
QUIET static long long __mul64hi(long long a, long long b) { return ((__int128)a * b) >> 64; }
QUIET static unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return ((unsigned __int128)a * b) >> 64;
}

// Half precision, which a device has instructions for: to a float it is exact, back it is rounded
// to the nearest one, to an even one between two. What is no number becomes one without a sign.
QUIET static float observer_half(unsigned short h) {
    int sign = h >> 15 ? -1 : 1, power = h >> 10 & 31, rest = h & 1023;
    if (power == 31) return rest ? __uint_as_float(0x7fffffff) : sign * INFINITY;
    return sign * (power ? ldexpf(1024 + rest, power - 25) : ldexpf(rest, -24));
}
QUIET static unsigned short observer_half(double x) {
    unsigned sign = signbit(x) ? 0x8000 : 0;
    x = fabs(x);
    if (x != x) return 0x7fff;
    if (x >= 65520) return sign | 0x7c00;
    if (x == 0) return sign;
    int power;
    frexp(x, &power);
    int unit = power - 11 < -24 ? -24 : power - 11;  // what the last bit counts: 2 to this
    unsigned count = (unsigned)nearbyint(ldexp(x, -unit));
    return sign | (count + (unsigned)(unit + 24) * 1024);
}
QUIET static unsigned short observer_half(float x) { return observer_half((double)x); }

// Of half turns, which not every C library has.
QUIET static double observer_sinpi(double x) {
    double part = x - 2 * rint(x / 2), quarter = rint(2 * part);
    double angle = (part - quarter / 2) * 3.14159265358979323846;
    double turned = fabs(quarter) == 1 ? cos(angle) : sin(angle);
    turned = quarter == -1 || fabs(quarter) == 2 ? -turned : turned;
    return turned == 0 ? copysign(0, x) : turned;
}
QUIET static double observer_cospi(double x) {
    double part = fabs(x - 2 * rint(x / 2)), quarter = rint(2 * part);
    double angle = (part - quarter / 2) * 3.14159265358979323846;
    double turned = quarter == 1 ? -sin(angle) : cos(angle);
    return quarter == 2 ? -turned : turned + 0;
}
#define sinpi observer_sinpi
#define cospi observer_cospi
#define sinpif(x) ((float)observer_sinpi(x))
#define cospif(x) ((float)observer_cospi(x))

extern "C" int observer_run(long long blocks, int threads, void (*kernel)(), int waits);
extern "C" void observer_at_launch(char *low, int room, int bytes);
extern "C" void observer_not_constant();
