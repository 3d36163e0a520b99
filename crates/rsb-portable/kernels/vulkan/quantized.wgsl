// C = A WT of weights of 8 or 4 bits with a scale for each group of them: whole numbers with sign, of 4 bits two in a byte,
// the earlier one in the lower half. Sums are made in f32. k and group are multiples of 32, so that no word of weights lies
// in two rows or groups.

struct Sizes { m: u32, n: u32, k: u32, group: u32, bits: u32 }
var<immediate> c: Sizes;

@group(0) @binding(1) var<storage, read> scales: array<u32>;
@group(0) @binding(2) var<storage, read> weights: array<u32>;

// Threads that share a row of weights, and rows of weights that a group makes, each with four rows of A at a time. One more
// column, or threads of a column would meet in one bank.
const SHARE: u32 = 32u;
const OWN: u32 = 8u;
var<workgroup> parts: array<vec4<f32>, 264>;

// Four rows of A times what this thread has of a row of weights. Rows below the last one repeat it, and are not written.
fn shared_sum(row: u32, top: u32, lane: u32) -> vec4<f32> {
    let each = 32u / c.bits;
    let groups = (c.k + c.group - 1u) / c.group;
    let last = c.m - 1u;
    let rows = min(vec4<u32>(top, top + 1u, top + 2u, top + 3u), vec4<u32>(last)) * c.k;
    var sum = vec4<f32>(0.0);
    for (var p = lane; p < c.k / each; p += SHARE) {
        let word = bitcast<i32>(weights[row * (c.k / each) + p]);
        let place = row * groups + p * each / c.group;
        let scale = unpack2x16float(scales[place / 2u])[place % 2u];
        var part = vec4<f32>(0.0);
        for (var i = 0u; i < each; i++) {
            let number = f32(extractBits(word, i * c.bits, c.bits));
            let at = p * each + i;
            part.x += number * at3(rows.x + at);
            if c.m > 1u {
                part += number * vec4<f32>(0.0, at3(rows.y + at), at3(rows.z + at), at3(rows.w + at));
            }
        }
        sum += part * scale;
    }
    return sum;
}

fn whole_sum(row: u32) -> vec4<f32> {
    var total = vec4<f32>(0.0);
    for (var l = 0u; l < SHARE; l++) { total += parts[row * (SHARE + 1u) + l]; }
    return total;
}

@compute @workgroup_size(256)
fn rsb_quantized(place: Place) {
    let lane = place.local % SHARE;
    let own = place.local / SHARE;
    for (var first = place.group.x * OWN; first < c.n; first += place.groups.x * OWN) {
        for (var top = 0u; top < c.m; top += 4u) {
            var sum = vec4<f32>(0.0);
            if first + own < c.n { sum = shared_sum(first + own, top, lane); }
            parts[own * (SHARE + 1u) + lane] = sum;
            workgroupBarrier();
            // The host sees to it that rows of C end where a word does.
            let column = place.local * STEP;
            if column < OWN && first + column < c.n {
                let one = whole_sum(column);
                let two = whole_sum(column + STEP - 1u);
                for (var j = 0u; j < min(4u, c.m - top); j++) {
                    put(((top + j) * c.n + first + column) / STEP, vec2<Wide>(one[j], two[j]));
                }
            }
            workgroupBarrier();
        }
    }
}
