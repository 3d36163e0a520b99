// Matrix units of each architecture, and the kernels. Compiled after matrix.cu.

#ifdef RSB_WAVE
#if RSB_AMD
typedef RSB_VECTOR(float, 2) Float2;
typedef RSB_VECTOR(float, 4) Float4;
typedef RSB_VECTOR(float, 8) Float8;
typedef RSB_VECTOR(int, 2) Int2;
typedef RSB_VECTOR(int, 4) Int4;
typedef RSB_VECTOR(int, 8) Int8;
typedef RSB_VECTOR(short, 2) Short2;
typedef RSB_VECTOR(short, 4) Short4;
typedef RSB_VECTOR(short, 8) Short8;
typedef RSB_VECTOR(short, 16) Short16;
typedef RSB_VECTOR(_Float16, 4) Half4;
typedef RSB_VECTOR(_Float16, 8) Half8;
typedef RSB_VECTOR(_Float16, 16) Half16;
#endif

#ifdef RSB_MMA
#define RSB_HAS_F64 1
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// The instruction `wgmma` of four warps computes 64 x 64 sums of 32 bits at a time: A comes from
// registers, B from shared memory. Hopper's matrix units reach their full rate only with it.
#define RSB_WGMMA 1
#define RSB_ROW(I) \
    "%" #I "0, %" #I "1, %" #I "2, %" #I "3, %" #I "4, %" #I "5, %" #I "6, %" #I "7, %" #I "8, %" #I "9, "
#define RSB_SUMS "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, " RSB_ROW(1) RSB_ROW(2) "%30, %31}, {%32, %33, %34, %35}, %36, "
#define RSB_EIGHT(C, I) C(I), C(I + 1), C(I + 2), C(I + 3), C(I + 4), C(I + 5), C(I + 6), C(I + 7)
#define RSB_FLOAT(I) "+f"(c[I])
#define RSB_INT(I) "+r"(c[I])
// INSTRUCTIONS is for eight pieces of work. MORE is `.sp` if A is sparse, and PAIRS its operand for
// the indices of kept elements.
#define RSB_WGMMA_UNIT(NAME, ELEMENT, SUM, REGISTER, INSTRUCTIONS, MORE, SHAPE, PAIRS, SCALES) \
    struct NAME { \
        typedef RSB_VECTOR(unsigned int, 4) Operand; \
        typedef ELEMENT Element; \
        typedef RSB_VECTOR(SUM, 32) Sum; \
        enum { instructions_for_eight = INSTRUCTIONS }; \
        static __device__ inline void multiply(const Operand &a, u64 b, Sum &c, unsigned int pairs) { \
            asm volatile("{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async" MORE ".sync.aligned." SHAPE \
                         " " RSB_SUMS PAIRS "p" SCALES "; }" \
                         : RSB_EIGHT(REGISTER, 0), RSB_EIGHT(REGISTER, 8), RSB_EIGHT(REGISTER, 16), \
                           RSB_EIGHT(REGISTER, 24) \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(pairs)); \
        } \
    };
#define RSB_WGMMA_UNITS(NAME, ELEMENT, SUM, REGISTER, INSTRUCTIONS, DENSE, SPARSE, SCALES) \
    RSB_WGMMA_UNIT(Unit##NAME, ELEMENT, SUM, REGISTER, 2 * INSTRUCTIONS, "", DENSE, "", SCALES) \
    RSB_WGMMA_UNIT(Sparse##NAME, ELEMENT, SUM, REGISTER, INSTRUCTIONS, ".sp", SPARSE, "%37, 0, ", SCALES)
RSB_WGMMA_UNITS(F16, F16, float, RSB_FLOAT, 6, "m64n64k16.f32.f16.f16", "m64n64k32.f32.f16.f16", ", 1, 1, 0")
RSB_WGMMA_UNITS(Bf16, Bf16, float, RSB_FLOAT, 6, "m64n64k16.f32.bf16.bf16", "m64n64k32.f32.bf16.bf16", ", 1, 1, 0")
RSB_WGMMA_UNITS(Tf32, Tf32, float, RSB_FLOAT, 12, "m64n64k8.f32.tf32.tf32", "m64n64k16.f32.tf32.tf32", ", 1, 1")
RSB_WGMMA_UNITS(Fp8, Fp8, float, RSB_FLOAT, 3, "m64n64k32.f32.e4m3.e4m3", "m64n64k64.f32.e4m3.e4m3", ", 1, 1")
RSB_WGMMA_UNITS(Bf8, Bf8, float, RSB_FLOAT, 3, "m64n64k32.f32.e5m2.e5m2", "m64n64k64.f32.e5m2.e5m2", ", 1, 1")
RSB_WGMMA_UNITS(I8, signed char, int, RSB_INT, 3, "m64n64k32.s32.s8.s8", "m64n64k64.s32.s8.s8", "")
#define RSB_HAS_FP8 1

// Like peak_matrix, for four warps together. The layout of B in shared memory does not matter: all
// of it is filled with elements, and -A·B subtracts from the sums what A·B adds.
template <class U, class T> __device__ inline void peak_group(T *result, u64 pieces, T one, T wrong) {
    // At the start, so that an error that another group reports is not overwritten.
    if (thread_index() == 0) *result = one;
    typedef typename U::Element E;
    __shared__ alignas(128) E tile[4096 / sizeof(E)];
    for (int i = threadIdx.x; i < (int)(4096 / sizeof(E)); i += RSB_THREADS)
        tile[i] = element<E>(mixed(i), false);
    __syncthreads();
    asm volatile("fence.proxy.async;" ::: "memory");
    // Address, then strides of 128 and 256 bytes between blocks of 8 x 16 bytes, all in units of 16 bytes.
    const u64 b = (u64)((__cvta_generic_to_shared(tile) & 0x3ffff) >> 4) | 8ull << 16 | 16ull << 32;
    const u64 group = thread_index() / 128, groups = thread_count() / 128;
    const u64 mine = pieces / groups + (group < pieces % groups ? 1 : 0);
    const typename U::Operand a = operand<typename U::Operand, E>(0, false);
    const typename U::Operand minus_a = operand<typename U::Operand, E>(0, true);
    typename U::Sum sum;
    for (int i = 0; i < 32; i++) sum[i] = 1;
    const unsigned int pairs = kept_pairs();
    // Rounded up: additional work is not counted.
    const u64 turns = (mine * U::instructions_for_eight + 63) / 64;
    for (u64 turn = 0; turn < turns; turn++) {
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
        for (int i = 0; i < 4; i++) {
            U::multiply(a, b, sum, pairs);
            U::multiply(minus_a, b, sum, pairs);
        }
        asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    }
    bool right = true;
    for (int i = 0; i < 32; i++) right = right && is_one<E>(sum[i], 8 * turns);
    if (!right) *result = wrong;
}
#define RSB_PEAK_MATRIX peak_group
#else
// The instruction `mma` of a warp. If A is dense, both operands have A's number of registers, of
// which B uses the first. B lists the registers of the operand B, and MORE is what follows C: the
// indices of kept elements of a sparse A, or block scales, all 1.
#define RSB_MMA_UNIT(NAME, BOTH, ELEMENT, SUM, LETTER, INSTRUCTIONS, SHAPE, B, MORE) \
    struct NAME { \
        typedef RSB_VECTOR(unsigned int, 4) Operand; \
        typedef Operand Other; \
        typedef ELEMENT Element; \
        typedef RSB_VECTOR(SUM, 4) Sum; \
        enum { lanes = 4, instructions = INSTRUCTIONS }; \
        typedef BOTH<NAME> Both; \
        static __device__ inline Sum multiply(Operand a, Operand b, Sum c, unsigned int more = 0x7f7f7f7f) { \
            asm volatile("mma" SHAPE " {%0, %1, %2, %3}, {%4, %5, %6, %7}, " B ", {%0, %1, %2, %3}" MORE ";" \
                         : "+" LETTER(c[0]), "+" LETTER(c[1]), "+" LETTER(c[2]), "+" LETTER(c[3]) \
                         : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]), \
                           "r"(more)); \
            return c; \
        } \
    };
// With ordered metadata, which compilers support since CUDA 12.5; unordered metadata is slow on newer GPUs.
#if __CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 5)
#define RSB_SP ".sp::ordered_metadata.sync.aligned."
#else
#define RSB_SP ".sp.sync.aligned."
#endif
#define RSB_MMA_UNITS(NAME, ELEMENT, SUM, LETTER, INSTRUCTIONS, DENSE, SPARSE, TYPES) \
    RSB_MMA_UNIT(Unit##NAME, Factors, ELEMENT, SUM, LETTER, 2 * INSTRUCTIONS, \
                 ".sync.aligned." DENSE ".row.col." TYPES, "{%8, %9}", "") \
    RSB_MMA_UNIT(Sparse##NAME, SparseFactors, ELEMENT, SUM, LETTER, INSTRUCTIONS, RSB_SP SPARSE ".row.col." TYPES, \
                 "{%8, %9, %10, %11}", ", %12, 0x0")
RSB_MMA_UNITS(F16, F16, float, "f", 24, "m16n8k16", "m16n8k32", "f32.f16.f16.f32")
RSB_MMA_UNITS(Bf16, Bf16, float, "f", 24, "m16n8k16", "m16n8k32", "f32.bf16.bf16.f32")
RSB_MMA_UNITS(Tf32, Tf32, float, "f", 48, "m16n8k8", "m16n8k16", "f32.tf32.tf32.f32")
RSB_MMA_UNITS(I8, signed char, int, "r", 12, "m16n8k32", "m16n8k64", "s32.s8.s8.s32")
// Supported by the compiler since CUDA 12.4.
#if __CUDA_ARCH__ >= 890 && (__CUDACC_VER_MAJOR__ > 12 || (__CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 4))
#define RSB_HAS_FP8 1
RSB_MMA_UNITS(Fp8, Fp8, float, "f", 12, "m16n8k32", "m16n8k64", "f32.e4m3.e4m3.f32")
RSB_MMA_UNITS(Bf8, Bf8, float, "f", 12, "m16n8k32", "m16n8k64", "f32.e5m2.e5m2.f32")
#endif
#if __CUDA_ARCH__ < 900
#define RSB_HAS_I4 1
RSB_MMA_UNITS(I4, I4Pair, int, "r", 6, "m16n8k64", "m16n8k128", "s32.s4.s4.s32")
#endif
// Only for the architecture family sm_120f; supported since CUDA 12.9.
#if __CUDA_ARCH__ >= 1200 && defined(__CUDA_ARCH_FAMILY_SPECIFIC__)
#define RSB_HAS_FP4 1
RSB_MMA_UNIT(UnitFp4, Factors, Fp4Pair, float, "f", 12,
             ".sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0", "{%8, %9}",
             ", %12, {0, 0}, %12, {0, 0}")
#endif
#endif
struct UnitF64 {
#if __CUDA_ARCH__ >= 900
    typedef RSB_VECTOR(double, 8) Operand;
    typedef double Element;
    typedef RSB_VECTOR(double, 4) Sum;
    enum { lanes = 4, instructions = 48 };
    typedef Factors<UnitF64> Both;
    static __device__ inline Sum multiply(const Operand &a, const Operand &b, Sum c) {
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, "
                     "{%4, %5, %6, %7, %8, %9, %10, %11}, {%12, %13, %14, %15}, {%0, %1, %2, %3};"
                     : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                     : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]),
                       "d"(b[0]), "d"(b[1]), "d"(b[2]), "d"(b[3]));
        return c;
    }
#else
    typedef RSB_VECTOR(double, 1) Operand;
    typedef double Element;
    typedef RSB_VECTOR(double, 2) Sum;
    enum { lanes = 2, instructions = 384 };
    typedef Factors<UnitF64> Both;
    static __device__ inline Sum multiply(Operand a, Operand b, Sum c) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                     : "+d"(c[0]), "+d"(c[1])
                     : "d"(a[0]), "d"(b[0]));
        return c;
    }
#endif
};
#elif defined(RSB_MFMA)
#define RSB_SMFMAC(NAME, OPERAND, OTHER, ELEMENT, SUM, INSTRUCTIONS, WHAT) \
    RSB_SPARSE_UNIT(NAME, OPERAND, OTHER, ELEMENT, SUM, 4, INSTRUCTIONS, \
                    __builtin_amdgcn_smfmac_##WHAT(a, b, c, pairs, 0, 0))
RSB_UNIT(UnitF32, float, float, Float4, 4, 96, __builtin_amdgcn_mfma_f32_16x16x4f32(a, b, c, 0, 0, 0))
RSB_KERNEL(RSB_THREADS) rsb_peak_matrix_f32(float *result, u64 pieces) {
    peak_matrix<UnitF32>(result, pieces, 1.0f, -1.0f);
}
#ifndef __gfx908__
typedef RSB_VECTOR(double, 4) Double4;
#define RSB_HAS_F64 1
RSB_UNIT(UnitF64, double, double, Double4, 4, 96, __builtin_amdgcn_mfma_f64_16x16x4f64(a, b, c, 0, 0, 0))
#endif
#if defined(__gfx950__)
#define RSB_HAS_FP6 1
#define RSB_HAS_FP4 1
typedef RSB_VECTOR(__bf16, 8) Brain8;
typedef RSB_VECTOR(__bf16, 16) Brain16;
RSB_UNIT(UnitF16, Half8, F16, Float4, 4, 12, __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, c, 0, 0, 0))
RSB_UNIT(UnitBf16, Brain8, Bf16, Float4, 4, 12, __builtin_amdgcn_mfma_f32_16x16x32_bf16(a, b, c, 0, 0, 0))
RSB_UNIT(UnitI8, Int4, signed char, Int4, 4, 6, __builtin_amdgcn_mfma_i32_16x16x64_i8(a, b, c, 0, 0, 0))
// Types by their codes, without scales. fp6 and fp4 use the first six and four registers.
#define RSB_F8F6F4(NAME, ELEMENT, TYPE) \
    RSB_UNIT(NAME, Int8, ELEMENT, Float4, 4, 3, \
             __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(a, b, c, TYPE, TYPE, 0, 0, 0, 0))
RSB_F8F6F4(UnitFp8, Fp8, 0)
RSB_F8F6F4(UnitBf8, Bf8, 1)
RSB_F8F6F4(UnitFp6, Fp6Row, 2)
RSB_F8F6F4(UnitFp4, Fp4Pair, 4)
RSB_SMFMAC(SparseF16, Half8, Half16, F16, Float4, 6, f32_16x16x64_f16)
RSB_SMFMAC(SparseBf16, Brain8, Brain16, Bf16, Float4, 6, f32_16x16x64_bf16)
RSB_SMFMAC(SparseFp8, Int4, Int8, Fp8, Float4, 3, f32_16x16x128_fp8_fp8)
RSB_SMFMAC(SparseBf8, Int4, Int8, Bf8, Float4, 3, f32_16x16x128_bf8_bf8)
RSB_SMFMAC(SparseI8, Int4, Int8, signed char, Int4, 3, i32_16x16x128_i8)
#else
RSB_UNIT(UnitF16, Half4, F16, Float4, 4, 24, __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0))
#if defined(__gfx908__)
RSB_UNIT(UnitBf16, Short2, Bf16, Float4, 4, 48, __builtin_amdgcn_mfma_f32_16x16x8bf16(a, b, c, 0, 0, 0))
#else
RSB_UNIT(UnitBf16, Short4, Bf16, Float4, 4, 24, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0))
#endif
#ifdef RSB_CDNA_3
RSB_UNIT(UnitTf32, Float2, Tf32, Float4, 4, 48, __builtin_amdgcn_mfma_f32_16x16x8_xf32(a, b, c, 0, 0, 0))
RSB_UNIT(UnitFp8, long, Fp8, Float4, 4, 12, __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a, b, c, 0, 0, 0))
RSB_UNIT(UnitBf8, long, Bf8, Float4, 4, 12, __builtin_amdgcn_mfma_f32_16x16x32_bf8_bf8(a, b, c, 0, 0, 0))
RSB_SMFMAC(SparseF16, Half4, Half8, F16, Float4, 12, f32_16x16x32_f16)
RSB_SMFMAC(SparseBf16, Short4, Short8, Bf16, Float4, 12, f32_16x16x32_bf16)
RSB_SMFMAC(SparseFp8, Int2, Int4, Fp8, Float4, 6, f32_16x16x64_fp8_fp8)
RSB_SMFMAC(SparseBf8, Int2, Int4, Bf8, Float4, 6, f32_16x16x64_bf8_bf8)
RSB_SMFMAC(SparseI8, Int2, Int4, signed char, Int4, 6, i32_16x16x64_i8)
#endif
#if defined(__gfx908__) || defined(__gfx90a__)
RSB_UNIT(UnitI8, int, signed char, Int4, 4, 24, __builtin_amdgcn_mfma_i32_16x16x16i8(a, b, c, 0, 0, 0))
#else
RSB_UNIT(UnitI8, long, signed char, Int4, 4, 12, __builtin_amdgcn_mfma_i32_16x16x32_i8(a, b, c, 0, 0, 0))
#endif
#endif
#elif RSB_WMMA == 11
RSB_UNIT(UnitF16, Half16, F16, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c))
RSB_UNIT(UnitBf16, Short16, Bf16, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c))
RSB_UNIT(UnitI8, Int4, signed char, Int8, 8, 24, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a, true, b, c, false))
RSB_UNIT(UnitI4, Int2, I4Pair, Int8, 8, 24, __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(true, a, true, b, c, false))
#else
#define RSB_WMMA_UNIT(NAME, OPERAND, ELEMENT, WHAT) \
    RSB_UNIT(NAME, OPERAND, ELEMENT, Float8, 8, 24, __builtin_amdgcn_wmma_f32_16x16x16_##WHAT##_w32_gfx12(a, b, c))
RSB_WMMA_UNIT(UnitF16, Half8, F16, f16)
RSB_WMMA_UNIT(UnitBf16, Short8, Bf16, bf16)
RSB_WMMA_UNIT(UnitFp8, Int2, Fp8, fp8_fp8)
RSB_WMMA_UNIT(UnitBf8, Int2, Bf8, bf8_bf8)
RSB_UNIT(
    UnitI8, Int2, signed char, Int8, 8, 24, __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a, true, b, c, false))
RSB_UNIT(
    UnitI4, Int2, I4Pair, Int8, 8, 12, __builtin_amdgcn_wmma_i32_16x16x32_iu4_w32_gfx12(true, a, true, b, c, false))
#define RSB_SWMMAC(NAME, OPERAND, OTHER, ELEMENT, WHAT) \
    RSB_SPARSE_UNIT(NAME, OPERAND, OTHER, ELEMENT, Float8, 8, 12, \
                    __builtin_amdgcn_swmmac_f32_16x16x32_##WHAT##_w32(a, b, c, pairs))
RSB_SWMMAC(SparseF16, Half8, Half16, F16, f16)
RSB_SWMMAC(SparseBf16, Short8, Short16, Bf16, bf16)
RSB_SWMMAC(SparseFp8, Int2, Int4, Fp8, fp8_fp8)
RSB_SWMMAC(SparseBf8, Int2, Int4, Bf8, bf8_bf8)
RSB_SPARSE_UNIT(SparseI8, Int2, Int4, signed char, Int8, 8, 12,
                __builtin_amdgcn_swmmac_i32_16x16x32_iu8_w32(true, a, true, b, c, pairs, false))
RSB_SPARSE_UNIT(SparseI4, Int2, Int4, I4Pair, Int8, 8, 6,
                __builtin_amdgcn_swmmac_i32_16x16x64_iu4_w32(true, a, true, b, c, pairs, false))
#endif

#ifndef RSB_PEAK_MATRIX
#define RSB_PEAK_MATRIX peak_matrix
#endif
// The host starts four blocks per compute unit. They run two or four at a time, so that none is left over.
#if RSB_AMD
#define RSB_PEAK_BLOCK RSB_THREADS
#else
#define RSB_PEAK_BLOCK RSB_THREADS, 2
#endif

#ifdef RSB_HAS_F64
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_f64(double *result, u64 pieces) {
    peak_matrix<UnitF64>(result, pieces, 1.0, -1.0);
}
#endif
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_f16(F16 *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitF16>(result, pieces, narrow<F16>(1.0f), narrow<F16>(-1.0f));
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_bf16(Bf16 *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitBf16>(result, pieces, narrow<Bf16>(1.0f), narrow<Bf16>(-1.0f));
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_i8(signed char *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitI8>(result, pieces, (signed char)1, (signed char)-1);
}
// Types that no other kernel uses report the result in f32.
#if defined(RSB_CDNA_3) || defined(RSB_MMA)
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_tf32(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitTf32>(result, pieces, 1.0f, -1.0f);
}
#endif
#ifdef RSB_HAS_FP8
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_fp8(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitFp8>(result, pieces, 1.0f, -1.0f);
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_bf8(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitBf8>(result, pieces, 1.0f, -1.0f);
}
#endif
#ifdef RSB_HAS_FP6
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_fp6(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitFp6>(result, pieces, 1.0f, -1.0f);
}
#endif
#ifdef RSB_HAS_FP4
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_fp4(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitFp4>(result, pieces, 1.0f, -1.0f);
}
#endif
#if defined(RSB_WMMA) || defined(RSB_HAS_I4)
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_matrix_i4(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<UnitI4>(result, pieces, 1.0f, -1.0f);
}
#endif

#ifdef RSB_SPARSE
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_sparse_f16(F16 *result, u64 pieces) {
    RSB_PEAK_MATRIX<SparseF16>(result, pieces, narrow<F16>(1.0f), narrow<F16>(-1.0f));
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_sparse_bf16(Bf16 *result, u64 pieces) {
    RSB_PEAK_MATRIX<SparseBf16>(result, pieces, narrow<Bf16>(1.0f), narrow<Bf16>(-1.0f));
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_sparse_i8(signed char *result, u64 pieces) {
    RSB_PEAK_MATRIX<SparseI8>(result, pieces, (signed char)1, (signed char)-1);
}
#ifdef RSB_MMA
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_sparse_tf32(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<SparseTf32>(result, pieces, 1.0f, -1.0f);
}
#endif
#ifdef RSB_HAS_FP8
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_sparse_fp8(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<SparseFp8>(result, pieces, 1.0f, -1.0f);
}
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_sparse_bf8(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<SparseBf8>(result, pieces, 1.0f, -1.0f);
}
#endif
#if RSB_WMMA == 12 || defined(RSB_HAS_I4)
RSB_KERNEL(RSB_PEAK_BLOCK) rsb_peak_sparse_i4(float *result, u64 pieces) {
    RSB_PEAK_MATRIX<SparseI4>(result, pieces, 1.0f, -1.0f);
}
#endif
#endif
#endif
