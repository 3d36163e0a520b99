// Layer norm along rows: one group for each row, which it reads three times.

struct Matrix { rows: u32, columns: u32, epsilon: Wide }
var<immediate> c: Matrix;

@compute @workgroup_size(256)
fn rsb_layer_norm(place: Place) {
    let n = Wide(c.columns);
    for (var row = place.group.x; row < c.rows; row += place.groups.x) {
        let first = row * c.columns;
        var mine = Wide(0.0);
        for (var i = place.local; i < c.columns; i += THREADS) { mine += at3(first + i); }
        let mean = sum_across_group(mine, place) / n;
        mine = Wide(0.0);
        for (var i = place.local; i < c.columns; i += THREADS) {
            let distance = at3(first + i) - mean;
            mine += distance * distance;
        }
        let scale = Wide(1.0) / sqrt(sum_across_group(mine, place) / n + c.epsilon);
        for (var i = place.local; i < c.columns / STEP; i += THREADS) {
            let one = i * STEP;
            let two = one + STEP - 1u;
            let x = vec2<Wide>(at3(first + one), at3(first + two)) - vec2<Wide>(mean);
            let gain = vec2<Wide>(at2(one), at2(two));
            let bias = vec2<Wide>(at1(one), at1(two));
            put(first / STEP + i, x * scale * gain + bias);
        }
    }
}
