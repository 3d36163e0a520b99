// Peak arithmetic rate: alternates multiply-adds x = x + u * v and x = x + a * x in 12 chains of
// registers. A piece of work is 16 steps of all chains on 64 lanes: 24576 operations. The factors
// have full mantissas, different in every chain and lane: u and v of either sign, a from -0.75 to
// -0.5. So has x, which stays below 1.2. Chains start at 0 and converge to (1 + a) * u * v / -a,
// whatever their start.

#if defined(RSB_F16)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half Scalar;
#define EPSILON 0x1p-10f
#elif defined(RSB_F64)
typedef double Scalar;
#define EPSILON 0x1p-52
#else
typedef float Scalar;
#define EPSILON 0x1p-23f
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

// Work-items that share a piece of work.
#define ITEMS (64 / RSB_WIDTH)

// Type in which results are checked: the quotient of halves would be less precise than the results.
#if defined(RSB_F64)
typedef double Checked;
#else
typedef float Checked;
#endif

// Six products of two factors, each different from its neighbor's: X(chain, u, v, a).
#define CHAINS(X) \
    X(0, p, q, r) X(1, r, s, s) X(2, p, r, r) X(3, q, s, s) X(4, p, s, r) X(5, q, r, s) \
    X(6, p, q, s) X(7, r, s, r) X(8, p, r, s) X(9, q, s, r) X(10, p, s, s) X(11, q, r, r)
#define UP(C, U, V, A) x[C] = mad(U, V, x[C]);
#define DOWN(C, U, V, A) x[C] = mad(A, x[C], x[C]);
#define ZERO(C, U, V, A) x[C] = (Lanes)((Scalar)0.0f);
#define LOOK(C, U, V, A) right = right && ended(U, V, A, x[C], room);

inline uint mixed(uint x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}
// Factors for all lanes: two of either sign, two negative ones.
inline Lanes factors(uint which) {
    Scalar lanes[RSB_WIDTH];
    for (uint i = 0; i < RSB_WIDTH; i++) {
        const uint own = 4 * ((uint)get_global_id(0) * RSB_WIDTH + i) + which;
        Checked size = (Checked)0.5f + (Checked)(mixed(own) >> 4) * (Checked)0x1p-30f;
#if defined(RSB_F64)
        size += (mixed(~own) >> 8) * 0x1p-54;
#endif
        lanes[i] = (Scalar)(which >= 2 || (mixed(own) & 1) ? -size : size);
    }
    return *(const Lanes *)lanes;
}
// Returns whether every lane of x is at the end of its chain, within `room`.
inline bool ended(Lanes u, Lanes v, Lanes a, Lanes x, Checked room) {
    bool right = true;
    for (uint i = 0; i < RSB_WIDTH; i++) {
        const Checked by = ((const Scalar *)&a)[i], product = (Checked)((const Scalar *)&u)[i] * ((const Scalar *)&v)[i];
        right = right && fabs((Checked)((const Scalar *)&x)[i] - ((Checked)1.0f + by) * product / -by) <= room;
    }
    return right;
}

SHARING kernel void rsb_peak_vector(global Scalar *result, ulong pieces) {
    // At the start, so that an error that another work-group reports is not overwritten.
    if (get_global_id(0) == 0) *result = (Scalar)1.0f;
    const ulong team = get_global_id(0) / ITEMS, teams = get_global_size(0) / ITEMS;
    const ulong mine = pieces / teams + (team < pieces % teams ? 1 : 0);
    const Lanes p = factors(0), q = factors(1), r = factors(2), s = factors(3);
    Lanes x[12];
    CHAINS(ZERO)
    for (ulong piece = 0; piece < mine; piece++) {
#pragma unroll
        for (int turn = 0; turn < 8; turn++) {
            CHAINS(UP)
            CHAINS(DOWN)
        }
    }
    // The precision of the type, and the remaining distance after few turns, which each turn halves.
    Checked room = 8 * (Checked)EPSILON;
    if (mine < 8) room += (Checked)1.0f / (Checked)(1ul << 8 * mine);
    bool right = true;
    CHAINS(LOOK)
    if (mine > 0 && !right) *result = (Scalar)-1.0f;
}
