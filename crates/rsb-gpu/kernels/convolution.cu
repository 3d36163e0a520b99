// Direct 2-D convolution, NCHW: one thread per output element. The host ensures that sizes fit into 31 bits.

template <class T>
__device__ inline void convolution(
    const T *x, const T *w, T *y, u64 batch, int in_channels, int out_channels, int height, int width,
    int kernel_height, int kernel_width, int out_height, int out_width, int stride, int padding, int dilation,
    int groups) {
    typedef typename Wide<T>::type W;
    const int in_group = in_channels / groups, out_group = out_channels / groups;
    const u64 outputs = batch * out_channels * out_height * out_width;
    for (u64 at = thread_index(); at < outputs; at += thread_count()) {
        const int column = at % out_width;
        const int row = at / out_width % out_height;
        const int channel = at / ((u64)out_width * out_height) % out_channels;
        const u64 image = at / ((u64)out_width * out_height * out_channels);
        const T *taps = w + (u64)channel * in_group * kernel_height * kernel_width;
        const T *plane = x + (image * in_channels + (u64)(channel / out_group) * in_group) * height * width;
        W sum = 0;
        for (int c = 0; c < in_group; c++, plane += (u64)height * width) {
            for (int i = 0; i < kernel_height; i++) {
                const int from_row = row * stride - padding + i * dilation;
                for (int j = 0; j < kernel_width; j++, taps++) {
                    const int from_column = column * stride - padding + j * dilation;
                    if ((unsigned)from_row < (unsigned)height && (unsigned)from_column < (unsigned)width)
                        sum += wide(plane[(u64)from_row * width + from_column]) * wide(*taps);
                }
            }
        }
        y[at] = narrow<T>(sum);
    }
}

#define RSB_CONVOLUTION(NAME, T) \
    RSB_KERNEL(RSB_THREADS) \
    rsb_convolution_##NAME( \
        const T *x, const T *w, T *y, u64 batch, u64 in_channels, u64 out_channels, u64 height, u64 width, \
        u64 kernel_height, u64 kernel_width, u64 out_height, u64 out_width, u64 stride, u64 padding, u64 dilation, \
        u64 groups) { \
        convolution<T>( \
            x, w, y, batch, in_channels, out_channels, height, width, kernel_height, kernel_width, out_height, \
            out_width, stride, padding, dilation, groups); \
    }

RSB_CONVOLUTION(f64, double)
RSB_CONVOLUTION(f32, float)
RSB_CONVOLUTION(f16, F16)
RSB_CONVOLUTION(bf16, Bf16)
