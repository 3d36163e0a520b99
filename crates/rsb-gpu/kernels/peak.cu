// Peak arithmetic rate of multiply-adds in vector registers. matrix.cu and matrix_units.cu, which
// are compiled after it, contain that of matrix units, if there are any.

// Random bits that differ for each seed.
__device__ inline unsigned int mixed(unsigned int x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}
// A number from 0.5 to 0.75, with all bits of a double.
__device__ inline double random_size(unsigned int seed) {
    return 0.5 + (mixed(seed) >> 4) * 0x1p-30 + (mixed(~seed) >> 8) * 0x1p-54;
}
// One of a thread's four operands: two of either sign, two negative ones.
__device__ inline double random_operand(unsigned int seed, int which) {
    const unsigned int own = 4u * seed + which;
    return which >= 2 || (mixed(own) & 1) ? -random_size(own) : random_size(own);
}

// Alternates multiply-adds x = x + u * v and x = x + a * x in 12 chains. A piece of work is 16
// steps of all chains on 64 threads: 24576 operations. The factors have full mantissas, different
// in every chain and thread, and so has x, which stays below 1.2. Chains start at 0 and converge to
// (1 + a) * u * v / -a, whatever their start. Each step adds to its own register, so that units can
// issue two instructions at once.
template <class V> __device__ inline V random_factor(int which);
template <class V> __device__ inline V step(V u, V v, V x);
// The number of values in V, and access to each.
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
// One packed multiply-add. Written as u * v + x, the product would be computed once, before the loop.
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

// Selects the operands of a chain from the four: six products of two factors, each different from
// its neighbor's.
template <class V> struct Chain {
    V u, v, a;
    __device__ Chain(const V *of, int c)
        : u(of[c % 6 == 1 ? 2 : c % 6 == 3 || c % 6 == 5 ? 1 : 0]),
          v(of[c % 6 == 0 ? 1 : c % 6 == 2 || c % 6 == 5 ? 2 : 3]), a(of[2 + (c + c / 6) % 2]) {}
};

// Returns whether x is at the end of its chain, within `room`: the precision of the type, and the
// remaining distance, which each turn halves.
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
    // At the start, so that an error that another group reports is not overwritten.
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
