enable f16;
enable wgpu_cooperative_matrix;

// The highest rate of matrix units: D = A * B + C of M x N x 16, f16 summed in f32, in 8 chains. M and N are set for each
// shape when the shader is compiled, as is the shape of the matrices, which this language has for squares alone. A piece
// of work is 3 steps of all chains in one subgroup, or as many more as the shape is smaller than 16 x 16 x 16: 196608
// operations. Seven chains add A * B and take it away by turns, of random
// elements with 9 of 11 bits, so that sums stay exact. The last one counts: every element of its product is 2^-10.
// Chains begin at multiples of that, so that none stands for another.

const M: u32 = 16u;
const N: u32 = 16u;
const THREADS: u32 = 256u;
// From one column to the next of every matrix that is loaded.
const SIDE: u32 = 16u;
const CELLS: u32 = 256u;
const RESULT: u32 = M * N;
const CHAINS: u32 = 8u;
const STEPS: u32 = 3u * CELLS / RESULT;
// For results of 16 subgroups of 16 x 16, or 64 of 8 x 8.
const ENDS: u32 = 4096u;
const UNIT: f32 = 0.0009765625;

struct Place {
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
}

struct Pieces { pieces: u32 }
var<immediate> c: Pieces;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

// The factors, what takes their product away, the factor that counts, and where chains begin; then, for each subgroup,
// the sum of its chains.
var<workgroup> left: array<f16, CELLS>;
var<workgroup> right: array<f16, CELLS>;
var<workgroup> away: array<f16, CELLS>;
var<workgroup> counter: array<f16, CELLS>;
var<workgroup> starts: array<f32, CHAINS * CELLS>;
var<workgroup> ends: array<f32, ENDS>;

// From 0.5 to 1 of either sign.
fn element(seed: u32) -> f16 {
    var x = (seed ^ (seed >> 16u)) * 0x7feb352du;
    x = (x ^ (x >> 15u)) * 0x846ca68bu;
    x = x ^ (x >> 16u);
    let size = f16(0.5 + f32(x >> 24u) / 512.0);
    return select(size, -size, (x & 1u) == 1u);
}

fn result(x: f32) { out[0] = pack2x16float(vec2<f32>(x, 0.0)); }

@compute @workgroup_size(256)
fn rsb_peak_matrix(place: Place) {
    // At the start, so that what another group found wrong is said after it.
    if place.group.x == 0u && place.local == 0u { result(1.0); }
    let team = place.group.x * place.subgroups + place.subgroup;
    let teams = place.groups.x * place.subgroups;
    let mine = c.pieces / teams + select(0u, 1u, team < c.pieces % teams);
    // 16 products of 2^-7 and 2^-7.
    counter[place.local] = 0.0078125h;
    left[place.local] = element(place.local);
    let other = element(CELLS + place.local);
    right[place.local] = other;
    away[place.local] = -other;
    for (var chain = 0u; chain < CHAINS; chain++) { starts[chain * CELLS + place.local] = f32(chain) * UNIT; }
    workgroupBarrier();
    let a = coopLoad<coop_mat16x16<f16, A>>(&left[0], SIDE);
    let b = coopLoad<coop_mat16x16<f16, B>>(&right[0], SIDE);
    let minus_b = coopLoad<coop_mat16x16<f16, B>>(&away[0], SIDE);
    let count_a = coopLoad<coop_mat16x16<f16, A>>(&counter[0], SIDE);
    let count_b = coopLoad<coop_mat16x16<f16, B>>(&counter[0], SIDE);
    var x0 = coopLoad<coop_mat16x16<f32, C>>(&starts[0], SIDE);
    var x1 = coopLoad<coop_mat16x16<f32, C>>(&starts[CELLS], SIDE);
    var x2 = coopLoad<coop_mat16x16<f32, C>>(&starts[2u * CELLS], SIDE);
    var x3 = coopLoad<coop_mat16x16<f32, C>>(&starts[3u * CELLS], SIDE);
    var x4 = coopLoad<coop_mat16x16<f32, C>>(&starts[4u * CELLS], SIDE);
    var x5 = coopLoad<coop_mat16x16<f32, C>>(&starts[5u * CELLS], SIDE);
    var x6 = coopLoad<coop_mat16x16<f32, C>>(&starts[6u * CELLS], SIDE);
    var x7 = coopLoad<coop_mat16x16<f32, C>>(&starts[7u * CELLS], SIDE);
    // Up and down again; rounded up: a step too many is work that is not counted.
    let turns = (mine * STEPS + 1u) / 2u;
    for (var turn = 0u; turn < turns; turn++) {
        x0 = coopMultiplyAdd(a, b, x0);
        x1 = coopMultiplyAdd(a, b, x1);
        x2 = coopMultiplyAdd(a, b, x2);
        x3 = coopMultiplyAdd(a, b, x3);
        x4 = coopMultiplyAdd(a, b, x4);
        x5 = coopMultiplyAdd(a, b, x5);
        x6 = coopMultiplyAdd(a, b, x6);
        x7 = coopMultiplyAdd(count_a, count_b, x7);
        x0 = coopMultiplyAdd(a, minus_b, x0);
        x1 = coopMultiplyAdd(a, minus_b, x1);
        x2 = coopMultiplyAdd(a, minus_b, x2);
        x3 = coopMultiplyAdd(a, minus_b, x3);
        x4 = coopMultiplyAdd(a, minus_b, x4);
        x5 = coopMultiplyAdd(a, minus_b, x5);
        x6 = coopMultiplyAdd(a, minus_b, x6);
        x7 = coopMultiplyAdd(count_a, count_b, x7);
    }
    let sum = x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7;
    coopStore(sum, &ends[place.subgroup * RESULT], M);
    workgroupBarrier();
    // 0 + 1 + ... + 7 units at the start, and a unit for each step of the last chain.
    let expected = (28.0 + f32(2u * turns)) * UNIT;
    var off = false;
    for (var i = place.lane; i < RESULT; i += place.lanes) { off = off || ends[place.subgroup * RESULT + i] != expected; }
    if off { result(-1.0); }
}
