// Normalization along rows: one group per row, which reads it three times; the second and third
// time from a cache.

SHARING kernel void rsb_softmax(const global Element *x, global Element *y, ulong rows, ulong columns) {
    local Wide values[RSB_THREADS];
    for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        const ulong first = row * columns;
        Wide most = -INFINITY;
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS) most = LARGER(most, load_one(x, first + i));
        ACROSS_GROUP(most, values, LARGER);
        Wide sum = 0;
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS) sum += exp(load_one(x, first + i) - most);
        ACROSS_GROUP(sum, values, PLUS);
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS)
            store_one(y, first + i, exp(load_one(x, first + i) - most) / sum);
    }
}

SHARING kernel void rsb_layer_norm(
    const global Element *x, const global Element *gain, const global Element *bias, global Element *y, ulong rows,
    ulong columns, Number epsilon) {
    local Wide values[RSB_THREADS];
    for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        const ulong first = row * columns;
        Wide mean = 0;
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS) mean += load_one(x, first + i);
        ACROSS_GROUP(mean, values, PLUS);
        mean /= (Wide)columns;
        Wide squares = 0;
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS) {
            const Wide distance = load_one(x, first + i) - mean;
            squares += distance * distance;
        }
        ACROSS_GROUP(squares, values, PLUS);
        const Wide scale = (Wide)1 / sqrt(squares / (Wide)columns + (Wide)epsilon);
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS)
            store_one(
                y, first + i, (load_one(x, first + i) - mean) * scale * load_one(gain, i) + load_one(bias, i));
    }
}

SHARING kernel void rsb_rms_norm(
    const global Element *x, const global Element *gain, global Element *y, ulong rows, ulong columns, Number epsilon) {
    local Wide values[RSB_THREADS];
    for (ulong row = get_group_id(0); row < rows; row += get_num_groups(0)) {
        const ulong first = row * columns;
        Wide squares = 0;
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS)
            squares += load_one(x, first + i) * load_one(x, first + i);
        ACROSS_GROUP(squares, values, PLUS);
        const Wide scale = (Wide)1 / sqrt(squares / (Wide)columns + (Wide)epsilon);
        for (ulong i = get_local_id(0); i < columns; i += RSB_THREADS)
            store_one(y, first + i, load_one(x, first + i) * scale * load_one(gain, i));
    }
}
