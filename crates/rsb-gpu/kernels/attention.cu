// softmax(q kT scale) v for each head, without storing the scores: each row keeps its largest score
// so far and the sum of powers relative to it, and a larger score rescales them later (online
// softmax). Query heads that share keys are stored one after another, so that their queries are
// rows of one matrix.

// Largest number of elements per head.
#define RSB_HEAD 128

// Number of positions to which row `row` attends.
__device__ inline u64 reach(u64 row, u64 queries, u64 positions, u64 causal) {
    return causal ? positions - queries + row % queries + 1 : positions;
}

// Loads the first `count` rows of a tile and zeros the others, because the memory behind them is undefined.
template <class T, class W>
__device__ inline void load_rows(W (*to)[RSB_HEAD + 1], unsigned int side, const T *from, u64 count, unsigned int width) {
    for (unsigned int e = threadIdx.x; e < side * width; e += RSB_THREADS)
        to[e / width][e % width] = e / width < count ? (W)wide(from[e]) : (W)0;
}

// Each block computes a tile of rows. Each thread computes the scores of one key with several rows,
// then several output elements of one row.
template <class T>
__device__ inline void attention(
    const T *q, const T *k, const T *v, T *y, u64 heads, u64 group, u64 queries, u64 positions, u64 capacity,
    u64 head_dim, u64 causal, double scale) {
    typedef typename Wide<T>::type W;
    // As many as fit into shared memory: 32 rows and keys, 16 for f64.
    enum { SIDE = 128 / sizeof(W), LANES = RSB_THREADS / SIDE, COLUMNS = RSB_HEAD / LANES, SCORES = SIDE / LANES };
    // One additional column, so that threads of a column do not share a bank.
    __shared__ W rows[SIDE][RSB_HEAD + 1];
    __shared__ W cached[SIDE][RSB_HEAD + 1];
    __shared__ W shares[SIDE][SIDE + 1];
    const unsigned int width = (unsigned int)head_dim;
    const unsigned int key = threadIdx.x % SIDE, first = threadIdx.x / SIDE;
    const unsigned int row = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const u64 of_head = group * queries, tiles = (of_head + SIDE - 1) / SIDE;
    for (u64 tile = blockIdx.x; tile < heads * tiles; tile += gridDim.x) {
        const u64 head = tile / tiles, top = tile % tiles * SIDE;
        const u64 count = of_head - top < SIDE ? of_head - top : SIDE, last = top + count - 1;
        const u64 from = head * of_head + top, cache = head * capacity;
        // If a tile spans two heads, their rows attend to different positions, and the last query
        // of the first head to all of them.
        const u64 end = top / queries == last / queries ? reach(last, queries, positions, causal) : positions;
        load_rows<T, W>(rows, SIDE, q + from * head_dim, count, width);
        W sum[COLUMNS] = {}, largest = -(W)RSB_INFINITY, total = 0;
        for (u64 start = 0; start < end; start += SIDE) {
            const u64 filled = positions - start;
            load_rows<T, W>(cached, SIDE, k + (cache + start) * head_dim, filled, width);
            __syncthreads();
            W score[SCORES] = {};
            for (unsigned int d = 0; d < width; d++)
                for (int i = 0; i < SCORES; i++) score[i] += rows[first + LANES * i][d] * cached[key][d];
            for (int i = 0; i < SCORES; i++) {
                const bool seen = start + key < reach(top + first + LANES * i, queries, positions, causal);
                shares[first + LANES * i][key] = seen ? score[i] * (W)scale : -(W)RSB_INFINITY;
            }
            __syncthreads();
            W most = largest;
            for (int j = 0; j < SIDE; j++) most = Larger()(most, shares[row][j]);
            load_rows<T, W>(cached, SIDE, v + (cache + start) * head_dim, filled, width);
            __syncthreads();
            for (int j = lane; j < SIDE; j += LANES) shares[row][j] = exponential(shares[row][j] - most);
            const W factor = exponential(largest - most);
            largest = most;
            total *= factor;
            for (int c = 0; c < COLUMNS; c++) sum[c] *= factor;
            __syncthreads();
            for (int j = 0; j < SIDE; j++) {
                const W share = shares[row][j];
                total += share;
                for (int c = 0; c < COLUMNS; c++)
                    if (lane + LANES * c < width) sum[c] += share * cached[j][lane + LANES * c];
            }
            __syncthreads();
        }
        for (int c = 0; c < COLUMNS; c++)
            if (row < count && lane + LANES * c < width)
                y[(from + row) * head_dim + lane + LANES * c] = narrow<T>(sum[c] / total);
    }
}

// Each block computes one row: its threads share the positions, then the elements.
template <class T>
__device__ inline void attention_row(
    const T *q, const T *k, const T *v, T *y, u64 heads, u64 group, u64 queries, u64 positions, u64 capacity,
    u64 head_dim, u64 causal, double scale) {
    typedef typename Wide<T>::type W;
    __shared__ W query[RSB_HEAD];
    __shared__ W shares[RSB_THREADS];
    const unsigned int width = head_dim <= RSB_HEAD / 2 ? RSB_HEAD / 2 : RSB_HEAD, parts = RSB_THREADS / width;
    const unsigned int element = threadIdx.x % width, part = threadIdx.x / width;
    for (u64 row = blockIdx.x; row < heads * group * queries; row += gridDim.x) {
        const u64 cache = row / (group * queries) * capacity, end = reach(row, queries, positions, causal);
        if (threadIdx.x < head_dim) query[threadIdx.x] = wide(q[row * head_dim + threadIdx.x]) * (W)scale;
        __syncthreads();
        W sum = 0, largest = -(W)RSB_INFINITY, total = 0;
        for (u64 start = 0; start < end; start += RSB_THREADS) {
            const u64 count = end - start < RSB_THREADS ? end - start : RSB_THREADS;
            W score = -(W)RSB_INFINITY;
            if (threadIdx.x < count) {
                const T *key = k + (cache + start + threadIdx.x) * head_dim;
                score = 0;
                for (unsigned int d = 0; d < head_dim; d++) score += query[d] * wide(key[d]);
            }
            const W most = Larger()(largest, across_block(score, Larger()));
            const W power = exponential(score - most), factor = exponential(largest - most);
            shares[threadIdx.x] = power;
            total = total * factor + across_block(power, Plus());
            largest = most;
            sum *= factor;
            if (element < head_dim)
                for (u64 j = part; j < count; j += parts)
                    sum += shares[j] * wide(v[(cache + start + j) * head_dim + element]);
        }
        __syncthreads();
        shares[threadIdx.x] = sum;
        __syncthreads();
        if (threadIdx.x < head_dim) {
            for (unsigned int i = 1; i < parts; i++) sum += shares[i * width + threadIdx.x];
            y[row * head_dim + threadIdx.x] = narrow<T>(sum / total);
        }
        __syncthreads();
    }
}

#define RSB_ATTENTION(NAME, T) \
    RSB_KERNEL(RSB_THREADS) \
    rsb_attention_##NAME( \
        const T *q, const T *k, const T *v, T *y, u64 heads, u64 group, u64 queries, u64 positions, u64 capacity, \
        u64 head_dim, u64 causal, double scale) { \
        attention<T>(q, k, v, y, heads, group, queries, positions, capacity, head_dim, causal, scale); \
    } \
    RSB_KERNEL(RSB_THREADS) \
    rsb_attention_row_##NAME( \
        const T *q, const T *k, const T *v, T *y, u64 heads, u64 group, u64 queries, u64 positions, u64 capacity, \
        u64 head_dim, u64 causal, double scale) { \
        attention_row<T>(q, k, v, y, heads, group, queries, positions, capacity, head_dim, causal, scale); \
    }

RSB_ATTENTION(f64, double)
RSB_ATTENTION(f32, float)
RSB_ATTENTION(f16, F16)
RSB_ATTENTION(bf16, Bf16)
