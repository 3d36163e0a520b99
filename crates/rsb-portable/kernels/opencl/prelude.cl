// Shared definitions of all kernels, prepended to each source. The host defines one of RSB_F64,
// RSB_F32, RSB_F16, RSB_BF16 and RSB_I8, the type for which the file is compiled, and RSB_WIDTH,
// the numbers per register of the device.
//
// A pack is 16 bytes of elements, widened to the type of the computation. Loading and storing
// halves is part of the language and needs no extension.

#define RSB_THREADS 256
#define SHARING __attribute__((reqd_work_group_size(RSB_THREADS, 1, 1)))
#define PASTE2(A, B) A##B
#define PASTE(A, B) PASTE2(A, B)

#if defined(RSB_F64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double Element;
typedef double Wide;
typedef double Product;
#define LANES 2
#elif defined(RSB_F32)
typedef float Element;
typedef float Wide;
typedef float Product;
#define LANES 4
#elif defined(RSB_F16)
typedef half Element;
typedef float Wide;
typedef half Product;
#define LANES 8
#elif defined(RSB_BF16)
typedef ushort Element;
typedef float Wide;
typedef float Product;
#define LANES 8
#else
typedef char Element;
typedef int Wide;
typedef int Product;
#define LANES 16
#endif

// Type of numeric parameters.
#if defined(RSB_F64)
typedef double Number;
#else
typedef float Number;
#endif

#if defined(RSB_F64)
typedef double2 Pack;
#elif defined(RSB_F32)
typedef float4 Pack;
#elif defined(RSB_I8)
typedef int16 Pack;
#else
typedef float8 Pack;
#endif

#if defined(RSB_BF16)
// Rounds to nearest, ties to even; NaN stays NaN.
inline ushort narrow(float x) {
    const uint bits = as_uint(x);
    return isnan(x) ? (ushort)0x7fc0 : (ushort)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
inline ushort8 narrow8(float8 x) {
    const uint8 bits = as_uint8(x);
    const uint8 rounded = (bits + (uint8)(0x7fffu) + ((bits >> (uint8)(16u)) & (uint8)(1u))) >> (uint8)(16u);
    return convert_ushort8(select(rounded, (uint8)(0x7fc0u), isnan(x)));
}
#endif

inline Wide load_one(const global Element *from, ulong i) {
#if defined(RSB_F16)
    return vload_half(i, from);
#elif defined(RSB_BF16)
    return as_float((uint)from[i] << 16);
#else
    return from[i];
#endif
}
inline void store_one(global Element *to, ulong i, Wide x) {
#if defined(RSB_F16)
    vstore_half_rte(x, i, to);
#elif defined(RSB_BF16)
    to[i] = narrow(x);
#else
    to[i] = (Element)x;
#endif
}

inline Pack load_pack(const global Element *from, ulong i) {
#if defined(RSB_F16)
    return vload_half8(i, from);
#elif defined(RSB_BF16)
    return as_float8(convert_uint8(((const global ushort8 *)from)[i]) << (uint8)(16u));
#elif defined(RSB_I8)
    return convert_int16(((const global char16 *)from)[i]);
#else
    return ((const global Pack *)from)[i];
#endif
}
inline void store_pack(global Element *to, ulong i, Pack x) {
#if defined(RSB_F16)
    vstore_half8_rte(x, i, to);
#elif defined(RSB_BF16)
    ((global ushort8 *)to)[i] = narrow8(x);
#elif defined(RSB_I8)
    ((global char16 *)to)[i] = convert_char16(x);
#else
    ((global Pack *)to)[i] = x;
#endif
}

// Stores the lanes of a pack in an array.
#define SPREAD(PACK, LANES_ARRAY) PASTE(vstore, LANES)(PACK, 0, LANES_ARRAY)

// Combines the values of all work-items with TOGETHER(a, b), always in the same order. All of them
// get the result.
#define ACROSS_GROUP(VALUE, VALUES, TOGETHER) \
    do { \
        const uint item_ = get_local_id(0); \
        barrier(CLK_LOCAL_MEM_FENCE); \
        VALUES[item_] = VALUE; \
        barrier(CLK_LOCAL_MEM_FENCE); \
        for (uint half_ = RSB_THREADS / 2; half_ > 0; half_ /= 2) { \
            if (item_ < half_) VALUES[item_] = TOGETHER(VALUES[item_], VALUES[item_ + half_]); \
            barrier(CLK_LOCAL_MEM_FENCE); \
        } \
        VALUE = VALUES[0]; \
    } while (0)

#define PLUS(A, B) ((A) + (B))
#define LARGER(A, B) ((B) > (A) ? (B) : (A))
#define XOR(A, B) ((A) ^ (B))
