// Memory traffic as in the STREAM benchmark, a pointer chase, a flush and an empty kernel.

SHARING kernel void rsb_read(const global uint4 *a, global ulong *partials, ulong packs, ulong share) {
    local ulong values[RSB_THREADS];
    const ulong first = get_group_id(0) * share, last = min(first + share, packs);
    uint4 all = (uint4)(0);
    for (ulong i = first + get_local_id(0); i < last; i += RSB_THREADS) all ^= a[i];
    ulong sum = as_ulong(all.xy) ^ as_ulong(all.zw);
    ACROSS_GROUP(sum, values, XOR);
    if (get_local_id(0) == 0) partials[get_group_id(0)] = sum;
}

SHARING kernel void rsb_read_end(const global ulong *partials, global ulong *result, ulong count) {
    local ulong values[RSB_THREADS];
    ulong sum = 0;
    for (ulong i = get_local_id(0); i < count; i += RSB_THREADS) sum ^= partials[i];
    ACROSS_GROUP(sum, values, XOR);
    if (get_local_id(0) == 0) *result = sum;
}

kernel void rsb_copy(const global uint4 *a, global uint4 *b, ulong packs) {
    const ulong i = get_global_id(0);
    if (i < packs) b[i] = a[i];
}

kernel void rsb_write(global Element *a, ulong packs, Number s) {
    const ulong i = get_global_id(0);
    if (i < packs) store_pack(a, i, (Pack)((Wide)s));
}

kernel void rsb_read_write(global Element *a, ulong packs, Number s) {
    const ulong i = get_global_id(0);
    if (i < packs) store_pack(a, i, (Wide)s * load_pack(a, i));
}

kernel void rsb_triad(const global Element *a, const global Element *b, global Element *c, ulong packs, Number s) {
    const ulong i = get_global_id(0);
    if (i < packs) store_pack(c, i, load_pack(a, i) + (Wide)s * load_pack(b, i));
}

// y[b][j][position + i] = x[b][i][j], each a vector of `width` elements.
kernel void rsb_rearrange(
    const global Element *x, global Element *y, ulong batch, ulong rows, ulong columns, ulong width, ulong capacity,
    ulong position) {
    const ulong at = get_global_id(0);
    if (at >= batch * rows * columns * width) return;
    const ulong within = at % width, column = at / width % columns, row = at / (width * columns) % rows;
    const ulong image = at / (width * columns * rows);
    store_one(y, ((image * columns + column) * capacity + position + row) * width + within, load_one(x, at));
}

// The same, and rotates each two neighboring elements, as a complex number, by the one at their
// place in `angles`, which has a row for each of `rows`.
kernel void rsb_rotate(
    const global Element *x, const global Element *angles, global Element *y, ulong batch, ulong rows, ulong columns,
    ulong width, ulong capacity, ulong position) {
    const ulong at = 2 * get_global_id(0);
    if (at >= batch * rows * columns * width) return;
    const ulong within = at % width, column = at / width % columns, row = at / (width * columns) % rows;
    const ulong image = at / (width * columns * rows), angle = row * width + within;
    const ulong to = ((image * columns + column) * capacity + position + row) * width + within;
    const Wide first = load_one(x, at), second = load_one(x, at + 1);
    const Wide cosine = load_one(angles, angle), sine = load_one(angles, angle + 1);
    store_one(y, to, first * cosine - second * sine);
    store_one(y, to + 1, first * sine + second * cosine);
}

// One work-item follows a cycle of offsets and continues where the last launch ended. `lanes` is 1
// but unknown to the compiler, so the offset may differ between work-items: AMD's compiler reads it
// through the vector cache and not by `s_load`.
kernel void rsb_pointer_chase(const global uchar *nodes, global ulong *position, ulong accesses, ulong lanes) {
    if (get_local_id(0) >= lanes) return;
    ulong at = *position + get_local_id(0);
    for (ulong i = 0; i < accesses; i++) at = *(const global ulong *)(nodes + at);
    *position = at;
}

// Reads and writes every pack, so that earlier data does not stay in any cache.
kernel void rsb_flush(global uint4 *words, ulong packs) {
    const ulong i = get_global_id(0);
    if (i < packs) words[i] += (uint4)(1);
}

kernel void rsb_empty(void) {}
