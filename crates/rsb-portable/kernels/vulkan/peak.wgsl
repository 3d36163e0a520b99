// The highest arithmetic rate: multiply-adds x = x / 2 + 1 / 2 in 12 chains. A piece of work is 16 steps of all chains on
// 64 lanes: 24576 operations. Chains begin near 1, each elsewhere so that none can stand for another, none at 1 itself,
// which a compiler would not compute at all, and end at 1.

struct Pieces { pieces: u32 }
var<immediate> c: Pieces;

// Threads that do a piece together.
const TEAM: u32 = 64u / WIDTH;

fn next(x: Chain) -> Chain { return fma(x, HALF, HALF); }
fn begin(i: u32) -> Chain { return ONE - Chain(Scalar(i) * ROOM); }
fn off(x: Chain) -> Chain { return abs(x - ONE); }

@compute @workgroup_size(256)
fn rsb_peak_vector(place: Place) {
    // At the start, so that what another group found wrong is said after it.
    if place.global.x == 0u { result(1.0); }
    let team = place.global.x / TEAM;
    let teams = place.groups.x * THREADS / TEAM;
    let mine = c.pieces / teams + select(0u, 1u, team < c.pieces % teams);
    var x1 = begin(1u);
    var x2 = begin(2u);
    var x3 = begin(3u);
    var x4 = begin(4u);
    var x5 = begin(5u);
    var x6 = begin(6u);
    var x7 = begin(7u);
    var x8 = begin(8u);
    var x9 = begin(9u);
    var x10 = begin(10u);
    var x11 = begin(11u);
    var x12 = begin(12u);
    for (var piece = 0u; piece < mine; piece++) {
        for (var s = 0u; s < 16u; s++) {
            x1 = next(x1);
            x2 = next(x2);
            x3 = next(x3);
            x4 = next(x4);
            x5 = next(x5);
            x6 = next(x6);
            x7 = next(x7);
            x8 = next(x8);
            x9 = next(x9);
            x10 = next(x10);
            x11 = next(x11);
            x12 = next(x12);
        }
    }
    let all_off = off(x1) + off(x2) + off(x3) + off(x4) + off(x5) + off(x6) + off(x7) + off(x8) + off(x9) + off(x10)
        + off(x11) + off(x12);
    if mine > 0u && any(all_off != Chain(Scalar(0.0))) { result(-1.0); }
}
