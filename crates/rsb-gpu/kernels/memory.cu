// Memory traffic as in the STREAM benchmark, a pointer chase, a flush and an empty kernel.

// XOR of the 16-byte words of a region and of the remaining bytes.
template <bool AROUND> __device__ inline u64 xor_of(const unsigned char *a, u64 bytes) {
    const Pack<u64> *packs = (const Pack<u64> *)a;
    u64 sum = 0;
    for (u64 i = thread_index(); i < bytes / 16; i += thread_count()) {
        Pack<u64> pack = load<u64, AROUND>(packs + i);
        sum ^= pack.v[0] ^ pack.v[1];
    }
    if (thread_index() == 0)
        for (u64 at = bytes / 16 * 16; at < bytes; at++) sum ^= (u64)a[at] << (8 * (at % 8));
    return sum;
}

template <bool AROUND>
__device__ inline void read(const unsigned char *a, u64 bytes, u64 *partials, unsigned int *counter, u64 *result) {
    u64 sum = across_block(xor_of<AROUND>(a, bytes), Xor());
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
    if (!last_block(counter)) return;
    u64 total = 0;
    for (unsigned int i = threadIdx.x; i < gridDim.x; i += RSB_THREADS) total ^= ((volatile u64 *)partials)[i];
    total = across_block(total, Xor());
    if (threadIdx.x == 0) *result = total;
}

template <bool AROUND> __device__ inline void copy(const unsigned char *a, unsigned char *b, u64 bytes) {
    for (u64 i = thread_index(); i < bytes / 16; i += thread_count())
        store<u64, AROUND>((Pack<u64> *)b + i, load<u64, AROUND>((const Pack<u64> *)a + i));
    if (thread_index() == 0)
        for (u64 at = bytes / 16 * 16; at < bytes; at++) b[at] = a[at];
}

template <class T, bool AROUND> __device__ inline void write(T *a, u64 n, double s) {
    const T value = narrow<T>((typename Wide<T>::type)s);
    Pack<T> pack;
    for (int j = 0; j < Pack<T>::count; j++) pack.v[j] = value;
    const u64 packs = n / Pack<T>::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) store<T, AROUND>((Pack<T> *)a + i, pack);
    for (u64 i = packs * Pack<T>::count + thread_index(); i < n; i += thread_count()) a[i] = value;
}

template <class T, bool AROUND> __device__ inline void read_write(T *a, u64 n, double s) {
    typedef typename Wide<T>::type W;
    const u64 packs = n / Pack<T>::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        Pack<T> x = load<T, AROUND>((const Pack<T> *)a + i);
        for (int j = 0; j < Pack<T>::count; j++) x.v[j] = narrow<T>((W)s * wide(x.v[j]));
        store<T, AROUND>((Pack<T> *)a + i, x);
    }
    for (u64 i = packs * Pack<T>::count + thread_index(); i < n; i += thread_count()) a[i] = narrow<T>((W)s * wide(a[i]));
}

template <class T, bool AROUND> __device__ inline void triad(const T *a, const T *b, T *c, u64 n, double s) {
    typedef typename Wide<T>::type W;
    const u64 packs = n / Pack<T>::count;
    for (u64 i = thread_index(); i < packs; i += thread_count()) {
        Pack<T> x = load<T, AROUND>((const Pack<T> *)a + i), y = load<T, AROUND>((const Pack<T> *)b + i), z;
        for (int j = 0; j < Pack<T>::count; j++) z.v[j] = narrow<T>(wide(x.v[j]) + (W)s * wide(y.v[j]));
        store<T, AROUND>((Pack<T> *)c + i, z);
    }
    for (u64 i = packs * Pack<T>::count + thread_index(); i < n; i += thread_count())
        c[i] = narrow<T>(wide(a[i]) + (W)s * wide(b[i]));
}

RSB_KERNEL(RSB_THREADS)
rsb_read(const unsigned char *a, u64 bytes, u64 *partials, unsigned int *counter, u64 *result) {
    read<false>(a, bytes, partials, counter, result);
}
RSB_KERNEL(RSB_THREADS)
rsb_read_nt(const unsigned char *a, u64 bytes, u64 *partials, unsigned int *counter, u64 *result) {
    read<true>(a, bytes, partials, counter, result);
}
RSB_KERNEL(1024) rsb_copy(const unsigned char *a, unsigned char *b, u64 bytes) { copy<false>(a, b, bytes); }
RSB_KERNEL(1024) rsb_copy_nt(const unsigned char *a, unsigned char *b, u64 bytes) { copy<true>(a, b, bytes); }

#define RSB_STREAM(NAME, T) \
    RSB_KERNEL(1024) rsb_write_##NAME(T *a, u64 n, double s) { write<T, false>(a, n, s); } \
    RSB_KERNEL(1024) rsb_write_nt_##NAME(T *a, u64 n, double s) { write<T, true>(a, n, s); } \
    RSB_KERNEL(1024) rsb_read_write_##NAME(T *a, u64 n, double s) { read_write<T, false>(a, n, s); } \
    RSB_KERNEL(1024) rsb_read_write_nt_##NAME(T *a, u64 n, double s) { read_write<T, true>(a, n, s); } \
    RSB_KERNEL(1024) rsb_triad_##NAME(const T *a, const T *b, T *c, u64 n, double s) { \
        triad<T, false>(a, b, c, n, s); \
    } \
    RSB_KERNEL(1024) rsb_triad_nt_##NAME(const T *a, const T *b, T *c, u64 n, double s) { \
        triad<T, true>(a, b, c, n, s); \
    }

RSB_STREAM(f64, double)
RSB_STREAM(f32, float)
RSB_STREAM(f16, F16)
RSB_STREAM(bf16, Bf16)

// Swaps rows and columns of vectors of `width` elements. The result has space for `capacity` rows,
// and starts at `position`.
template <class T>
__device__ inline void rearrange(
    const T *x, T *y, u64 batch, u64 rows, u64 columns, u64 width, u64 capacity, u64 position) {
    for (u64 at = thread_index(); at < batch * rows * columns * width; at += thread_count()) {
        const u64 within = at % width, column = at / width % columns, row = at / width / columns % rows;
        const u64 outer = at / width / columns / rows;
        y[((outer * columns + column) * capacity + position + row) * width + within] = x[at];
    }
}

// The same, and rotates each two neighboring elements, as a complex number, by the one at their
// place in `angles`, which has a row for each of `rows`.
template <class T>
__device__ inline void rotate(
    const T *x, const T *angles, T *y, u64 batch, u64 rows, u64 columns, u64 width, u64 capacity, u64 position) {
    typedef typename Wide<T>::type W;
    for (u64 pair = thread_index(); pair < batch * rows * columns * width / 2; pair += thread_count()) {
        const u64 at = 2 * pair;
        const u64 within = at % width, column = at / width % columns, row = at / width / columns % rows;
        const u64 outer = at / width / columns / rows;
        const T *angle = angles + row * width + within;
        T *to = y + ((outer * columns + column) * capacity + position + row) * width + within;
        const W first = wide(x[at]), second = wide(x[at + 1]), cosine = wide(angle[0]), sine = wide(angle[1]);
        to[0] = narrow<T>(first * cosine - second * sine);
        to[1] = narrow<T>(first * sine + second * cosine);
    }
}

// Copies rows of `x` by their indices. For an index out of range the output row stays unchanged.
template <class T>
__device__ inline void gather(const T *x, const u64 *index, T *y, u64 of, u64 rows, u64 width) {
    for (u64 at = thread_index(); at < rows * width; at += thread_count()) {
        const u64 from = index[at / width];
        if (from < of) y[at] = x[from * width + at % width];
    }
}

#define RSB_REARRANGE(NAME, T) \
    RSB_KERNEL(1024) \
    rsb_rearrange_##NAME( \
        const T *x, T *y, u64 batch, u64 rows, u64 columns, u64 width, u64 capacity, u64 position) { \
        rearrange<T>(x, y, batch, rows, columns, width, capacity, position); \
    } \
    RSB_KERNEL(1024) \
    rsb_rotate_##NAME( \
        const T *x, const T *angles, T *y, u64 batch, u64 rows, u64 columns, u64 width, u64 capacity, u64 position) { \
        rotate<T>(x, angles, y, batch, rows, columns, width, capacity, position); \
    } \
    RSB_KERNEL(1024) rsb_gather_##NAME(const T *x, const u64 *index, T *y, u64 of, u64 rows, u64 width) { \
        gather<T>(x, index, y, of, rows, width); \
    }

RSB_REARRANGE(f64, double)
RSB_REARRANGE(f32, float)
RSB_REARRANGE(f16, F16)
RSB_REARRANGE(bf16, Bf16)

// Hides from AMD's compiler that all threads read at the same offset. Otherwise a uniform address
// without a store in the loop is read by `s_load` through the scalar data cache (LLVM, "Uniform
// loads" of AMDGPUAnnotateUniformValues). The offset is hidden, not the address: an address
// computed from integers is no longer known to be global memory.
__device__ inline u64 in_vector_registers(u64 offset) {
#if RSB_AMD
    unsigned int low = (unsigned int)offset, high = (unsigned int)(offset >> 32);
    asm volatile("" : "+v"(low), "+v"(high));
    return (u64)high << 32 | low;
#else
    return offset;
#endif
}

// One thread follows a cycle of offsets and continues where the last launch ended.
RSB_KERNEL(1) rsb_pointer_chase(const unsigned char *nodes, u64 *position, u64 accesses) {
    u64 at = *position;
    for (u64 i = 0; i < accesses; i++) at = *(const u64 *)(nodes + in_vector_registers(at));
    *position = at;
}

// The same, left to the compiler: on AMD through the scalar data cache.
RSB_KERNEL(1) rsb_pointer_chase_scalar(const unsigned char *nodes, u64 *position, u64 accesses) {
    u64 at = *position;
    for (u64 i = 0; i < accesses; i++) at = *(const u64 *)(nodes + at);
    *position = at;
}

// Reads and writes every word, so that earlier data does not stay in any cache.
RSB_KERNEL(1024) rsb_flush(u64 *words, u64 n) {
    for (u64 i = thread_index(); i < n; i += thread_count()) words[i] += 1;
}

RSB_KERNEL(1024) rsb_empty() {}
