// Normalization along rows: one block per row, which reads it three times; the second and third
// time from a cache.

__device__ inline float root(float x) { return sqrtf(x); }
__device__ inline double root(double x) { return sqrt(x); }

template <class T> __device__ inline void softmax(const T *x, T *y, u64 rows, u64 columns) {
    typedef typename Wide<T>::type W;
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * columns;
        T *to = y + row * columns;
        W most = -(W)RSB_INFINITY;
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS) most = Larger()(most, wide(from[i]));
        most = across_block(most, Larger());
        W sum = 0;
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS) sum += exponential(wide(from[i]) - most);
        sum = across_block(sum, Plus());
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS)
            to[i] = narrow<T>(exponential(wide(from[i]) - most) / sum);
    }
}

template <class T>
__device__ inline void layer_norm(
    const T *x, const T *gain, const T *bias, T *y, u64 rows, u64 columns, double epsilon) {
    typedef typename Wide<T>::type W;
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * columns;
        T *to = y + row * columns;
        W sum = 0;
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS) sum += wide(from[i]);
        const W mean = across_block(sum, Plus()) / (W)columns;
        W squares = 0;
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS) {
            const W distance = wide(from[i]) - mean;
            squares += distance * distance;
        }
        const W scale = (W)1 / root(across_block(squares, Plus()) / (W)columns + (W)epsilon);
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS)
            to[i] = narrow<T>((wide(from[i]) - mean) * scale * wide(gain[i]) + wide(bias[i]));
    }
}

template <class T>
__device__ inline void rms_norm(const T *x, const T *gain, T *y, u64 rows, u64 columns, double epsilon) {
    typedef typename Wide<T>::type W;
    for (u64 row = blockIdx.x; row < rows; row += gridDim.x) {
        const T *from = x + row * columns;
        T *to = y + row * columns;
        W squares = 0;
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS) squares += wide(from[i]) * wide(from[i]);
        const W scale = (W)1 / root(across_block(squares, Plus()) / (W)columns + (W)epsilon);
        for (u64 i = threadIdx.x; i < columns; i += RSB_THREADS) to[i] = narrow<T>(wide(from[i]) * scale * wide(gain[i]));
    }
}

#define RSB_NORMALIZE(NAME, T) \
    RSB_KERNEL(RSB_THREADS) rsb_softmax_##NAME(const T *x, T *y, u64 rows, u64 columns) { \
        softmax<T>(x, y, rows, columns); \
    } \
    RSB_KERNEL(RSB_THREADS) \
    rsb_layer_norm_##NAME( \
        const T *x, const T *gain, const T *bias, T *y, u64 rows, u64 columns, double epsilon) { \
        layer_norm<T>(x, gain, bias, y, rows, columns, epsilon); \
    } \
    RSB_KERNEL(RSB_THREADS) \
    rsb_rms_norm_##NAME(const T *x, const T *gain, T *y, u64 rows, u64 columns, double epsilon) { \
        rms_norm<T>(x, gain, y, rows, columns, epsilon); \
    }

RSB_NORMALIZE(f64, double)
RSB_NORMALIZE(f32, float)
RSB_NORMALIZE(f16, F16)
RSB_NORMALIZE(bf16, Bf16)
