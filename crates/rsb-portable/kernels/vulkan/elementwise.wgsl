// y = f(x) and y = f(x, z), element by element, a unit at a time.

struct Packs { packs: u32 }
var<immediate> c: Packs;

@compute @workgroup_size(256)
fn rsb_add(place: Place) {
    for (var i = place.global.x; i < c.packs * UNITS; i += place.groups.x * THREADS) {
        p0[i] = narrow(widen(p2[i]) + widen(p1[i]));
    }
}

@compute @workgroup_size(256)
fn rsb_multiply(place: Place) {
    for (var i = place.global.x; i < c.packs * UNITS; i += place.groups.x * THREADS) {
        p0[i] = narrow(widen(p2[i]) * widen(p1[i]));
    }
}

@compute @workgroup_size(256)
fn rsb_relu(place: Place) {
    for (var i = place.global.x; i < c.packs * UNITS; i += place.groups.x * THREADS) {
        p0[i] = narrow(max(widen(p1[i]), Value(Wide(0.0))));
    }
}
