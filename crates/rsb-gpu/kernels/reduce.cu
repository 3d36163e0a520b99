// Reductions to one element. Each block reduces its share; the last block to finish combines the
// shares. The order of additions depends only on the grid, so that equal launches give equal
// results.

// Result type of a reduction of T: sums of 16-bit numbers would overflow their own type.
template <class T> struct Result {
    typedef float type;
};
template <> struct Result<double> {
    typedef double type;
};

// A byte of two 4-bit numbers, which count individually.
struct Halves {
    unsigned char byte;
};
template <> struct Wide<Halves> {
    typedef int type;
};

// How many numbers an element contains, their sum, and the largest of them with its position.
template <class T> struct Numbers {
    typedef typename Wide<T>::type W;
    enum { count = 1 };
    __device__ static W total(T x) { return wide(x); }
    __device__ static void look(T x, u64 at, u64 n, W *most, u64 *found) {
        if (wide(x) > *most) *most = wide(x), *found = at;
    }
};
template <> struct Numbers<Halves> {
    enum { count = 2 };
    __device__ static int total(Halves x) { return low_half(x.byte) + high_half(x.byte); }
    __device__ static void look(Halves x, u64 at, u64 n, int *most, u64 *found) {
        const int low = low_half(x.byte), high = high_half(x.byte);
        if (low > *most) *most = low, *found = 2 * at;
        if (high > *most && 2 * at + 1 < n) *most = high, *found = 2 * at + 1;
    }
};

// A value below all numbers.
template <class W> __device__ inline W lowest() { return (W)-RSB_INFINITY; }
template <> __device__ inline int lowest<int>() { return -(1 << 30); }

template <class T>
__device__ inline void sum(
    const T *x, u64 n, double scale, double *partials, unsigned int *counter, typename Result<T>::type *result) {
    typedef typename Wide<T>::type W;
    // Two lanes per element of a pack would not be faster: memory is the bottleneck.
    W lanes[Pack<T>::count];
    for (int j = 0; j < Pack<T>::count; j++) lanes[j] = 0;
    const u64 elements = (n + Numbers<T>::count - 1) / Numbers<T>::count, packs = elements / Pack<T>::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        Pack<T> pack = ((const Pack<T> *)x)[i];
        for (int j = 0; j < Pack<T>::count; j++) lanes[j] += Numbers<T>::total(pack.v[j]);
    }
    double mine = 0;
    for (int j = 0; j < Pack<T>::count; j++) mine += (double)lanes[j];
    for (u64 i = packs * Pack<T>::count + thread_index(); i < elements; i += thread_count())
        mine += (double)Numbers<T>::total(x[i]);
    mine = across_block(mine, Plus());
    if (threadIdx.x == 0) partials[blockIdx.x] = mine;
    if (!last_block(counter)) return;
    double total = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += RSB_THREADS) total += ((volatile double *)partials)[i];
    total = across_block(total, Plus());
    if (threadIdx.x == 0) *result = (typename Result<T>::type)(total * scale);
}

// A value and its position. Of equal values, the first wins.
struct Found {
    double value;
    u64 at;
};
struct Better {
    __device__ Found operator()(Found a, Found b) const {
        const bool second = b.value > a.value || (b.value == a.value && b.at < a.at);
        return second ? b : a;
    }
};

template <class T> __device__ inline Found largest_of(const T *x, u64 n) {
    Found best = {-RSB_INFINITY, ~0ull};
    typename Wide<T>::type most = lowest<typename Wide<T>::type>();
    const u64 elements = (n + Numbers<T>::count - 1) / Numbers<T>::count, packs = elements / Pack<T>::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        Pack<T> pack = ((const Pack<T> *)x)[i];
        for (int j = 0; j < Pack<T>::count; j++)
            Numbers<T>::look(pack.v[j], i * Pack<T>::count + j, n, &most, &best.at);
    }
    for (u64 i = packs * Pack<T>::count + thread_index(); i < elements; i += thread_count())
        Numbers<T>::look(x[i], i, n, &most, &best.at);
    best.value = (double)most;
    return best;
}

template <class T>
__device__ inline bool largest(
    const T *x, u64 n, double *values, u64 *positions, unsigned int *counter, Found *result) {
    Found mine = across_block(largest_of(x, n), Better());
    if (threadIdx.x == 0) values[blockIdx.x] = mine.value, positions[blockIdx.x] = mine.at;
    if (!last_block(counter)) return false;
    Found total = {-RSB_INFINITY, ~0ull};
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += RSB_THREADS) {
        Found next = {((volatile double *)values)[i], ((volatile u64 *)positions)[i]};
        total = Better()(total, next);
    }
    *result = across_block(total, Better());
    return threadIdx.x == 0;
}

#define RSB_REDUCE(NAME, T) \
    RSB_KERNEL(RSB_THREADS) \
    rsb_sum_##NAME( \
        const T *x, u64 n, double scale, double *partials, unsigned int *counter, Result<T>::type *result) { \
        sum<T>(x, n, scale, partials, counter, result); \
    } \
    RSB_KERNEL(RSB_THREADS) \
    rsb_max_##NAME( \
        const T *x, u64 n, double *values, u64 *positions, unsigned int *counter, Result<T>::type *result) { \
        Found found; \
        if (largest<T>(x, n, values, positions, counter, &found)) *result = (Result<T>::type)found.value; \
    } \
    RSB_KERNEL(RSB_THREADS) \
    rsb_argmax_##NAME(const T *x, u64 n, double *values, u64 *positions, unsigned int *counter, u64 *result) { \
        Found found; \
        if (largest<T>(x, n, values, positions, counter, &found)) *result = found.at; \
    }

RSB_REDUCE(f64, double)
RSB_REDUCE(f32, float)
RSB_REDUCE(f16, F16)
RSB_REDUCE(bf16, Bf16)
RSB_REDUCE(i8, signed char)
RSB_REDUCE(i4, Halves)
