// Direct 2-D convolution, NCHW: one work-item per output element. The host ensures that sizes fit into 31 bits.

kernel void rsb_convolution(
    const global Element *x, const global Element *w, global Element *y, ulong batch, ulong in_channels,
    ulong out_channels, ulong height, ulong width, ulong kernel_height, ulong kernel_width, ulong out_height,
    ulong out_width, ulong stride, ulong padding, ulong dilation, ulong groups) {
    const ulong at = get_global_id(0);
    if (at >= batch * out_channels * out_height * out_width) return;
    const int in_group = in_channels / groups, out_group = out_channels / groups;
    const int column = at % out_width, row = at / out_width % out_height;
    const int channel = at / (out_width * out_height) % out_channels;
    const ulong image = at / (out_width * out_height * out_channels);
    ulong tap = channel * in_group * kernel_height * kernel_width;
    ulong plane = (image * in_channels + (ulong)(channel / out_group) * in_group) * height * width;
    const int top = row * (int)stride - (int)padding, left = column * (int)stride - (int)padding;
    Wide sum = 0;
    for (int c = 0; c < in_group; c++, plane += height * width) {
        for (int i = 0; i < (int)kernel_height; i++) {
            const int from_row = top + i * (int)dilation;
            for (int j = 0; j < (int)kernel_width; j++, tap++) {
                const int from_column = left + j * (int)dilation;
                if ((uint)from_row < (uint)height && (uint)from_column < (uint)width)
                    sum += load_one(x, plane + (ulong)from_row * width + from_column) * load_one(w, tap);
            }
        }
    }
    store_one(y, at, sum);
}
