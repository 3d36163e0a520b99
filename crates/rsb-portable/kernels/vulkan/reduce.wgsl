// All elements to one, in two launches: each group reduces its share of whole units, the first one also what is left
// after the last whole unit; then one group puts the shares together. Of infinities nothing is promised.

struct Shares { n: u32, share: u32 }
var<immediate> shares: Shares;

struct End { count: u32, scale: Wide }
var<immediate> end: End;

struct Largest { count: u32 }
var<immediate> largest: Largest;

var<workgroup> leaders: array<Wide, THREADS>;
var<workgroup> places: array<u32, THREADS>;

@group(0) @binding(0) var<storage, read_write> f0: array<Wide>;
@group(0) @binding(1) var<storage, read> f1: array<Wide>;
@group(0) @binding(1) var<storage, read_write> f1_out: array<Wide>;
@group(0) @binding(2) var<storage, read> f2: array<Wide>;

// Of equal values the first counts.
fn better(value: Wide, at: u32, than: Wide, its: u32) -> bool {
    return value > than || (value == than && at < its);
}

// The place of the largest; its value is then leaders[0].
fn best_across_group(value: Wide, at: u32, local: u32) -> u32 {
    leaders[local] = value;
    places[local] = at;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if local < half && better(leaders[local + half], places[local + half], leaders[local], places[local]) {
            leaders[local] = leaders[local + half];
            places[local] = places[local + half];
        }
        workgroupBarrier();
    }
    return places[0];
}

@compute @workgroup_size(256)
fn rsb_sum(place: Place) {
    let units = shares.n / LANES;
    let last = min((place.group.x + 1u) * shares.share * UNITS, units);
    var sums = Value(Wide(0.0));
    for (var i = place.group.x * shares.share * UNITS + place.local; i < last; i += THREADS) { sums += widen(p1[i]); }
    var mine = Wide(0.0);
    for (var j = 0u; j < LANES; j++) { mine += sums[j]; }
    if place.group.x == 0u && place.local < shares.n % LANES { mine += at1(units * LANES + place.local); }
    let sum = sum_across_group(mine, place);
    if place.local == 0u { f0[place.group.x] = sum; }
}

@compute @workgroup_size(256)
fn rsb_sum_end(place: Place) {
    var mine = Wide(0.0);
    for (var i = place.local; i < end.count; i += THREADS) { mine += f1[i]; }
    let sum = sum_across_group(mine, place);
    if place.local == 0u { f0[0] = sum * end.scale; }
}

@compute @workgroup_size(256)
fn rsb_max(place: Place) {
    let units = shares.n / LANES;
    let last = min((place.group.x + 1u) * shares.share * UNITS, units);
    var most = Value(LOWEST);
    for (var i = place.group.x * shares.share * UNITS + place.local; i < last; i += THREADS) {
        most = max(most, widen(p1[i]));
    }
    var mine = LOWEST;
    for (var j = 0u; j < LANES; j++) { mine = max(mine, most[j]); }
    if place.group.x == 0u && place.local < shares.n % LANES { mine = max(mine, at1(units * LANES + place.local)); }
    let found = largest_across_group(mine, place);
    if place.local == 0u { f0[place.group.x] = found; }
}

@compute @workgroup_size(256)
fn rsb_max_end(place: Place) {
    var mine = LOWEST;
    for (var i = place.local; i < largest.count; i += THREADS) { mine = max(mine, f1[i]); }
    let found = largest_across_group(mine, place);
    if place.local == 0u { f0[0] = found; }
}

@compute @workgroup_size(256)
fn rsb_argmax(place: Place) {
    let units = shares.n / LANES;
    let last = min((place.group.x + 1u) * shares.share * UNITS, units);
    var value = LOWEST;
    var at = 0xffffffffu;
    for (var i = place.group.x * shares.share * UNITS + place.local; i < last; i += THREADS) {
        let lanes = widen(p2[i]);
        for (var j = 0u; j < LANES; j++) {
            if lanes[j] > value {
                value = lanes[j];
                at = i * LANES + j;
            }
        }
    }
    if place.group.x == 0u && place.local < shares.n % LANES {
        let rest = units * LANES + place.local;
        if better(at2(rest), rest, value, at) {
            value = at2(rest);
            at = rest;
        }
    }
    let found = best_across_group(value, at, place.local);
    if place.local == 0u {
        f1_out[place.group.x] = leaders[0];
        w0[place.group.x] = found;
    }
}

@compute @workgroup_size(256)
fn rsb_argmax_end(place: Place) {
    var value = LOWEST;
    var at = 0xffffffffu;
    for (var i = place.local; i < largest.count; i += THREADS) {
        if better(f2[i], w1[i], value, at) {
            value = f2[i];
            at = w1[i];
        }
    }
    let found = best_across_group(value, at, place.local);
    if place.local == 0u {
        w0[0] = found;
        w0[1] = 0u;
    }
}
