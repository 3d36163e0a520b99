// y = f(x) and y = f(x, z), element by element, 16 bytes at a time.

struct Add {
    template <class W> __device__ W operator()(W x, W z) const { return x + z; }
};
struct Multiply {
    template <class W> __device__ W operator()(W x, W z) const { return x * z; }
};
struct Relu {
    template <class W> __device__ W operator()(W x) const { return x > (W)0 ? x : (W)0; }
};
struct Sigmoid {
    __device__ float operator()(float x) const { return 1.0f / (1.0f + expf(-x)); }
    __device__ double operator()(double x) const { return 1.0 / (1.0 + exp(-x)); }
};
// x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form with one exponential.
struct Gelu {
    __device__ float operator()(float x) const {
        return x / (1.0f + expf(-1.5957691216057308f * (x + 0.044715f * x * x * x)));
    }
    __device__ double operator()(double x) const {
        return x / (1.0 + exp(-1.5957691216057307117597842397375 * (x + 0.044715 * x * x * x)));
    }
};

template <class T, class F> __device__ inline void map(const T *x, T *y, u64 n, F f) {
    const u64 packs = n / Pack<T>::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        Pack<T> from = ((const Pack<T> *)x)[i], to;
        for (int j = 0; j < Pack<T>::count; j++) to.v[j] = narrow<T>(f(wide(from.v[j])));
        ((Pack<T> *)y)[i] = to;
    }
    for (u64 i = packs * Pack<T>::count + thread_index(); i < n; i += thread_count()) y[i] = narrow<T>(f(wide(x[i])));
}

template <class T, class F> __device__ inline void map(const T *x, const T *z, T *y, u64 n, F f) {
    const u64 packs = n / Pack<T>::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        Pack<T> left = ((const Pack<T> *)x)[i], right = ((const Pack<T> *)z)[i], to;
        for (int j = 0; j < Pack<T>::count; j++) to.v[j] = narrow<T>(f(wide(left.v[j]), wide(right.v[j])));
        ((Pack<T> *)y)[i] = to;
    }
    for (u64 i = packs * Pack<T>::count + thread_index(); i < n; i += thread_count())
        y[i] = narrow<T>(f(wide(x[i]), wide(z[i])));
}

#define RSB_ELEMENTWISE(NAME, T) \
    RSB_KERNEL(1024) rsb_add_##NAME(const T *x, const T *z, T *y, u64 n) { map(x, z, y, n, Add()); } \
    RSB_KERNEL(1024) rsb_multiply_##NAME(const T *x, const T *z, T *y, u64 n) { map(x, z, y, n, Multiply()); } \
    RSB_KERNEL(1024) rsb_relu_##NAME(const T *x, T *y, u64 n) { map(x, y, n, Relu()); } \
    RSB_KERNEL(1024) rsb_gelu_##NAME(const T *x, T *y, u64 n) { map(x, y, n, Gelu()); } \
    RSB_KERNEL(1024) rsb_sigmoid_##NAME(const T *x, T *y, u64 n) { map(x, y, n, Sigmoid()); }

RSB_ELEMENTWISE(f64, double)
RSB_ELEMENTWISE(f32, float)
RSB_ELEMENTWISE(f16, F16)
RSB_ELEMENTWISE(bf16, Bf16)

#define RSB_ELEMENTWISE_WHOLE(NAME, T, MAP) \
    RSB_KERNEL(1024) rsb_add_##NAME(const T *x, const T *z, T *y, u64 n) { MAP(x, z, y, n, Add()); } \
    RSB_KERNEL(1024) rsb_relu_##NAME(const T *x, T *y, u64 n) { MAP(x, y, n, Relu()); }

// Saturates to 4 bits.
__device__ inline unsigned char halves(int low, int high) {
    low = low < -8 ? -8 : low > 7 ? 7 : low;
    high = high < -8 ? -8 : high > 7 ? 7 : high;
    return (unsigned char)((low & 15) | high << 4);
}

template <class F> __device__ inline unsigned char each_half(unsigned char x, F f) {
    return halves(f(low_half(x)), f(high_half(x)));
}
template <class F> __device__ inline unsigned char each_half(unsigned char x, unsigned char z, F f) {
    return halves(f(low_half(x), low_half(z)), f(high_half(x), high_half(z)));
}

template <class F> __device__ inline void map_halves(const unsigned char *x, unsigned char *y, u64 n, F f) {
    typedef Pack<unsigned char> P;
    const u64 bytes = (n + 1) / 2, packs = bytes / P::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        P from = ((const P *)x)[i], to;
        for (int j = 0; j < P::count; j++) to.v[j] = each_half(from.v[j], f);
        ((P *)y)[i] = to;
    }
    for (u64 i = packs * P::count + thread_index(); i < bytes; i += thread_count()) y[i] = each_half(x[i], f);
}

template <class F>
__device__ inline void map_halves(
    const unsigned char *x, const unsigned char *z, unsigned char *y, u64 n, F f) {
    typedef Pack<unsigned char> P;
    const u64 bytes = (n + 1) / 2, packs = bytes / P::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        P left = ((const P *)x)[i], right = ((const P *)z)[i], to;
        for (int j = 0; j < P::count; j++) to.v[j] = each_half(left.v[j], right.v[j], f);
        ((P *)y)[i] = to;
    }
    for (u64 i = packs * P::count + thread_index(); i < bytes; i += thread_count()) y[i] = each_half(x[i], z[i], f);
}

RSB_ELEMENTWISE_WHOLE(i8, signed char, map)
RSB_ELEMENTWISE_WHOLE(i4, unsigned char, map_halves)
