// z = x + y: a minimal kernel, to measure the time of compilation.

extern "C" __global__ void rsb_vector_add(const float *x, const float *y, float *z, u64 n) {
    const u64 i = thread_index();
    if (i < n) z[i] = x[i] + y[i];
}
