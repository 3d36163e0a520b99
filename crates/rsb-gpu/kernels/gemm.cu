// C = alpha op(A) op(B) + beta C, row-major, batched; used if there is no library. Matrices of B
// are stride_b elements apart. The tiled kernel keeps a tile of C in registers and passes A and B
// through shared memory; the naive one reads everything from memory.

// op(A) at (i, p), op(B) at (p, j); zero outside the matrix.
template <class T> struct Matrix {
    const T *data;
    u64 rows, columns;
    bool transposed;
    __device__ typename Wide<T>::type at(u64 i, u64 j) const {
        if (i >= rows || j >= columns) return 0;
        return wide(transposed ? data[j * rows + i] : data[i * columns + j]);
    }
};

// If beta is 0, the old values of C are not read: they may be undefined.
template <class W, class C> __device__ inline void put(C *c, W sum, double alpha, double beta) {
    const double old = beta == 0.0 ? 0.0 : beta * (double)wide(*c);
    *c = narrow<C>((typename Wide<C>::type)(beta == 0.0 ? (W)alpha * sum : (W)(alpha * (double)sum + old)));
}
template <> __device__ inline void put<int, int>(int *c, int sum, double alpha, double beta) {
    *c = (int)alpha * sum + (beta == 0.0 ? 0 : (int)beta * *c);
}

template <class T, class C>
__device__ inline void gemm_naive(
    const T *a, const T *b, C *c, u64 m, u64 n, u64 k, u64 batch, u64 stride_b, u64 transpose_a, u64 transpose_b,
    double alpha, double beta) {
    for (u64 at = thread_index(); at < batch * m * n; at += thread_count()) {
        const u64 j = at % n, i = at / n % m, z = at / (m * n);
        const Matrix<T> left = {a + z * m * k, m, k, transpose_a != 0};
        const Matrix<T> right = {b + z * stride_b, k, n, transpose_b != 0};
        typename Wide<T>::type sum = 0;
        for (u64 p = 0; p < k; p++) sum += left.at(i, p) * right.at(p, j);
        put(c + at, sum, alpha, beta);
    }
}

// A block of 256 threads computes 64 x 64 elements of C, each thread 4 x 4 of them, 16 steps of k at a time.
#define RSB_TILE 64
#define RSB_STEP 16

template <class T, class C>
__device__ inline void gemm_tiled(
    const T *a, const T *b, C *c, u64 m, u64 n, u64 k, u64 batch, u64 stride_b, u64 transpose_a, u64 transpose_b,
    double alpha, double beta) {
    typedef typename Wide<T>::type W;
    // One additional column, so that threads of a column do not share a bank.
    __shared__ W left[RSB_STEP][RSB_TILE + 1];
    __shared__ W right[RSB_STEP][RSB_TILE + 1];
    const u64 tiles_down = (m + RSB_TILE - 1) / RSB_TILE, tiles_across = (n + RSB_TILE - 1) / RSB_TILE;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (u64 tile = blockIdx.x; tile < tiles_down * tiles_across * batch; tile += gridDim.x) {
        const u64 z = tile / (tiles_down * tiles_across);
        const u64 top = tile / tiles_across % tiles_down * RSB_TILE, first = tile % tiles_across * RSB_TILE;
        const Matrix<T> from_a = {a + z * m * k, m, k, transpose_a != 0};
        const Matrix<T> from_b = {b + z * stride_b, k, n, transpose_b != 0};
        W sum[4][4] = {};
        for (u64 p = 0; p < k; p += RSB_STEP) {
            for (int e = threadIdx.x; e < RSB_TILE * RSB_STEP; e += RSB_THREADS) {
                // Neighboring threads read neighboring elements, whether or not the matrix is transposed.
                const int ai = transpose_a ? e % RSB_TILE : e / RSB_STEP, ap = transpose_a ? e / RSB_TILE : e % RSB_STEP;
                const int bj = transpose_b ? e / RSB_STEP : e % RSB_TILE, bp = transpose_b ? e % RSB_STEP : e / RSB_TILE;
                left[ap][ai] = from_a.at(top + ai, p + ap);
                right[bp][bj] = from_b.at(p + bp, first + bj);
            }
            __syncthreads();
            for (int step = 0; step < RSB_STEP; step++) {
                W column[4], row[4];
                for (int i = 0; i < 4; i++) column[i] = left[step][y + 16 * i], row[i] = right[step][x + 16 * i];
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++) sum[i][j] += column[i] * row[j];
            }
            __syncthreads();
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                const u64 at_row = top + y + 16 * i, at_column = first + x + 16 * j;
                if (at_row < m && at_column < n) put(c + (z * m + at_row) * n + at_column, sum[i][j], alpha, beta);
            }
    }
}

#define RSB_GEMM(NAME, T, C) \
    RSB_KERNEL(RSB_THREADS) \
    rsb_gemm_naive_##NAME( \
        const T *a, const T *b, C *c, u64 m, u64 n, u64 k, u64 batch, u64 stride_b, u64 transpose_a, \
        u64 transpose_b, double alpha, double beta) { \
        gemm_naive<T, C>(a, b, c, m, n, k, batch, stride_b, transpose_a, transpose_b, alpha, beta); \
    } \
    RSB_KERNEL(RSB_THREADS) \
    rsb_gemm_tiled_##NAME( \
        const T *a, const T *b, C *c, u64 m, u64 n, u64 k, u64 batch, u64 stride_b, u64 transpose_a, \
        u64 transpose_b, double alpha, double beta) { \
        gemm_tiled<T, C>(a, b, c, m, n, k, batch, stride_b, transpose_a, transpose_b, alpha, beta); \
    }

RSB_GEMM(f64, double, double)
RSB_GEMM(f32, float, float)
RSB_GEMM(f16, F16, F16)
RSB_GEMM(bf16, Bf16, float)
RSB_GEMM(i8, signed char, int)

// C in the type of A and B instead of a wider one.
#define RSB_GEMM_NARROW(NAME, T) \
    RSB_KERNEL(RSB_THREADS) \
    rsb_gemm_narrow_##NAME( \
        const T *a, const T *b, T *c, u64 m, u64 n, u64 k, u64 batch, u64 stride_b, u64 transpose_a, \
        u64 transpose_b, double alpha, double beta) { \
        gemm_tiled<T, T>(a, b, c, m, n, k, batch, stride_b, transpose_a, transpose_b, alpha, beta); \
    }

RSB_GEMM_NARROW(bf16, Bf16)
