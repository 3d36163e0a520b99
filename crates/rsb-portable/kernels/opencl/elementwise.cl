// y = f(x) and y = f(x, z), element by element, a pack at a time.

#if defined(RSB_F64)
#define NUMBER(X) X
#else
#define NUMBER(X) X##f
#endif

#define TWO_INPUTS(NAME, RESULT) \
    kernel void NAME(const global Element *left, const global Element *right, global Element *y, ulong packs) { \
        const ulong i = get_global_id(0); \
        if (i >= packs) return; \
        const Pack x = load_pack(left, i), z = load_pack(right, i); \
        store_pack(y, i, RESULT); \
    }
#define ONE_INPUT(NAME, RESULT) \
    kernel void NAME(const global Element *from, global Element *y, ulong packs) { \
        const ulong i = get_global_id(0); \
        if (i >= packs) return; \
        const Pack x = load_pack(from, i); \
        store_pack(y, i, RESULT); \
    }

TWO_INPUTS(rsb_add, x + z)
TWO_INPUTS(rsb_multiply, x *z)
ONE_INPUT(rsb_relu, max(x, (Pack)(0)))
ONE_INPUT(rsb_sigmoid, NUMBER(1.0) / (NUMBER(1.0) + exp(-x)))
// x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form with one exponential.
ONE_INPUT(
    rsb_gelu,
    x / (NUMBER(1.0) + exp(NUMBER(-1.5957691216057307117597842397375) * (x + NUMBER(0.044715) * x * x * x))))
