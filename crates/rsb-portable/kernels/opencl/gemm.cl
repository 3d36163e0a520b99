// C = alpha op(A) op(B) + beta C, row-major, batched; matrices of B are stride_b elements apart.
// The tiled kernel passes A and B through local memory, which suits GPUs. The kernel of strips
// keeps a strip of C in the registers of one work-item, which suits CPUs. The naive one reads
// everything from memory.

// op(M) at (i, j) of `rows` by `columns`; zero outside the matrix.
inline Wide at(const global Element *m, ulong rows, ulong columns, ulong transposed, ulong i, ulong j) {
    if (i >= rows || j >= columns) return 0;
    return load_one(m, transposed ? j * rows + i : i * columns + j);
}

// If beta is 0, the old values of C are not read: they may be undefined.
inline void put(global Product *c, ulong i, Wide sum, Number alpha, Number beta) {
#if defined(RSB_I8)
    c[i] = (int)alpha * sum + (beta == 0 ? 0 : (int)beta * c[i]);
#elif defined(RSB_F16)
    store_one(c, i, beta == 0 ? alpha * sum : alpha * sum + beta * load_one(c, i));
#else
    c[i] = beta == 0 ? alpha * sum : alpha * sum + beta * c[i];
#endif
}

kernel void rsb_gemm_naive(
    const global Element *a, const global Element *b, global Product *c, ulong m, ulong n, ulong k, ulong batch,
    ulong stride_b, ulong transpose_a, ulong transpose_b, Number alpha, Number beta) {
    const ulong element = get_global_id(0);
    if (element >= batch * m * n) return;
    const ulong j = element % n, i = element / n % m, z = element / (m * n);
    Wide sum = 0;
    for (ulong p = 0; p < k; p++)
        sum += at(a + z * m * k, m, k, transpose_a, i, p) * at(b + z * stride_b, k, n, transpose_b, p, j);
    put(c, element, sum, alpha, beta);
}

#define ROWS 4
#define COLUMNS 16
#if defined(RSB_F64)
typedef double16 Row;
#elif defined(RSB_I8)
typedef int16 Row;
#else
typedef float16 Row;
#endif

// Loads sixteen elements of a row, from any position.
inline Row load_row(const global Element *from, ulong i) {
#if defined(RSB_F16)
    return vload_half16(0, from + i);
#elif defined(RSB_BF16)
    return as_float16(convert_uint16(vload16(0, from + i)) << (uint16)(16u));
#elif defined(RSB_I8)
    return convert_int16(vload16(0, from + i));
#else
    return vload16(0, from + i);
#endif
}

// A work-item computes 4 x 16 elements of C, 4 x 16 products per step of k. Neighbors in the launch
// are neighbors down a column of strips, so that they read the same part of B.
kernel void rsb_gemm_strips(
    const global Element *a, const global Element *b, global Product *c, ulong m, ulong n, ulong k, ulong batch,
    ulong stride_b, ulong transpose_a, ulong transpose_b, Number alpha, Number beta) {
    const ulong down = (m + ROWS - 1) / ROWS, across = (n + COLUMNS - 1) / COLUMNS;
    const ulong strip = get_global_id(0);
    if (strip >= down * across * batch) return;
    const ulong top = strip % down * ROWS, first = strip / down % across * COLUMNS, z = strip / (down * across);
    const global Element *left = a + z * m * k, *right = b + z * stride_b;
    Row sums[ROWS];
    for (int i = 0; i < ROWS; i++) sums[i] = (Row)(0);
    if (first + COLUMNS <= n && !transpose_b) {
        // Rows after the last one repeat it and are not written.
        const ulong step_row = transpose_a ? 1 : k, step_k = transpose_a ? m : 1, last = m - 1;
        const ulong row0 = top * step_row, row1 = min(top + 1, last) * step_row;
        const ulong row2 = min(top + 2, last) * step_row, row3 = min(top + 3, last) * step_row;
        ulong from_b = first;
        for (ulong p = 0; p < k; p++, from_b += n) {
            const Row row = load_row(right, from_b);
            sums[0] += load_one(left, row0 + p * step_k) * row;
            sums[1] += load_one(left, row1 + p * step_k) * row;
            sums[2] += load_one(left, row2 + p * step_k) * row;
            sums[3] += load_one(left, row3 + p * step_k) * row;
        }
    } else {
        for (ulong p = 0; p < k; p++) {
            Wide values[COLUMNS];
            for (int j = 0; j < COLUMNS; j++) values[j] = at(right, k, n, transpose_b, p, first + j);
            const Row row = vload16(0, values);
            for (int i = 0; i < ROWS; i++) sums[i] += at(left, m, k, transpose_a, top + i, p) * row;
        }
    }
    for (int i = 0; i < ROWS; i++) {
        Wide values[COLUMNS];
        vstore16(sums[i], 0, values);
        for (int j = 0; j < COLUMNS; j++)
            if (top + i < m && first + j < n) put(c, (z * m + top + i) * n + first + j, values[j], alpha, beta);
    }
}

// A group of 256 work-items computes 64 x 64 elements of C, each 4 x 4 of them, 16 steps of k at a time.
#define TILE 64
#define STEP 16

SHARING kernel void rsb_gemm_tiled(
    const global Element *a, const global Element *b, global Product *c, ulong m, ulong n, ulong k, ulong batch,
    ulong stride_b, ulong transpose_a, ulong transpose_b, Number alpha, Number beta) {
    // One additional column, so that work-items of a column do not share a bank.
    local Wide left[STEP][TILE + 1];
    local Wide right[STEP][TILE + 1];
    const int item = get_local_id(0), x = item % 16, y = item / 16;
    const ulong down = (m + TILE - 1) / TILE, across = (n + TILE - 1) / TILE;
    for (ulong tile = get_group_id(0); tile < down * across * batch; tile += get_num_groups(0)) {
        const ulong z = tile / (down * across), top = tile / across % down * TILE, first = tile % across * TILE;
        const global Element *from_a = a + z * m * k, *from_b = b + z * stride_b;
        Wide sum[4][4];
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) sum[i][j] = 0;
        for (ulong p = 0; p < k; p += STEP) {
            for (int e = item; e < TILE * STEP; e += RSB_THREADS) {
                // Neighboring work-items read neighboring elements, whether or not the matrix is transposed.
                const int ai = transpose_a ? e % TILE : e / STEP, ap = transpose_a ? e / TILE : e % STEP;
                const int bj = transpose_b ? e / STEP : e % TILE, bp = transpose_b ? e % STEP : e / TILE;
                left[ap][ai] = at(from_a, m, k, transpose_a, top + ai, p + ap);
                right[bp][bj] = at(from_b, k, n, transpose_b, p + bp, first + bj);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            for (int step = 0; step < STEP; step++) {
                Wide column[4], row[4];
                for (int i = 0; i < 4; i++) {
                    column[i] = left[step][y + 16 * i];
                    row[i] = right[step][x + 16 * i];
                }
                for (int i = 0; i < 4; i++)
                    for (int j = 0; j < 4; j++) sum[i][j] += column[i] * row[j];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 4; j++) {
                const ulong row = top + y + 16 * i, column = first + x + 16 * j;
                if (row < m && column < n) put(c, (z * m + row) * n + column, sum[i][j], alpha, beta);
            }
    }
}
