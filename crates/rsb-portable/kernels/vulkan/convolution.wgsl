// Direct 2-D convolution, NCHW: one thread for each element of the output, or for the two of a word. Sizes fit in 31
// bits, the host sees to it.

struct Sizes {
    batch: u32,
    in_channels: u32,
    out_channels: u32,
    height: u32,
    width: u32,
    kernel_height: u32,
    kernel_width: u32,
    out_height: u32,
    out_width: u32,
    stride: u32,
    padding: u32,
    dilation: u32,
    groups: u32,
}
var<immediate> c: Sizes;

fn element(at: u32) -> Wide {
    let in_group = c.in_channels / c.groups;
    let out_group = c.out_channels / c.groups;
    let column = at % c.out_width;
    let row = at / c.out_width % c.out_height;
    let channel = at / (c.out_width * c.out_height) % c.out_channels;
    let image = at / (c.out_width * c.out_height * c.out_channels);
    var tap = channel * in_group * c.kernel_height * c.kernel_width;
    var plane = (image * c.in_channels + channel / out_group * in_group) * c.height * c.width;
    var sum = Wide(0.0);
    for (var k = 0u; k < in_group; k++) {
        for (var i = 0u; i < c.kernel_height; i++) {
            // What lies before the input wraps around to more than any size.
            let from_row = row * c.stride + i * c.dilation - c.padding;
            for (var j = 0u; j < c.kernel_width; j++) {
                let from_column = column * c.stride + j * c.dilation - c.padding;
                if from_row < c.height && from_column < c.width {
                    sum += at2(plane + from_row * c.width + from_column) * at1(tap);
                }
                tap++;
            }
        }
        plane += c.height * c.width;
    }
    return sum;
}

@compute @workgroup_size(256)
fn rsb_convolution(place: Place) {
    let outputs = c.batch * c.out_channels * c.out_height * c.out_width;
    for (var i = place.global.x; i < (outputs + STEP - 1u) / STEP; i += place.groups.x * THREADS) {
        let first = element(i * STEP);
        var second = first;
        if STEP == 2u && i * STEP + 1u < outputs { second = element(i * STEP + 1u); }
        put(i, vec2<Wide>(first, second));
    }
}
