// What needs an exponential, which the language does not have in f64.

struct Packs { packs: u32 }
var<immediate> c: Packs;

struct Matrix { rows: u32, columns: u32 }
var<immediate> matrix: Matrix;

@compute @workgroup_size(256)
fn rsb_sigmoid(place: Place) {
    for (var i = place.global.x; i < c.packs * UNITS; i += place.groups.x * THREADS) {
        p0[i] = narrow(1.0 / (1.0 + exp(-widen(p1[i]))));
    }
}

// x / (1 + exp(-2u)) with u = sqrt(2/pi) (x + 0.044715 x^3): the tanh form with one exponential.
@compute @workgroup_size(256)
fn rsb_gelu(place: Place) {
    for (var i = place.global.x; i < c.packs * UNITS; i += place.groups.x * THREADS) {
        let x = widen(p1[i]);
        p0[i] = narrow(x / (1.0 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))));
    }
}

// One group for each row, which it reads three times. The second and third time come from a cache.
@compute @workgroup_size(256)
fn rsb_softmax(place: Place) {
    for (var row = place.group.x; row < matrix.rows; row += place.groups.x) {
        let first = row * matrix.columns;
        var mine = LOWEST;
        for (var i = place.local; i < matrix.columns; i += THREADS) { mine = max(mine, at1(first + i)); }
        let most = largest_across_group(mine, place);
        mine = 0.0;
        for (var i = place.local; i < matrix.columns; i += THREADS) { mine += exp(at1(first + i) - most); }
        let sum = sum_across_group(mine, place);
        for (var i = place.local; i < matrix.columns / STEP; i += THREADS) {
            let at = first + i * STEP;
            put(first / STEP + i, exp(vec2<f32>(at1(at), at1(at + STEP - 1u)) - most) / sum);
        }
    }
}
