// Peak arithmetic rate of the matrix units: operands and loop. Compiled after peak.cu and before
// matrix_units.cu.

// Matrix units. C starts at 1; A·B is alternately added and subtracted, exactly, so that C ends at
// 1. A piece of work is 196608 operations of one wavefront, a whole number of instructions of every
// size.
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
#if defined(RSB_CDNA_3) || defined(__gfx950__) || RSB_WMMA == 12 || defined(RSB_MMA)
#define RSB_SPARSE 1
#endif
#if defined(RSB_CDNA_3) || defined(__gfx950__) || RSB_WMMA == 12
#define RSB_HAS_FP8 1
#endif

#ifdef RSB_WAVE
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

// Elements of A and B: random, of either sign, with magnitudes from 0.5 to 1. If `exact`, sums of
// products are exact in the units' 24-bit accumulators, whatever their rounding: bf16 and integers
// then use all their bits, f16 and tf32 nine of eleven, fp8 three of four (Hopper accumulates it
// with 14 bits), bf8 all three. f64 and f32 use all their bits, and their sums are rounded. fp6 is
// from 1 to 1.875 with all its bits; fp4 is 1, 1.5, 2 or 3.
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
// Stored in 32 bits.
struct Tf32 {
    float value;
};
// Eight bits, e4m3, with a bias of 8 on CDNA 3 and 7 elsewhere. On CDNA 3 minus zero would be NaN.
struct Fp8 {
    unsigned char bits;
};
// Eight bits, e5m2, with a bias of 16 on CDNA 3 and 15 elsewhere.
struct Bf8 {
    unsigned char bits;
};
// 32 numbers of six bits, e2m3, with the padding of an operand of eight registers.
struct Fp6Row {
    unsigned int words[8];
};
// Two numbers of four bits, e2m1.
struct Fp4Pair {
    unsigned char bits;
};
// Two integers of four bits.
struct I4Pair {
    unsigned char bits;
};

// Returns a number from 0.5 to less than 1, with `bits` random bits after the leading one.
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
template <> __device__ inline Bf8 element<Bf8>(unsigned int random, bool minus) {
    const unsigned int size = (2 * RSB_FP8_BIAS) << 2 | (random >> 8 & 3);
    Bf8 y = {(unsigned char)(size | (minus != (random & 1) ? 0x80 : 0))};
    return y;
}
template <> __device__ inline Fp6Row element<Fp6Row>(unsigned int random, bool minus) {
    Fp6Row y = {};
    for (int i = 0; i < 32; i++) {
        const unsigned int own = mixed(random + i);
        const u64 code = 8 | (own >> 8 & 7) | (minus != (own & 1) ? 32 : 0);
        y.words[6 * i / 32] |= (unsigned int)(code << 6 * i % 32);
        y.words[6 * i / 32 + 1] |= (unsigned int)(code << 6 * i % 32 >> 32);
    }
    return y;
}
template <> __device__ inline Fp4Pair element<Fp4Pair>(unsigned int random, bool minus) {
    const unsigned int low = 2 + (random >> 8 & 3), high = 2 + (random >> 10 & 3);
    const unsigned int signs = minus != (random & 1) ? 0x08 : 0x80;
    Fp4Pair y = {(unsigned char)(low | high << 4 | signs)};
    return y;
}
template <> __device__ inline I4Pair element<I4Pair>(unsigned int random, bool minus) {
    const int low = 1 + (int)(random >> 8) % 7, high = -1 - (int)(random >> 16) % 7;
    const bool swap = minus != (random & 1);
    I4Pair y = {(unsigned char)((swap ? -low : low) & 15 | ((swap ? -high : high) & 15) << 4)};
    return y;
}

// Operand number `which` of this thread; with `minus`, its negative, which subtracts the same products.
template <class V, class E> __device__ inline V operand(int which, bool minus) {
    E elements[sizeof(V) / sizeof(E)];
    for (int i = 0; i < (int)(sizeof(V) / sizeof(E)); i++)
        elements[i] = element<E>(mixed((threadIdx.x << 8) + (which << 6) + i), minus);
    V v;
    RSB_COPY(&v, elements, sizeof(V));
    return v;
}

// How far from 1 a sum may end after `steps` steps up or down: 0 if steps are exact. Otherwise each
// step may be rounded 16 times, by at most the spacing of numbers below 16, always in the same
// direction.
template <class E> __device__ inline double room(u64 steps) {
    return Element<E>::exact ? 0 : 256.0 * (double)steps * (sizeof(E) == 8 ? 0x1p-52 : 0x1p-23);
}
template <class E, class N> __device__ inline bool is_one(N sum, u64 steps) {
    const double off = (double)sum - 1;
    return off <= room<E>(steps) && off >= -room<E>(steps);
}

// Indices of the two elements that are kept of every four of A: two bits each, the lower first.
// Each pair is 0 and 1, or 2 and 3, at random: every type supports these.
__device__ inline unsigned int kept_pairs() { return 0x44444444u | (mixed(RSB_SEED) & 0x11111111u) * 10; }

// Adds product number s to C, or subtracts it. For sum 1 A and B are swapped, so that the units see
// other factors.
template <class M> struct Factors {
    typedef typename M::Operand V;
    typedef typename M::Element E;
    V a, b, minus_b;
    __device__ Factors() : a(operand<V, E>(0, false)), b(operand<V, E>(1, false)), minus_b(operand<V, E>(1, true)) {}
    __device__ typename M::Sum add(int s, bool minus, const typename M::Sum &c) const {
        const V &other = minus ? minus_b : b;
        return s == 1 ? M::multiply(other, a, c) : M::multiply(a, other, c);
    }
};
// In sparse products A has half as many elements as B, so they cannot be swapped: there are two of each.
template <class M> struct SparseFactors {
    typedef typename M::Operand V;
    typedef typename M::Other W;
    typedef typename M::Element E;
    V a[2], minus_a[2];
    W b[2];
    unsigned int pairs;
    __device__ SparseFactors()
        : a{operand<V, E>(0, false), operand<V, E>(1, false)}, minus_a{operand<V, E>(0, true), operand<V, E>(1, true)},
          b{operand<W, E>(2, false), operand<W, E>(3, false)}, pairs(kept_pairs()) {}
    __device__ typename M::Sum add(int s, bool minus, const typename M::Sum &c) const {
        return M::multiply(minus ? minus_a[s & 1] : a[s & 1], b[s > 0], c, pairs);
    }
};

template <class M, class T> __device__ inline void peak_matrix(T *result, u64 pieces, T one, T wrong) {
    // At the start, so that an error that another group reports is not overwritten.
    if (thread_index() == 0) *result = one;
    const u64 wave = thread_index() / RSB_WAVE, waves = thread_count() / RSB_WAVE;
    const u64 mine = pieces / waves + (wave < pieces % waves ? 1 : 0);
    const typename M::Both factors;
    typename M::Sum sums[3];
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < M::lanes; i++) sums[s][i] = 1;
    // Six instructions per turn: three sums up, three down again. Rounded up: additional work is not counted.
    const u64 turns = (mine * M::instructions + 5) / 6;
    for (u64 turn = 0; turn < turns; turn++) {
#pragma unroll
        for (int step = 0; step < 6; step++) sums[step % 3] = factors.add(step % 3, step >= 3, sums[step % 3]);
    }
    bool right = true;
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < M::lanes; i++) right = right && is_one<typename M::Element>(sums[s][i], 2 * turns);
    if (!right) *result = wrong;
}

// Operand, element and sum types; numbers in a sum; instructions per piece of work.
#define RSB_UNIT(NAME, OPERAND, ELEMENT, SUM, LANES, INSTRUCTIONS, CALL) \
    struct NAME { \
        typedef OPERAND Operand; \
        typedef ELEMENT Element; \
        typedef SUM Sum; \
        enum { lanes = LANES, instructions = INSTRUCTIONS }; \
        typedef Factors<NAME> Both; \
        static __device__ inline Sum multiply(Operand a, Operand b, Sum c) { return CALL; } \
    };
// Two of every four elements of A are zero and not stored. Operations are counted as if they were.
#define RSB_SPARSE_UNIT(NAME, OPERAND, OTHER, ELEMENT, SUM, LANES, INSTRUCTIONS, CALL) \
    struct NAME { \
        typedef OPERAND Operand; \
        typedef OTHER Other; \
        typedef ELEMENT Element; \
        typedef SUM Sum; \
        enum { lanes = LANES, instructions = INSTRUCTIONS }; \
        typedef SparseFactors<NAME> Both; \
        static __device__ inline Sum multiply(Operand a, Other b, Sum c, int pairs) { return CALL; } \
    };

#endif
