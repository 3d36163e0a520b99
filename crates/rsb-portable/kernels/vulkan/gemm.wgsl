// C = alpha op(A) op(B) + beta C, row-major, batched, matrices of B stride_b elements apart. The tiled kernel keeps a tile
// of C in registers and passes A and B through the memory of the group; the naive one reads everything from memory.

struct Sizes {
    m: u32,
    n: u32,
    k: u32,
    batch: u32,
    stride_b: u32,
    transpose_a: u32,
    transpose_b: u32,
    alpha: Number,
    beta: Number,
}
var<immediate> c: Sizes;

// op(A) at (i, p) and op(B) at (p, j) of matrix z; outside there are zeros.
fn a_at(z: u32, i: u32, p: u32) -> Wide {
    if i >= c.m || p >= c.k { return Wide(0); }
    return at2(z * c.m * c.k + select(i * c.k + p, p * c.m + i, c.transpose_a != 0u));
}
fn b_at(z: u32, p: u32, j: u32) -> Wide {
    if p >= c.k || j >= c.n { return Wide(0); }
    return at1(z * c.stride_b + select(p * c.n + j, j * c.k + p, c.transpose_b != 0u));
}

// With beta 0 what C held before is not read: it may be anything. `i` counts what is written at once.
fn finish(i: u32, sums: vec2<Wide>) {
    var x = sums * Wide(c.alpha);
    if c.beta != Number(0) { x += product(i) * Wide(c.beta); }
    put_product(i, x);
}

@compute @workgroup_size(256)
fn rsb_gemm_naive(place: Place) {
    let all = c.batch * c.m * c.n;
    for (var i = place.global.x; i < (all + PRODUCTS - 1u) / PRODUCTS; i += place.groups.x * THREADS) {
        var sums = vec2<Wide>(Wide(0));
        for (var e = 0u; e < PRODUCTS; e++) {
            let at = i * PRODUCTS + e;
            let z = at / (c.m * c.n);
            let row = at / c.n % c.m;
            let column = at % c.n;
            var sum = Wide(0);
            if z < c.batch {
                for (var p = 0u; p < c.k; p++) { sum += a_at(z, row, p) * b_at(z, p, column); }
            }
            sums[e] = sum;
        }
        finish(i, sums);
    }
}

// A group of 256 threads makes 64 x 64 elements of C, each 4 x 4 neighbors, 16 steps of k at a time. Fours of rows of
// A and of columns of B lie together.
const TILE: u32 = 64u;
const DEPTH: u32 = 16u;
const FOURS: u32 = 16u;

var<workgroup> left: array<Quad, 256>;
var<workgroup> right: array<Quad, 256>;

fn load(z: u32, top: u32, first: u32, p: u32, local: u32) {
    // Neighboring threads read neighboring elements, however the matrix lies.
    let slow = local / 16u;
    let fast = local % 16u;
    let a_step = select(fast, slow, c.transpose_a != 0u);
    let a_four = select(slow, fast, c.transpose_a != 0u);
    let i = top + 4u * a_four;
    let pa = p + a_step;
    left[a_step * FOURS + a_four] =
        Quad(a_at(z, i, pa), a_at(z, i + 1u, pa), a_at(z, i + 2u, pa), a_at(z, i + 3u, pa));
    let b_step = select(slow, fast, c.transpose_b != 0u);
    let b_four = select(fast, slow, c.transpose_b != 0u);
    let j = first + 4u * b_four;
    let pb = p + b_step;
    right[b_step * FOURS + b_four] =
        Quad(b_at(z, pb, j), b_at(z, pb, j + 1u), b_at(z, pb, j + 2u), b_at(z, pb, j + 3u));
}

fn finish_row(z: u32, row: u32, column: u32, sums: Quad) {
    if row >= c.m { return; }
    let first = (z * c.m + row) * c.n + column;
    if PRODUCTS == 1u {
        for (var j = 0u; j < 4u; j++) {
            if column + j < c.n { finish(first + j, vec2<Wide>(sums[j])); }
        }
    } else {
        // The host sees to it that rows are of even length.
        if column < c.n { finish(first / 2u, sums.xy); }
        if column + 2u < c.n { finish(first / 2u + 1u, sums.zw); }
    }
}

@compute @workgroup_size(256)
fn rsb_gemm_tiled(place: Place) {
    let down = (c.m + TILE - 1u) / TILE;
    let across = (c.n + TILE - 1u) / TILE;
    let x = place.local % 16u;
    let y = place.local / 16u;
    for (var tile = place.group.x; tile < down * across * c.batch; tile += place.groups.x) {
        let z = tile / (down * across);
        let top = tile / across % down * TILE;
        let first = tile % across * TILE;
        var sum0 = Quad(Wide(0));
        var sum1 = Quad(Wide(0));
        var sum2 = Quad(Wide(0));
        var sum3 = Quad(Wide(0));
        for (var p = 0u; p < c.k; p += DEPTH) {
            load(z, top, first, p, place.local);
            workgroupBarrier();
            for (var step = 0u; step < DEPTH; step++) {
                let column = left[step * FOURS + y];
                let row = right[step * FOURS + x];
                sum0 += column.x * row;
                sum1 += column.y * row;
                sum2 += column.z * row;
                sum3 += column.w * row;
            }
            workgroupBarrier();
        }
        finish_row(z, top + 4u * y, first + 4u * x, sum0);
        finish_row(z, top + 4u * y + 1u, first + 4u * x, sum1);
        finish_row(z, top + 4u * y + 2u, first + 4u * x, sum2);
        finish_row(z, top + 4u * y + 3u, first + 4u * x, sum3);
    }
}
