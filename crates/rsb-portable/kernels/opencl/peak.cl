// The highest arithmetic rate: multiply-adds x = x / 2 + 1 / 2 in 12 chains of registers. A piece of work is 16 steps of
// all chains on 64 lanes: 24576 operations. Chains begin near 1, each elsewhere so that none can stand for another, none
// at 1 itself, which a compiler would not compute at all, and end at 1.

#if defined(RSB_F16)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half Scalar;
#define ROOM 0x1p-9f
#elif defined(RSB_F64)
typedef double Scalar;
#define ROOM 0x1p-44
#else
typedef float Scalar;
#define ROOM 0x1p-20f
#endif

#if RSB_WIDTH == 1
typedef Scalar Lanes;
#elif defined(RSB_F64)
typedef PASTE(double, RSB_WIDTH) Lanes;
#elif defined(RSB_F16)
typedef PASTE(half, RSB_WIDTH) Lanes;
#else
typedef PASTE(float, RSB_WIDTH) Lanes;
#endif

// Work-items that do a piece together.
#define ITEMS (64 / RSB_WIDTH)
#define STEP(X) X = mad(X, half_, half_)
#define STEPS \
    STEP(a), STEP(b), STEP(c), STEP(d), STEP(e), STEP(f), STEP(g), STEP(h), STEP(i), STEP(j), STEP(k), STEP(l)
#define BEGIN(N) (Lanes)((Scalar)(1 - N * ROOM))

SHARING kernel void rsb_peak_vector(global Scalar *result, ulong pieces) {
    // At the start, so that what another work-group found wrong is said after it.
    if (get_global_id(0) == 0) *result = (Scalar)1.0f;
    const ulong team = get_global_id(0) / ITEMS, teams = get_global_size(0) / ITEMS;
    const ulong mine = pieces / teams + (team < pieces % teams ? 1 : 0);
    const Lanes half_ = (Lanes)((Scalar)0.5f);
    Lanes a = BEGIN(1), b = BEGIN(2), c = BEGIN(3), d = BEGIN(4), e = BEGIN(5), f = BEGIN(6);
    Lanes g = BEGIN(7), h = BEGIN(8), i = BEGIN(9), j = BEGIN(10), k = BEGIN(11), l = BEGIN(12);
    for (ulong piece = 0; piece < mine; piece++) {
#pragma unroll
        for (int s = 0; s < 16; s++) STEPS;
    }
    const Lanes one = (Lanes)((Scalar)1.0f);
    const Lanes off = fabs(a - one) + fabs(b - one) + fabs(c - one) + fabs(d - one) + fabs(e - one) + fabs(f - one) +
        fabs(g - one) + fabs(h - one) + fabs(i - one) + fabs(j - one) + fabs(k - one) + fabs(l - one);
#if RSB_WIDTH == 1
    const bool right = off == (Scalar)0.0f;
#else
    const bool right = !any(off != (Lanes)((Scalar)0.0f));
#endif
    if (mine > 0 && !right) *result = (Scalar)-1.0f;
}
