// The highest arithmetic rate: by multiply-adds in vector registers, and by the matrix units where there are any.

// Multiply-adds x = x / 2 + 1 / 2 in 12 chains. A piece of work is 16 steps of all chains on 64 threads: 24576
// operations. Chains begin near 1, each elsewhere so that none can stand for
// another, none at 1 itself, which a compiler would not compute at all, and end at 1.
template <class V> __device__ inline V begin(int chain);
template <class V> __device__ inline V step(V x);
template <class V> __device__ inline bool ended(V x);

template <> __device__ inline double begin<double>(int chain) { return 1.0 - chain * 0x1p-44; }
template <> __device__ inline double step(double x) { return fma(x, 0.5, 0.5); }
template <> __device__ inline bool ended(double x) { return x == 1.0; }
template <> __device__ inline float begin<float>(int chain) { return 1.0f - chain * 0x1p-20f; }
template <> __device__ inline float step(float x) { return fmaf(x, 0.5f, 0.5f); }
template <> __device__ inline bool ended(float x) { return x == 1.0f; }

// Two 16-bit numbers in one register.
#if RSB_AMD
typedef _Float16 Pair __attribute__((ext_vector_type(2)));
template <> __device__ inline Pair begin<Pair>(int chain) {
    Pair x = {(_Float16)(1.0f - chain * 0x1p-9f), (_Float16)(1.0f - chain * 0x1p-10f)};
    return x;
}
// Contracted to one packed multiply-add: hiprtc does so unless it is told not to.
template <> __device__ inline Pair step(Pair x) {
    const Pair half = {(_Float16)0.5f, (_Float16)0.5f};
    return x * half + half;
}
template <> __device__ inline bool ended(Pair x) { return x[0] == (_Float16)1.0f && x[1] == (_Float16)1.0f; }
#else
struct Pair {
    unsigned int bits;
};
template <> __device__ inline Pair begin<Pair>(int chain) {
    const unsigned int low = narrow<F16>(1.0f - chain * 0x1p-9f).bits, high = narrow<F16>(1.0f - chain * 0x1p-10f).bits;
    Pair x = {low | high << 16};
    return x;
}
template <> __device__ inline Pair step(Pair x) {
    const unsigned int half = 0x38003800u;
    asm("fma.rn.f16x2 %0, %0, %1, %1;" : "+r"(x.bits) : "r"(half));
    return x;
}
template <> __device__ inline bool ended(Pair x) { return x.bits == 0x3c003c00u; }
#endif

template <class V, int CHAINS, class T> __device__ inline void peak_vector(T *result, u64 pieces, T one, T wrong) {
    const u64 group = thread_index() / 64, groups = thread_count() / 64;
    const u64 mine = pieces / groups + (group < pieces % groups ? 1 : 0);
    V x[CHAINS];
#pragma unroll
    for (int c = 0; c < CHAINS; c++) x[c] = begin<V>(c + 1);
    for (u64 piece = 0; piece < mine; piece++) {
#pragma unroll
        for (int s = 0; s < 16; s++) {
#pragma unroll
            for (int c = 0; c < CHAINS; c++) x[c] = step(x[c]);
        }
    }
    bool right = true;
#pragma unroll
    for (int c = 0; c < CHAINS; c++) right = right && ended(x[c]);
    if (mine > 0 && !right) *result = wrong;
    else if (thread_index() == 0) *result = one;
}

RSB_KERNEL(RSB_THREADS) rsb_peak_vector_f64(double *result, u64 pieces) {
    peak_vector<double, 12>(result, pieces, 1.0, -1.0);
}
RSB_KERNEL(RSB_THREADS) rsb_peak_vector_f32(float *result, u64 pieces) {
    peak_vector<float, 12>(result, pieces, 1.0f, -1.0f);
}
RSB_KERNEL(RSB_THREADS) rsb_peak_vector_f16(F16 *result, u64 pieces) {
    peak_vector<Pair, 6>(result, pieces, narrow<F16>(1.0f), narrow<F16>(-1.0f));
}

// The matrix units. C begins at 1; A·B is added and taken away again in turn, exactly, so that it ends at 1. A piece
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
#endif
#if defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__)
#define RSB_CDNA_3 1
#define RSB_FP8_BIAS 8
#else
#define RSB_FP8_BIAS 7
#endif

#if defined(RSB_MFMA) || defined(RSB_WMMA)
#define RSB_VECTOR(T, N) T __attribute__((ext_vector_type(N)))

template <class E> __device__ inline E element(float x) { return (E)x; }
template <> __device__ inline Bf16 element<Bf16>(float x) { return narrow<Bf16>(x); }
template <> __device__ inline F16 element<F16>(float x) { return narrow<F16>(x); }
template <> __device__ inline signed char element<signed char>(float x) { return (signed char)(4.0f * x); }

// Eight bits, e4m3: its bias is 8 on CDNA 3 and 7 elsewhere. On the former, minus zero would be no number.
struct Fp8 {
    unsigned char bits;
};
template <> __device__ inline Fp8 element<Fp8>(float x) {
    const float size = x < 0 ? -x : x;
    const int magnitude = size == 0.25f ? 0x28 : size == 0.5f ? 0x30 : 0x34;
    Fp8 y = {(unsigned char)(size == 0 ? 0 : magnitude + 8 * (RSB_FP8_BIAS - 7) + (x < 0 ? 0x80 : 0))};
    return y;
}
// Two whole numbers of four bits, both the same.
struct I4Pair {
    unsigned char bits;
};
template <> __device__ inline I4Pair element<I4Pair>(float x) {
    const int whole = (int)(4.0f * x) & 15;
    I4Pair y = {(unsigned char)(whole | whole << 4)};
    return y;
}

// Quarters between -3/4 and 3/4: their products and sums are exact in every type.
template <class V, class E> __device__ inline V operand(int seed, float sign) {
    E elements[sizeof(V) / sizeof(E)];
    for (int i = 0; i < (int)(sizeof(V) / sizeof(E)); i++)
        elements[i] = element<E>(sign * 0.25f * (float)((seed + 5 * i + 3 * (int)threadIdx.x) % 7 - 3));
    V v;
    __builtin_memcpy(&v, elements, sizeof(V));
    return v;
}

template <class M, class T> __device__ inline void peak_matrix(T *result, u64 pieces, T one, T wrong) {
    typedef typename M::Operand V;
    typedef typename M::Sum S;
    const u64 wave = thread_index() / RSB_WAVE, waves = thread_count() / RSB_WAVE;
    const u64 mine = pieces / waves + (wave < pieces % waves ? 1 : 0);
    const V a = operand<V, typename M::Element>(1, 1.0f);
    const V b = operand<V, typename M::Element>(4, 1.0f), minus_b = operand<V, typename M::Element>(4, -1.0f);
    S sums[3];
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < M::lanes; i++) sums[s][i] = 1;
    // Six instructions a turn: three sums up, three down again.
    for (u64 turn = 0; turn < mine * (M::instructions / 6); turn++) {
#pragma unroll
        for (int s = 0; s < 3; s++) sums[s] = M::multiply(a, b, sums[s]);
#pragma unroll
        for (int s = 0; s < 3; s++) sums[s] = M::multiply(a, minus_b, sums[s]);
    }
    bool right = true;
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < M::lanes; i++) right = right && sums[s][i] == 1;
    if (!right) *result = wrong;
    else if (thread_index() == 0) *result = one;
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

#ifdef RSB_MFMA
RSB_UNIT(UnitF32, float, float, Float4, 4, 96, __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0))
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_f32(float *result, u64 pieces) {
    peak_matrix<UnitF32>(result, pieces, 1.0f, -1.0f);
}
#ifndef __gfx908__
typedef RSB_VECTOR(double, 4) Double4;
RSB_UNIT(UnitF64, double, double, Double4, 4, 96, __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 0))
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_f64(double *result, u64 pieces) {
    peak_matrix<UnitF64>(result, pieces, 1.0, -1.0);
}
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
RSB_UNIT(UnitTf32, Float2, float, Float4, 4, 48, __builtin_amdgcn_mfma_f32_16x16x8_xf32(a, b, c, 0, 0, 0))
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

RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_f16(F16 *result, u64 pieces) {
    peak_matrix<UnitF16>(result, pieces, narrow<F16>(1.0f), narrow<F16>(-1.0f));
}
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_bf16(Bf16 *result, u64 pieces) {
    peak_matrix<UnitBf16>(result, pieces, narrow<Bf16>(1.0f), narrow<Bf16>(-1.0f));
}
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_i8(signed char *result, u64 pieces) {
    peak_matrix<UnitI8>(result, pieces, (signed char)1, (signed char)-1);
}
// Types that nothing else here is made of say in f32 that they are right.
#ifdef RSB_CDNA_3
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_tf32(float *result, u64 pieces) {
    peak_matrix<UnitTf32>(result, pieces, 1.0f, -1.0f);
}
#endif
#if defined(RSB_CDNA_3) || RSB_WMMA == 12
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_fp8(float *result, u64 pieces) {
    peak_matrix<UnitFp8>(result, pieces, 1.0f, -1.0f);
}
#endif
#ifdef RSB_WMMA
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_i4(float *result, u64 pieces) {
    peak_matrix<UnitI4>(result, pieces, 1.0f, -1.0f);
}
#endif
#endif
