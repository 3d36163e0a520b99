// The highest arithmetic rate: multiply-adds x = x + u * v and x = x + a * x by turns in 12 chains. A piece of work is 16
// steps of all chains on 64 lanes: 24576 operations. The factors have full mantissas, u and v of either sign, a from -0.75
// to -0.5, unlike in every chain and lane, and so has x, which stays below 1.2. Chains begin at 0 and end at
// (1 + a) * u * v / -a, which is all that the end depends on.

struct Pieces { pieces: u32 }
var<immediate> c: Pieces;

// Threads that do a piece together.
const TEAM: u32 = 64u / WIDTH;

fn mixed(seed: u32) -> u32 {
    var x = (seed ^ (seed >> 16u)) * 0x7feb352du;
    x = (x ^ (x >> 15u)) * 0x846ca68bu;
    return x ^ (x >> 16u);
}

// Random from 0.5 to 0.75: two of either sign, two negative ones.
fn operand(own: u32, which: u32) -> Exact {
    let seed = 4u * own + which;
    let size = Exact(0.5) + Exact(mixed(seed) >> 4u) * SMALL + Exact(mixed(~seed) >> 8u) * SMALLER;
    return select(size, -size, which >= 2u || (mixed(seed) & 1u) == 1u);
}

// How far x is from where its chain ends.
fn off(u: Chain, v: Chain, a: Chain, x: Chain) -> Checked {
    let end = (Checked(Exact(1.0)) + Checked(a)) * Checked(u) * Checked(v) / -Checked(a);
    return abs(Checked(x) - end);
}

@compute @workgroup_size(256)
fn rsb_peak_vector(place: Place) {
    // At the start, so that what another group found wrong is said after it.
    if place.global.x == 0u { result(1.0); }
    let team = place.global.x / TEAM;
    let teams = place.groups.x * THREADS / TEAM;
    let mine = c.pieces / teams + select(0u, 1u, team < c.pieces % teams);
    let p = factor(place.global.x, 0u);
    let q = factor(place.global.x, 1u);
    let r = factor(place.global.x, 2u);
    let s = factor(place.global.x, 3u);
    var x0 = Chain(Scalar(0.0));
    var x1 = Chain(Scalar(0.0));
    var x2 = Chain(Scalar(0.0));
    var x3 = Chain(Scalar(0.0));
    var x4 = Chain(Scalar(0.0));
    var x5 = Chain(Scalar(0.0));
    var x6 = Chain(Scalar(0.0));
    var x7 = Chain(Scalar(0.0));
    var x8 = Chain(Scalar(0.0));
    var x9 = Chain(Scalar(0.0));
    var x10 = Chain(Scalar(0.0));
    var x11 = Chain(Scalar(0.0));
    for (var piece = 0u; piece < mine; piece++) {
        for (var turn = 0u; turn < 8u; turn++) {
            x0 = fma(p, q, x0);
            x1 = fma(r, s, x1);
            x2 = fma(p, r, x2);
            x3 = fma(q, s, x3);
            x4 = fma(p, s, x4);
            x5 = fma(q, r, x5);
            x6 = fma(p, q, x6);
            x7 = fma(r, s, x7);
            x8 = fma(p, r, x8);
            x9 = fma(q, s, x9);
            x10 = fma(p, s, x10);
            x11 = fma(q, r, x11);
            x0 = fma(r, x0, x0);
            x1 = fma(s, x1, x1);
            x2 = fma(r, x2, x2);
            x3 = fma(s, x3, x3);
            x4 = fma(r, x4, x4);
            x5 = fma(s, x5, x5);
            x6 = fma(s, x6, x6);
            x7 = fma(r, x7, x7);
            x8 = fma(s, x8, x8);
            x9 = fma(r, x9, x9);
            x10 = fma(s, x10, x10);
            x11 = fma(r, x11, x11);
        }
    }
    let all_off = off(p, q, r, x0) + off(r, s, s, x1) + off(p, r, r, x2) + off(q, s, s, x3) + off(p, s, r, x4)
        + off(q, r, s, x5) + off(p, q, s, x6) + off(r, s, r, x7) + off(p, r, s, x8) + off(q, s, r, x9)
        + off(p, s, s, x10) + off(q, r, r, x11);
    // What the type cannot tell of twelve, and what is missing after so few turns: each halves it.
    let room = ROOM + Exact(12.0) * select(Exact(0.0), Exact(exp2(-8.0 * f32(mine))), mine < 8u);
    if mine > 0u && !all(all_off <= Checked(room)) { result(-1.0); }
}
