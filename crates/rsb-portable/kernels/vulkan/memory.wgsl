// Memory traffic after the STREAM benchmark, rows in another order, a pointer chase, a flush and an empty kernel.

struct Packs { packs: u32 }
var<immediate> packs_only: Packs;

struct Shares { packs: u32, share: u32 }
var<immediate> shares: Shares;

struct Scaled { packs: u32, s: Wide }
var<immediate> scaled: Scaled;

struct Order { batch: u32, rows: u32, columns: u32, width: u32, capacity: u32, position: u32 }
var<immediate> order: Order;

struct Walk { accesses: u32, lanes: u32 }
var<immediate> walk: Walk;

var<workgroup> parts: array<vec2<u32>, THREADS>;

@group(0) @binding(0) var<storage, read_write> d0: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> d1: array<vec2<u32>>;

fn xor_across_group(mine: vec2<u32>, local: u32) -> vec2<u32> {
    parts[local] = mine;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if local < half { parts[local] ^= parts[local + half]; }
        workgroupBarrier();
    }
    return parts[0];
}

@compute @workgroup_size(256)
fn rsb_read(place: Place) {
    let last = min((place.group.x + 1u) * shares.share, shares.packs);
    var all = vec4<u32>(0u);
    for (var i = place.group.x * shares.share + place.local; i < last; i += THREADS) { all ^= q1[i]; }
    let sum = xor_across_group(all.xy ^ all.zw, place.local);
    if place.local == 0u { d0[place.group.x] = sum; }
}

@compute @workgroup_size(256)
fn rsb_read_end(place: Place) {
    var mine = vec2<u32>(0u);
    for (var i = place.local; i < packs_only.packs; i += THREADS) { mine ^= d1[i]; }
    let sum = xor_across_group(mine, place.local);
    if place.local == 0u { d0[0] = sum; }
}

@compute @workgroup_size(256)
fn rsb_copy(place: Place) {
    for (var i = place.global.x; i < packs_only.packs; i += place.groups.x * THREADS) { q0[i] = q1[i]; }
}

@compute @workgroup_size(256)
fn rsb_write(place: Place) {
    let value = narrow(Value(scaled.s));
    for (var i = place.global.x; i < scaled.packs * UNITS; i += place.groups.x * THREADS) { p0[i] = value; }
}

@compute @workgroup_size(256)
fn rsb_read_write(place: Place) {
    for (var i = place.global.x; i < scaled.packs * UNITS; i += place.groups.x * THREADS) {
        p0[i] = narrow(scaled.s * widen(p0[i]));
    }
}

@compute @workgroup_size(256)
fn rsb_triad(place: Place) {
    for (var i = place.global.x; i < scaled.packs * UNITS; i += place.groups.x * THREADS) {
        p0[i] = narrow(widen(p2[i]) + scaled.s * widen(p1[i]));
    }
}

@compute @workgroup_size(256)
fn rsb_rearrange(place: Place) {
    let width = words(order.width);
    let all = order.batch * order.rows * order.columns * width;
    for (var at = place.global.x; at < all; at += place.groups.x * THREADS) {
        let within = at % width;
        let column = at / width % order.columns;
        let row = at / (width * order.columns) % order.rows;
        let image = at / (width * order.columns * order.rows);
        w0[((image * order.columns + column) * order.capacity + order.position + row) * width + within] = w1[at];
    }
}

// One lane walks. `lanes` is 1, which no compiler knows: the offset may differ between lanes, so that it is read through
// the vector cache and not by a scalar load.
@compute @workgroup_size(32)
fn rsb_pointer_chase(place: Place) {
    if place.local >= walk.lanes { return; }
    var at = w0[0] + place.local;
    for (var i = 0u; i < walk.accesses; i++) { at = w1[at / 4u]; }
    w0[0] = at;
    w0[1] = 0u;
}

@compute @workgroup_size(256)
fn rsb_flush(place: Place) {
    for (var i = place.global.x; i < packs_only.packs; i += place.groups.x * THREADS) { q0[i] += vec4<u32>(1u); }
}

@compute @workgroup_size(1)
fn rsb_empty() {}
