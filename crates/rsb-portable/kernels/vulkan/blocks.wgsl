// What blocks of later models have: RMS norm, and rows in another order that are turned by their positions. Programs carry it
// for the types that such models come in, and brought together in memory alone: it is small beside their products.

struct Matrix { rows: u32, columns: u32, epsilon: Wide }
var<immediate> c: Matrix;

struct Order { batch: u32, rows: u32, columns: u32, width: u32, capacity: u32, position: u32 }
var<immediate> order: Order;

@compute @workgroup_size(256)
fn rsb_rms_norm(place: Place) {
    for (var row = place.group.x; row < c.rows; row += place.groups.x) {
        let first = row * c.columns;
        var mine = Wide(0.0);
        for (var i = place.local; i < c.columns; i += THREADS) { mine += at2(first + i) * at2(first + i); }
        let scale = Wide(1.0) / sqrt(sum_across_group(mine, place) / Wide(c.columns) + c.epsilon);
        for (var i = place.local; i < c.columns / STEP; i += THREADS) {
            let one = i * STEP;
            let two = one + STEP - 1u;
            let x = vec2<Wide>(at2(first + one), at2(first + two));
            put(first / STEP + i, x * scale * vec2<Wide>(at1(one), at1(two)));
        }
    }
}

// As rsb_rearrange, each two neighbors turned as a complex number by that of their place in the row of angles.
@compute @workgroup_size(256)
fn rsb_rotate(place: Place) {
    let all = order.batch * order.rows * order.columns * order.width;
    for (var at = 2u * place.global.x; at < all; at += 2u * place.groups.x * THREADS) {
        let within = at % order.width;
        let column = at / order.width % order.columns;
        let row = at / (order.width * order.columns) % order.rows;
        let image = at / (order.width * order.columns * order.rows);
        let to = ((image * order.columns + column) * order.capacity + order.position + row) * order.width + within;
        let x = vec2<Wide>(at2(at), at2(at + 1u));
        let angle = vec2<Wide>(at1(row * order.width + within), at1(row * order.width + within + 1u));
        let y = vec2<Wide>(x.x * angle.x - x.y * angle.y, x.x * angle.y + x.y * angle.x);
        put(to / STEP, y);
        if STEP == 1u { put(to + 1u, y.yy); }
    }
}
