// The highest arithmetic rate: by multiply-adds in vector registers, and by the matrix units where there are any.

// Random bits, unlike for each seed.
__device__ inline unsigned int mixed(unsigned int x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}
// From 0.5 to 0.75, with all the bits of a double.
__device__ inline double random_size(unsigned int seed) {
    return 0.5 + (mixed(seed) >> 4) * 0x1p-30 + (mixed(~seed) >> 8) * 0x1p-54;
}
// One of a thread's four operands: two of either sign, two negative ones.
__device__ inline double random_operand(unsigned int seed, int which) {
    const unsigned int own = 4u * seed + which;
    return which >= 2 || (mixed(own) & 1) ? -random_size(own) : random_size(own);
}

// Multiply-adds x = x + u * v and x = x + a * x by turns in 12 chains. A piece of work is 16 steps of all chains on 64
// threads: 24576 operations. The factors have full mantissas, unlike in every chain and thread, and so has x, which
// stays below 1.2. Chains begin at 0 and end at (1 + a) * u * v / -a, which is all that the end depends on. Each step
// adds to its own register, so that units which take two instructions at once can have them.
template <class V> __device__ inline V random_factor(int which);
template <class V> __device__ inline V step(V u, V v, V x);
// How many numbers it holds, and each of them.
template <class V> struct Numbers {
    enum { count = 1 };
};
template <class V> __device__ inline double number(V x, int) { return x; }

#define RSB_SEED ((unsigned int)thread_index())
template <> __device__ inline double random_factor<double>(int which) { return random_operand(RSB_SEED, which); }
template <> __device__ inline double step(double u, double v, double x) { return fma(u, v, x); }
template <> __device__ inline float random_factor<float>(int which) { return (float)random_operand(RSB_SEED, which); }
template <> __device__ inline float step(float u, float v, float x) { return fmaf(u, v, x); }

// Two 16-bit numbers in one register.
#if RSB_AMD
typedef _Float16 Pair __attribute__((ext_vector_type(2)));
template <> __device__ inline Pair random_factor<Pair>(int which) {
    Pair x = {(_Float16)random_operand(2 * RSB_SEED, which), (_Float16)random_operand(2 * RSB_SEED + 1, which)};
    return x;
}
// One packed multiply-add. Written as u * v + x the product would be made once, before the loop.
extern "C" __device__ Pair __ocml_fma_2f16(Pair, Pair, Pair);
template <> __device__ inline Pair step(Pair u, Pair v, Pair x) { return __ocml_fma_2f16(u, v, x); }
template <> __device__ inline double number(Pair x, int i) { return (double)(i == 0 ? x[0] : x[1]); }
#else
struct Pair {
    unsigned int bits;
};
template <> __device__ inline Pair random_factor<Pair>(int which) {
    const unsigned int low = narrow<F16>((float)random_operand(2 * RSB_SEED, which)).bits;
    const unsigned int high = narrow<F16>((float)random_operand(2 * RSB_SEED + 1, which)).bits;
    Pair x = {low | high << 16};
    return x;
}
template <> __device__ inline Pair step(Pair u, Pair v, Pair x) {
    asm("fma.rn.f16x2 %0, %1, %2, %0;" : "+r"(x.bits) : "r"(u.bits), "r"(v.bits));
    return x;
}
template <> __device__ inline double number(Pair x, int i) {
    const F16 half = {(unsigned short)(i == 0 ? x.bits : x.bits >> 16)};
    return wide(half);
}
#endif
template <> struct Numbers<Pair> {
    enum { count = 2 };
};

// Which of the four operands a chain has as u, v and a: six products by two factors, none as its neighbor's.
template <class V> struct Chain {
    V u, v, a;
    __device__ Chain(const V *of, int c)
        : u(of[c % 6 == 1 ? 2 : c % 6 == 3 || c % 6 == 5 ? 1 : 0]),
          v(of[c % 6 == 0 ? 1 : c % 6 == 2 || c % 6 == 5 ? 2 : 3]), a(of[2 + (c + c / 6) % 2]) {}
};

// Whether x is where its chain ends, as far as its type and the turns so far let it be: each halves what is missing.
template <class V> __device__ inline bool ended(const Chain<V> &chain, V x, double room) {
    bool right = true;
    for (int i = 0; i < Numbers<V>::count; i++) {
        const double u = number(chain.u, i), v = number(chain.v, i), a = number(chain.a, i);
        const double off = number(x, i) - (1 + a) * u * v / -a;
        right = right && off <= room && off >= -room;
    }
    return right;
}

template <class V, int CHAINS, class T>
__device__ inline void peak_vector(T *result, u64 pieces, T one, T wrong, double epsilon) {
    // At the start, so that what another group found wrong is said after it.
    if (thread_index() == 0) *result = one;
    const u64 group = thread_index() / 64, groups = thread_count() / 64;
    const u64 mine = pieces / groups + (group < pieces % groups ? 1 : 0);
    const V factors[4] = {random_factor<V>(0), random_factor<V>(1), random_factor<V>(2), random_factor<V>(3)};
    V x[CHAINS] = {};
    for (u64 piece = 0; piece < mine; piece++) {
#pragma unroll
        for (int s = 0; s < 8; s++) {
#pragma unroll
            for (int c = 0; c < CHAINS; c++) x[c] = step(Chain<V>(factors, c).u, Chain<V>(factors, c).v, x[c]);
#pragma unroll
            for (int c = 0; c < CHAINS; c++) x[c] = step(Chain<V>(factors, c).a, x[c], x[c]);
        }
    }
    double room = 4 * epsilon;
    room += mine < 8 ? 1.0 / (double)(1ull << 8 * mine) : 0;
    bool right = true;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) right = right && ended(Chain<V>(factors, c), x[c], room);
    if (mine > 0 && !right) *result = wrong;
}

RSB_KERNEL(RSB_THREADS) rsb_peak_vector_f64(double *result, u64 pieces) {
    peak_vector<double, 12>(result, pieces, 1.0, -1.0, 0x1p-52);
}
RSB_KERNEL(RSB_THREADS) rsb_peak_vector_f32(float *result, u64 pieces) {
    peak_vector<float, 12>(result, pieces, 1.0f, -1.0f, 0x1p-23);
}
RSB_KERNEL(RSB_THREADS) rsb_peak_vector_f16(F16 *result, u64 pieces) {
    peak_vector<Pair, 6>(result, pieces, narrow<F16>(1.0f), narrow<F16>(-1.0f), 0x1p-10);
}

// The matrix units. C begins at 1; A·B is added and taken away alternately, exactly, so that it ends at 1. A piece
// of work is 196608 operations of one wavefront, a whole number of instructions of every size.
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || \
    defined(__gfx950__)
#define RSB_MFMA 1
#define RSB_WAVE 64
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__) || defined(__gfx1103__) || \
    defined(__gfx1150__) || defined(__gfx1151__) || defined(__gfx1152__) || defined(__gfx1153__)
#define RSB_WMMA 11
#define RSB_WAVE 32
#elif defined(__gfx1200__) || defined(__gfx1201__)
#define RSB_WMMA 12
#define RSB_WAVE 32
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
#define RSB_MMA 1
#define RSB_WAVE 32
#endif
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define RSB_CDNA_3 1
#define RSB_FP8_BIAS 8
#else
#define RSB_FP8_BIAS 7
#endif

#if defined(RSB_MFMA) || defined(RSB_WMMA) || defined(RSB_MMA)
#if RSB_AMD
#define RSB_VECTOR(T, N) T __attribute__((ext_vector_type(N)))
#else
template <class T, int N> struct Registers {
    T v[N];
    __device__ T &operator[](int i) { return v[i]; }
    __device__ const T &operator[](int i) const { return v[i]; }
};
#define RSB_VECTOR(T, N) Registers<T, N>
#endif

// An element of A or B: random, of either sign, from half a unit to a whole one. Sums of products are exact in the 24 bits
// of the units' sums, whichever way these round, where `exact`: bf16 and whole numbers have all their bits then, f16
// and tf32 nine of eleven, fp8 three of four (Hopper's sums of it keep 14 bits). f64 and f32 have all their bits, and
// their sums are rounded.
template <class E> struct Element {
    enum { exact = 1, bits = 8 };
};
template <> struct Element<Bf16> {
    enum { exact = 1, bits = 7 };
};
template <> struct Element<double> {
    enum { exact = 0, bits = 52 };
};
template <> struct Element<float> {
    enum { exact = 0, bits = 23 };
};
// As it lies in 32 bits.
struct Tf32 {
    float value;
};
// Eight bits, e4m3: its bias is 8 on CDNA 3 and 7 elsewhere. On the former, minus zero would be no number.
struct Fp8 {
    unsigned char bits;
};
// Two whole numbers of four bits.
struct I4Pair {
    unsigned char bits;
};

// From 0.5 to 1, below one by a step at least, with so many random bits behind the first.
__device__ inline double fraction(unsigned int random, int bits) {
    const u64 all = (u64)random << 32 | mixed(~random);
    return 0.5 + (double)(all >> (64 - bits)) * (0.5 / (double)(1ull << bits));
}
template <class E> __device__ inline E element(unsigned int random, bool minus) {
    const double size = fraction(random, Element<E>::bits);
    return narrow<E>((typename Wide<E>::type)(minus != (random & 1) ? -size : size));
}
template <> __device__ inline Tf32 element<Tf32>(unsigned int random, bool minus) {
    const float size = (float)fraction(random, Element<Tf32>::bits);
    Tf32 y = {minus != (random & 1) ? -size : size};
    return y;
}
template <> __device__ inline signed char element<signed char>(unsigned int random, bool minus) {
    const int size = 1 + (int)(random >> 8) % 127;
    return (signed char)(minus != (random & 1) ? -size : size);
}
template <> __device__ inline Fp8 element<Fp8>(unsigned int random, bool minus) {
    const unsigned int size = (RSB_FP8_BIAS - 1) << 3 | (random >> 8 & 3) << 1;
    Fp8 y = {(unsigned char)(size | (minus != (random & 1) ? 0x80 : 0))};
    return y;
}
template <> __device__ inline I4Pair element<I4Pair>(unsigned int random, bool minus) {
    const int low = 1 + (int)(random >> 8) % 7, high = -1 - (int)(random >> 16) % 7;
    const bool swap = minus != (random & 1);
    I4Pair y = {(unsigned char)((swap ? -low : low) & 15 | ((swap ? -high : high) & 15) << 4)};
    return y;
}

// Operand number `which` of this thread, or what takes its products away again.
template <class V, class E> __device__ inline V operand(int which, bool minus) {
    E elements[sizeof(V) / sizeof(E)];
    for (int i = 0; i < (int)(sizeof(V) / sizeof(E)); i++)
        elements[i] = element<E>(mixed((threadIdx.x << 8) + (which << 6) + i), minus);
    V v;
    RSB_COPY(&v, elements, sizeof(V));
    return v;
}

// How far from 1 a sum may end after so many steps up or down: not at all where steps are exact. Each of the others may be
// rounded 16 times, by at most a step of a number below 16, and always the same way.
template <class E> __device__ inline double room(u64 steps) {
    return Element<E>::exact ? 0 : 256.0 * (double)steps * (sizeof(E) == 8 ? 0x1p-52 : 0x1p-23);
}
template <class E, class N> __device__ inline bool is_one(N sum, u64 steps) {
    const double off = (double)sum - 1;
    return off <= room<E>(steps) && off >= -room<E>(steps);
}

template <class M, class T> __device__ inline void peak_matrix(T *result, u64 pieces, T one, T wrong) {
    // At the start, so that what another group found wrong is said after it.
    if (thread_index() == 0) *result = one;
    typedef typename M::Operand V;
    typedef typename M::Sum S;
    const u64 wave = thread_index() / RSB_WAVE, waves = thread_count() / RSB_WAVE;
    const u64 mine = pieces / waves + (wave < pieces % waves ? 1 : 0);
    typedef typename M::Element E;
    const V a = operand<V, E>(0, false), b = operand<V, E>(1, false), minus_b = operand<V, E>(1, true);
    S sums[3];
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < M::lanes; i++) sums[s][i] = 1;
    // Six instructions a turn: three sums up, three down again. A and B change places from one sum to the next, so that the
    // units see other factors.
    const u64 turns = mine * (M::instructions / 6);
    for (u64 turn = 0; turn < turns; turn++) {
        sums[0] = M::multiply(a, b, sums[0]);
        sums[1] = M::multiply(b, a, sums[1]);
        sums[2] = M::multiply(a, b, sums[2]);
        sums[0] = M::multiply(a, minus_b, sums[0]);
        sums[1] = M::multiply(minus_b, a, sums[1]);
        sums[2] = M::multiply(a, minus_b, sums[2]);
    }
    bool right = true;
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < M::lanes; i++) right = right && is_one<E>(sums[s][i], 2 * turns);
    if (!right) *result = wrong;
}

// Operand, element and sum; numbers in a sum; instructions in a piece of work.
#define RSB_UNIT(NAME, OPERAND, ELEMENT, SUM, LANES, INSTRUCTIONS, CALL) \
    struct NAME { \
        typedef OPERAND Operand; \
        typedef ELEMENT Element; \
        typedef SUM Sum; \
        enum { lanes = LANES, instructions = INSTRUCTIONS }; \
        static __device__ inline Sum multiply(Operand a, Operand b, Sum c) { return CALL; } \
    };

#if RSB_AMD
typedef RSB_VECTOR(float, 2) Float2;
typedef RSB_VECTOR(float, 4) Float4;
typedef RSB_VECTOR(float, 8) Float8;
typedef RSB_VECTOR(int, 2) Int2;
typedef RSB_VECTOR(int, 4) Int4;
typedef RSB_VECTOR(int, 8) Int8;
typedef RSB_VECTOR(short, 2) Short2;
typedef RSB_VECTOR(short, 4) Short4;
typedef RSB_VECTOR(short, 8) Short8;
typedef RSB_VECTOR(short, 16) Short16;
typedef RSB_VECTOR(_Float16, 4) Half4;
typedef RSB_VECTOR(_Float16, 8) Half8;
typedef RSB_VECTOR(_Float16, 16) Half16;
#endif

#ifdef RSB_MMA
#define RSB_HAS_F64 1
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// The instruction `wgmma` of four warps, 64 x 64 numbers in f32 at a time: A comes from registers, B from shared
// memory. Hopper's matrix units reach their full rate by no other.
#define RSB_WGMMA 1
#define RSB_ROW(I) \
    "%" #I "0, %" #I "1, %" #I "2, %" #I "3, %" #I "4, %" #I "5, %" #I "6, %" #I "7, %" #I "8, %" #I "9, "
#define RSB_SUMS \
    "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " RSB_ROW(1) RSB_ROW(2) "%30, %31}, {%32, %33, %34, %35}, %36, p"
#define RSB_EIGHT(C, I) C(I), C(I + 1), C(I + 2), C(I + 3), C(I + 4), C(I + 5), C(I + 6), C(I + 7)
#define RSB_FLOAT(I) "+f"(c[I])
#define RSB_INT(I) "+r"(c[I])
// INSTRUCTIONS for four pieces of work.
#define RSB_WGMMA_UNIT(NAME, ELEMENT, SUM, REGISTER, INSTRUCTIONS, SHAPE, SCALES) \
    struct NAME { \
        typedef RSB_VECTOR(unsigned int, 4) Operand; \
        typedef ELEMENT Element; \
        typedef RSB_VECTOR(SUM, 32) Sum; \
        enum { instructions_for_four = INSTRUCTIONS }; \
        static __device__ inline void multiply(const Operand &a, u64 b, Sum &c) { \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned." SHAPE \
                         " " RSB_SUMS SCALES "; }" \
                         : RSB_EIGHT(REGISTER, 0), RSB_EIGHT(REGISTER, 8), RSB_EIGHT(REGISTER, 16), \
                           RSB_EIGHT(REGISTER, 24) \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b)); \
        } \
    };
RSB_WGMMA_UNIT(UnitF16, F16, float, RSB_FLOAT, 6, "m64n64k16.f32.f16.f16", ", 1, 1, 0")
RSB_WGMMA_UNIT(UnitBf16, Bf16, float, RSB_FLOAT, 6, "m64n64k16.f32.bf16.bf16", ", 1, 1, 0")
RSB_WGMMA_UNIT(UnitTf32, Tf32, float, RSB_FLOAT, 12, "m64n64k8.f32.tf32.tf32", ", 1, 1")
RSB_WGMMA_UNIT(UnitFp8, Fp8, float, RSB_FLOAT, 3, "m64n64k32.f32.e4m3.e4m3", ", 1, 1")
RSB_WGMMA_UNIT(UnitI8, signed char, int, RSB_INT, 3, "m64n64k32.s32.s8.s8", "")
#define RSB_HAS_FP8 1

// As peak_matrix, for four warps together. How B lies in shared memory does not matter: wherever the unit looks there
// are elements, and what A·B adds to the sums, -A·B takes away.
template <class U, class T> __device__ inline void peak_group(T *result, u64 pieces, T one, T wrong) {
    // At the start, so that what another group found wrong is said after it.
    if (thread_index() == 0) *result = one;
    typedef typename U::Element E;
    __shared__ alignas(128) E tile[4096 / sizeof(E)];
    for (int i = threadIdx.x; i < (int)(4096 / sizeof(E)); i += RSB_THREADS)
        tile[i] = element<E>(mixed(i), false);
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    // Address, then the steps of 128 and 256 bytes between blocks of 8 x 16 bytes, all in units of 16 bytes.
    const u64 b = (u64)((__cvta_generic_to_shared(tile) & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32;
    const u64 group = thread_index() / 128, groups = thread_count() / 128;
    const u64 mine = pieces / groups + (group < pieces % groups ? 1 : 0);
    const typename U::Operand a = operand<typename U::Operand, E>(0, false);
    const typename U::Operand minus_a = operand<typename U::Operand, E>(0, true);
    typename U::Sum sum;
    for (int i = 0; i < 32; i++) sum[i] = 1;
    // Rounded up: a turn too many is work that is not counted.
    const u64 turns = (mine * U::instructions_for_four + 31) / 32;
    for (u64 turn = 0; turn < turns; turn++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < 4; i++) {
            U::multiply(a, b, sum);
            U::multiply(minus_a, b, sum);
        }
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    bool right = true;
    for (int i = 0; i < 32; i++) right = right && is_one<E>(sum[i], 8 * turns);
    if (!right) *result = wrong;
}
#define RSB_PEAK_MATRIX peak_group
#else
// The instruction `mma` of a warp. Both operands are given A's registers, of which B takes the first.
#define RSB_MMA_UNIT(NAME, ELEMENT, SUM, LETTER, INSTRUCTIONS, SHAPE) \
    struct NAME { \
        typedef RSB_VECTOR(unsigned int, 4) Operand; \
        typedef ELEMENT Element; \
        typedef RSB_VECTOR(SUM, 4) Sum; \
        enum { lanes = 4, instructions = INSTRUCTIONS }; \
        static __device__ inline Sum multiply(Operand a, Operand b, Sum c) { \
            asm volatile("mma.sync.aligned." SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                         : "+" LETTER(c[0]), "+" LETTER(c[1]), "+" LETTER(c[2]), "+" LETTER(c[3]) \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1])); \
            return c; \
        } \
    };
RSB_MMA_UNIT(UnitF16, F16, float, "f", 48, "m16n8k16.row.col.f32.f16.f16.f32")
RSB_MMA_UNIT(UnitBf16, Bf16, float, "f", 48, "m16n8k16.row.col.f32.bf16.bf16.f32")
RSB_MMA_UNIT(UnitTf32, Tf32, float, "f", 96, "m16n8k8.row.col.f32.tf32.tf32.f32")
RSB_MMA_UNIT(UnitI8, signed char, int, "r", 24, "m16n8k32.row.col.s32.s8.s8.s32")
// The compiler takes it since CUDA 12.4.
#if __CUDA_ARCH__ >= 890 && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 4))
#define RSB_HAS_FP8 1
RSB_MMA_UNIT(UnitFp8, Fp8, float, "f", 24, "m16n8k32.row.col.f32.e4m3.e4m3.f32")
#endif
#if __CUDA_ARCH__ < 900
#define RSB_HAS_I4 1
RSB_MMA_UNIT(UnitI4, I4Pair, int, "r", 12, "m16n8k64.row.col.s32.s4.s4.s32")
#endif
#endif
struct UnitF64 {
#if __CUDA_ARCH__ >= 900
    typedef RSB_VECTOR(double, 8) Operand;
    typedef double Element;
    typedef RSB_VECTOR(double, 4) Sum;
    enum { lanes = 4, instructions = 48 };
    static __device__ inline Sum multiply(const Operand &a, const Operand &b, Sum c) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                     : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                       "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
        return c;
    }
#else
    typedef RSB_VECTOR(double, 1) Operand;
    typedef double Element;
    typedef RSB_VECTOR(double, 2) Sum;
    enum { lanes = 2, instructions = 384 };
    static __device__ inline Sum multiply(Operand a, Operand b, Sum c) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(c[0]), "+d"(c[1])
                     : "d"(a[0]), "d"(b[0]));
        return c;
    }
#endif
};
#elif defined(RSB_MFMA)
RSB_UNIT(UnitF32, float, float, Float4, 4, 96, __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0))
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_f32(float *result, u64 pieces) {
    peak_matrix<UnitF32>(result, pieces, 1.0f, -1.0f);
}
#ifndef __gfx908__
typedef RSB_VECTOR(double, 4) Double4;
#define RSB_HAS_F64 1
RSB_UNIT(UnitF64, double, double, Double4, 4, 96, __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 0))
#endif
#if defined(__gfx950__)
typedef RSB_VECTOR(__bf16, 8) Brain8;
RSB_UNIT(UnitF16, Half8, F16, Float4, 4, 12, __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0))
RSB_UNIT(UnitBf16, Brain8, Bf16, Float4, 4, 12, __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0))
RSB_UNIT(UnitI8, Int4, signed char, Int4, 4, 6, __builtin_amdgcn_mfma_i32_16x16x64_i8(a, b, c, 0, 0, 0))
#else
RSB_UNIT(UnitF16, Half4, F16, Float4, 4, 24, __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0))
#if defined(__gfx908__)
RSB_UNIT(UnitBf16, Short2, Bf16, Float4, 4, 48, __builtin_amdgcn_mfma_f32_16x16x8bf16(a, b, c, 0, 0, 0))
#else
RSB_UNIT(UnitBf16, Short4, Bf16, Float4, 4, 24, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0))
#endif
#ifdef RSB_CDNA_3
RSB_UNIT(UnitTf32, Float2, Tf32, Float4, 4, 48, __builtin_amdgcn_mfma_f32_16x16x8_xf32(a, b, c, 0, 0, 0))
RSB_UNIT(UnitFp8, long, Fp8, Float4, 4, 12, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
RSB_UNIT(UnitI8, int, signed char, Int4, 4, 24, __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, 0, 0, 0))
#else
RSB_UNIT(UnitI8, long, signed char, Int4, 4, 12, __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0))
#endif
#endif
#elif RSB_WMMA == 11
RSB_UNIT(UnitF16, Half16, F16, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c))
RSB_UNIT(UnitBf16, Short16, Bf16, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c))
RSB_UNIT(UnitI8, Int4, signed char, Int8, 8, 24, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, c, false))
RSB_UNIT(UnitI4, Int2, I4Pair, Int8, 8, 24, __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(true, a, true, b, c, false))
#else
RSB_UNIT(UnitF16, Half8, F16, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c))
RSB_UNIT(UnitBf16, Short8, Bf16, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c))
RSB_UNIT(
    UnitI8, Int2, signed char, Int8, 8, 24, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, c, false))
RSB_UNIT(
    UnitI4, Int2, I4Pair, Int8, 8, 12, __builtin_amdgcn_wmma_i32_16x16x32_iu4_w32_gfx12(true, a, true, b, c, false))
RSB_UNIT(UnitFp8, Int2, Fp8, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a, b, c))
#endif

#ifndef RSB_PEAK_MATRIX
#define RSB_PEAK_MATRIX peak_matrix
#endif
// The host starts four blocks for each compute unit: two at a time, or all, so that none is left over.
#if RSB_AMD
#define RSB_PEAK_BLOCK RSB_THREADS
#else
#define RSB_PEAK_BLOCK RSB_THREADS, 2
#endif

#ifdef RSB_HAS_F64
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_f64(double *result, u64 pieces) {
    peak_matrix<UnitF64>(result, pieces, 1.0, -1.0);
}
#endif
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_f16(F16 *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitF16>(result, pieces, narrow<F16>(1.0f), narrow<F16>(-1.0f));
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_bf16(Bf16 *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitBf16>(result, pieces, narrow<Bf16>(1.0f), narrow<Bf16>(-1.0f));
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_i8(signed char *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitI8>(result, pieces, (signed char)1, (signed char)-1);
}
// Types that nothing else here is made of say in f32 that they are right.
#if defined(RSB_CDNA_3) || defined(RSB_MMA)
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_tf32(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitTf32>(result, pieces, 1.0f, -1.0f);
}
#endif
#if defined(RSB_CDNA_3) || RSB_WMMA == 12 || defined(RSB_HAS_FP8)
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_fp8(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitFp8>(result, pieces, 1.0f, -1.0f);
}
#endif
#if defined(RSB_WMMA) || defined(RSB_HAS_I4)
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_i4(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitI4>(result, pieces, 1.0f, -1.0f);
}
#endif
#endif
