// C = A WT with weights of 8 or 4 bits and a scale per group of weights. Weights are signed
// integers; of 4 bits, two are in a byte, the first in the lower half. Sums are in f32. k and group
// are multiples of 32, so that every row of weights is aligned to 16 bytes and no pack of weights
// spans two groups.

// Weight number `at` of a word.
template <int BITS> __device__ inline float weight_of(unsigned int word, int at) {
    return (float)((int)(word << (32 - BITS - BITS * at)) >> (32 - BITS));
}

// Threads that share a row of weights, and rows per block.
#define RSB_LANES 32
#define RSB_ROWS (RSB_THREADS / RSB_LANES)

// For a few rows of A, as for one token: 32 threads share a row of weights. Each weight is read
// once for M rows of A, and converted in a register. Neighboring threads read neighboring packs.
template <class T, int BITS, int M>
__device__ inline void quantized_rows(
    const T *a, const Pack<unsigned int> *w, const F16 *scales, T *c, u64 m, u64 n, u64 k, u64 group,
    float (*parts)[RSB_ROWS][RSB_LANES + 1]) {
    // Weights per pack and per word, and elements of A per pack.
    enum { WEIGHTS = 128 / BITS, EACH = 32 / BITS, COUNT = Pack<T>::count };
    const unsigned int lane = threadIdx.x % RSB_LANES, own = threadIdx.x / RSB_LANES;
    const unsigned int packs = (unsigned int)(k / WEIGHTS), in_group = (unsigned int)(group / WEIGHTS);
    const u64 groups = (k + group - 1) / group;
    for (u64 first = (u64)blockIdx.x * RSB_ROWS; first < n; first += (u64)gridDim.x * RSB_ROWS) {
        const u64 row = first + own;
        for (u64 top = 0; top < m; top += M) {
            float sum[M] = {};
            for (unsigned int p = lane; row < n && p < packs; p += RSB_LANES) {
                const Pack<unsigned int> pack = w[row * packs + p];
                const float scale = wide(scales[row * groups + p / in_group]);
                float part[M] = {};
#pragma unroll
                for (int from = 0; from < WEIGHTS; from += COUNT) {
                    float numbers[COUNT];
#pragma unroll
                    for (int i = 0; i < COUNT; i++)
                        numbers[i] = weight_of<BITS>(pack.v[(from + i) / EACH], (from + i) % EACH);
#pragma unroll
                    for (int j = 0; j < M; j++) {
                        // Rows after the last one repeat it and are not written.
                        const u64 at = top + j < m ? top + j : m - 1;
                        const Pack<T> x = *(const Pack<T> *)(a + at * k + (u64)p * WEIGHTS + from);
#pragma unroll
                        for (int i = 0; i < COUNT; i++) part[j] += numbers[i] * wide(x.v[i]);
                    }
                }
                for (int j = 0; j < M; j++) sum[j] += part[j] * scale;
            }
            for (int j = 0; j < M; j++) parts[j][own][lane] = sum[j];
            __syncthreads();
            if (threadIdx.x < M * RSB_ROWS) {
                const unsigned int j = threadIdx.x / RSB_ROWS, i = threadIdx.x % RSB_ROWS;
                float total = 0;
                for (int l = 0; l < RSB_LANES; l++) total += parts[j][i][l];
                if (top + j < m && first + i < n) c[(top + j) * n + first + i] = narrow<T>(total);
            }
            __syncthreads();
        }
    }
}

// For many rows of A: as in the tiled matrix product, a block of 256 threads computes 64 x 64
// elements of C, each thread 4 x 4 of them, 16 steps of k at a time, all of one group. Weights are
// converted on the way into shared memory.
#define RSB_TILE 64
#define RSB_STEP 16

template <class T, int BITS>
__device__ inline void quantized_tiled(
    const T *a, const unsigned int *w, const F16 *scales, T *c, u64 m, u64 n, u64 k, u64 group,
    float (*left)[RSB_TILE + 1], float (*right)[RSB_TILE + 1]) {
    enum { EACH = 32 / BITS };
    const u64 down = (m + RSB_TILE - 1) / RSB_TILE, across = (n + RSB_TILE - 1) / RSB_TILE;
    const u64 groups = (k + group - 1) / group;
    const int x = threadIdx.x % 16, y = threadIdx.x / 16;
    for (u64 tile = blockIdx.x; tile < down * across; tile += gridDim.x) {
        const u64 top = tile / across * RSB_TILE, first = tile % across * RSB_TILE;
        float sum[4][4] = {};
        for (u64 p = 0; p < k; p += RSB_STEP) {
            for (int e = threadIdx.x; e < RSB_TILE * RSB_STEP; e += RSB_THREADS) {
                // Neighbors along k are adjacent in both matrices.
                const int step = e % RSB_STEP, at = e / RSB_STEP;
                left[step][at] = top + at < m ? wide(a[(top + at) * k + p + step]) : 0.0f;
                float number = 0.0f;
                if (first + at < n) {
                    const unsigned int word = w[((first + at) * k + p + step) / EACH];
                    number = weight_of<BITS>(word, step % EACH) * wide(scales[(first + at) * groups + p / group]);
                }
                right[step][at] = number;
            }
            __syncthreads();
            for (int step = 0; step < RSB_STEP; step++) {
                float column[4], row[4];
                for (int i = 0; i < 4; i++) column[i] = left[step][y + 16 * i], row[i] = right[step][x + 16 * i];
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++) sum[i][j] += column[i] * row[j];
            }
            __syncthreads();
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                const u64 row = top + y + 16 * i, column = first + x + 16 * j;
                if (row < m && column < n) c[row * n + column] = narrow<T>(sum[i][j]);
            }
    }
}

// The kernel declares the shared memory, so that its variants do not each have their own. One
// additional column, so that threads of a column do not share a bank.
#define RSB_QUANTIZED(NAME, T) \
    RSB_KERNEL(RSB_THREADS) \
    rsb_quantized_rows_##NAME( \
        const T *a, const Pack<unsigned int> *w, const F16 *scales, T *c, u64 m, u64 n, u64 k, u64 group, u64 bits) { \
        __shared__ float parts[4][RSB_ROWS][RSB_LANES + 1]; \
        if (bits == 4 && m == 1) quantized_rows<T, 4, 1>(a, w, scales, c, m, n, k, group, parts); \
        else if (bits == 4) quantized_rows<T, 4, 4>(a, w, scales, c, m, n, k, group, parts); \
        else if (m == 1) quantized_rows<T, 8, 1>(a, w, scales, c, m, n, k, group, parts); \
        else quantized_rows<T, 8, 4>(a, w, scales, c, m, n, k, group, parts); \
    } \
    RSB_KERNEL(RSB_THREADS) \
    rsb_quantized_tiled_##NAME( \
        const T *a, const unsigned int *w, const F16 *scales, T *c, u64 m, u64 n, u64 k, u64 group, u64 bits) { \
        __shared__ float left[RSB_STEP][RSB_TILE + 1]; \
        __shared__ float right[RSB_STEP][RSB_TILE + 1]; \
        if (bits == 4) quantized_tiled<T, 4>(a, w, scales, c, m, n, k, group, left, right); \
        else quantized_tiled<T, 8>(a, w, scales, c, m, n, k, group, left, right); \
    }

RSB_QUANTIZED(f32, float)
RSB_QUANTIZED(f16, F16)
RSB_QUANTIZED(bf16, Bf16)
