// Shared definitions of all kernels, and all differences between HIP and CUDA. Prepended to each
// source, because runtime compilers have no headers to include.

typedef unsigned long long u64;

#if defined(__HIPCC_RTC__) || defined(__HIP__)
#define RSB_AMD 1
#else
#define RSB_AMD 0
#endif

// Builtins that the compilers provide under different names.
#if RSB_AMD
#define RSB_COPY __builtin_memcpy
#define RSB_INFINITY __builtin_huge_val()
#else
#define RSB_COPY memcpy
#define RSB_INFINITY __longlong_as_double(0x7ff0000000000000LL)
#endif

// Gives a kernel a stable name and a plain list of parameters. BLOCK is the largest number of
// threads per block.
#define RSB_KERNEL(BLOCK) extern "C" __global__ void __launch_bounds__(BLOCK)

// Threads per block in kernels that share memory; a power of two.
#define RSB_THREADS 256

// 16-bit numbers as stored in memory; arithmetic is in f32.
struct F16 {
    unsigned short bits;
};
struct Bf16 {
    unsigned short bits;
};

// Type in which numbers are computed.
template <class T> struct Wide {
    typedef float type;
};
template <> struct Wide<double> {
    typedef double type;
};
template <> struct Wide<signed char> {
    typedef int type;
};

__device__ inline float wide(float x) { return x; }
__device__ inline double wide(double x) { return x; }
__device__ inline int wide(signed char x) { return x; }
__device__ inline float wide(F16 x) {
#if RSB_AMD
    return (float)__builtin_bit_cast(_Float16, x.bits);
#else
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
#endif
}
__device__ inline float wide(Bf16 x) {
    union {
        unsigned int bits;
        float value;
    } y;
    y.bits = (unsigned int)x.bits << 16;
    return y.value;
}

template <class T> __device__ inline T narrow(typename Wide<T>::type x);
template <> __device__ inline float narrow<float>(float x) { return x; }
template <> __device__ inline double narrow<double>(double x) { return x; }
template <> __device__ inline signed char narrow<signed char>(int x) { return x < -128 ? -128 : x > 127 ? 127 : x; }
template <> __device__ inline F16 narrow<F16>(float x) {
    F16 y;
#if RSB_AMD
    y.bits = __builtin_bit_cast(unsigned short, (_Float16)x);
#else
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
#endif
    return y;
}
// Rounds to nearest, ties to even; NaN stays NaN.
template <> __device__ inline Bf16 narrow<Bf16>(float x) {
    union {
        unsigned int bits;
        float value;
    } from;
    from.value = x;
    Bf16 y;
    y.bits = (unsigned short)((from.bits + 0x7fffu + ((from.bits >> 16) & 1u)) >> 16);
    if (x != x) y.bits = 0x7fc0;
    return y;
}

// Two 4-bit numbers in a byte, the first in the lower half.
__device__ inline int low_half(unsigned char byte) { return (signed char)(byte << 4) >> 4; }
__device__ inline int high_half(unsigned char byte) { return (signed char)byte >> 4; }

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }

// 16 bytes: the amount that a thread moves at once.
template <class T> struct alignas(16) Pack {
    enum { count = 16 / sizeof(T) };
    T v[count];
};

#if RSB_AMD
typedef unsigned int Words __attribute__((ext_vector_type(4)));
#else
typedef uint4 Words;
#endif

__device__ inline Words load_around_caches(const Words *from) {
#if RSB_AMD
    return __builtin_nontemporal_load(from);
#else
    return __ldcs(from);
#endif
}
__device__ inline void store_around_caches(Words *to, Words value) {
#if RSB_AMD
    __builtin_nontemporal_store(value, to);
#else
    __stcs(to, value);
#endif
}

// Loads and stores packs, through the caches or around them.
template <class T, bool AROUND> __device__ inline Pack<T> load(const Pack<T> *from) {
    if (!AROUND) return *from;
    Words words = load_around_caches((const Words *)from);
    Pack<T> pack;
    RSB_COPY(&pack, &words, 16);
    return pack;
}
template <class T, bool AROUND> __device__ inline void store(Pack<T> *to, const Pack<T> &pack) {
    if (!AROUND) {
        *to = pack;
        return;
    }
    Words words;
    RSB_COPY(&words, &pack, 16);
    store_around_caches((Words *)to, words);
}

__device__ inline u64 thread_index() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u64 thread_count() { return (u64)gridDim.x * blockDim.x; }

// Binary functions for reductions.
struct Plus {
    template <class W> __device__ W operator()(W a, W b) const { return a + b; }
};
struct Larger {
    template <class W> __device__ W operator()(W a, W b) const { return b > a ? b : a; }
};
struct Xor {
    __device__ u64 operator()(u64 a, u64 b) const { return a ^ b; }
};

// Combines the values of all threads, always in the same order. Every thread gets the result.
template <class W, class F> __device__ inline W across_block(W value, F together) {
    __shared__ W values[RSB_THREADS];
    __syncthreads();
    values[threadIdx.x] = value;
    __syncthreads();
    for (unsigned int half = RSB_THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) values[threadIdx.x] = together(values[threadIdx.x], values[threadIdx.x + half]);
        __syncthreads();
    }
    return values[0];
}

// Returns whether this block is the last to finish. `counter` must be zero before the first launch,
// and is zero after each. All earlier writes of every block are then visible to all threads of the
// last one.
__device__ inline bool last_block(unsigned int *counter) {
    __shared__ unsigned int place;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        place = atomicAdd(counter, 1u);
        if (place == gridDim.x - 1) *counter = 0;
    }
    __syncthreads();
    __threadfence();
    return place == gridDim.x - 1;
}
