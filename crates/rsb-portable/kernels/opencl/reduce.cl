// Reductions to one element, in two launches: each group reduces its share of whole packs, and the
// first one also the remaining elements; then one group combines the shares.

SHARING kernel void rsb_sum(const global Element *x, global Wide *partials, ulong n, ulong share) {
    local Wide values[RSB_THREADS];
    const ulong packs = n / LANES, first = get_group_id(0) * share, last = min(first + share, packs);
    Pack sums = (Pack)(0);
    for (ulong i = first + get_local_id(0); i < last; i += RSB_THREADS) sums += load_pack(x, i);
    Wide lanes[LANES];
    SPREAD(sums, lanes);
    Wide sum = 0;
    for (int j = 0; j < LANES; j++) sum += lanes[j];
    if (get_group_id(0) == 0 && get_local_id(0) < n % LANES) sum += load_one(x, packs * LANES + get_local_id(0));
    ACROSS_GROUP(sum, values, PLUS);
    if (get_local_id(0) == 0) partials[get_group_id(0)] = sum;
}

SHARING kernel void rsb_sum_end(const global Wide *partials, global Wide *result, ulong count, Number scale) {
    local Wide values[RSB_THREADS];
    Wide sum = 0;
    for (ulong i = get_local_id(0); i < count; i += RSB_THREADS) sum += partials[i];
    ACROSS_GROUP(sum, values, PLUS);
    if (get_local_id(0) == 0) *result = sum * scale;
}

SHARING kernel void rsb_max(const global Element *x, global Wide *partials, ulong n, ulong share) {
    local Wide values[RSB_THREADS];
    const ulong packs = n / LANES, first = get_group_id(0) * share, last = min(first + share, packs);
    Pack largest = (Pack)(-INFINITY);
    for (ulong i = first + get_local_id(0); i < last; i += RSB_THREADS) largest = max(largest, load_pack(x, i));
    Wide lanes[LANES];
    SPREAD(largest, lanes);
    Wide most = lanes[0];
    for (int j = 1; j < LANES; j++) most = LARGER(most, lanes[j]);
    if (get_group_id(0) == 0 && get_local_id(0) < n % LANES)
        most = LARGER(most, load_one(x, packs * LANES + get_local_id(0)));
    ACROSS_GROUP(most, values, LARGER);
    if (get_local_id(0) == 0) partials[get_group_id(0)] = most;
}

SHARING kernel void rsb_max_end(const global Wide *partials, global Wide *result, ulong count) {
    local Wide values[RSB_THREADS];
    Wide most = -INFINITY;
    for (ulong i = get_local_id(0); i < count; i += RSB_THREADS) most = LARGER(most, partials[i]);
    ACROSS_GROUP(most, values, LARGER);
    if (get_local_id(0) == 0) *result = most;
}

// A value and its position. Of equal values, the first wins.
typedef struct {
    Wide value;
    ulong at;
} Found;

inline Found better(Found a, Found b) {
    const bool second = b.value > a.value || (b.value == a.value && b.at < a.at);
    Found found;
    found.value = second ? b.value : a.value;
    found.at = second ? b.at : a.at;
    return found;
}

SHARING kernel void rsb_argmax(
    const global Element *x, global Wide *largest, global ulong *positions, ulong n, ulong share) {
    local Found values[RSB_THREADS];
    const ulong packs = n / LANES, first = get_group_id(0) * share, last = min(first + share, packs);
    Found found;
    found.value = -INFINITY;
    found.at = ~(ulong)0;
    for (ulong i = first + get_local_id(0); i < last; i += RSB_THREADS) {
        Wide lanes[LANES];
        SPREAD(load_pack(x, i), lanes);
        for (int j = 0; j < LANES; j++) {
            if (lanes[j] > found.value) {
                found.value = lanes[j];
                found.at = i * LANES + j;
            }
        }
    }
    if (get_group_id(0) == 0 && get_local_id(0) < n % LANES) {
        Found rest;
        rest.at = packs * LANES + get_local_id(0);
        rest.value = load_one(x, rest.at);
        found = better(found, rest);
    }
    ACROSS_GROUP(found, values, better);
    if (get_local_id(0) == 0) {
        largest[get_group_id(0)] = found.value;
        positions[get_group_id(0)] = found.at;
    }
}

SHARING kernel void rsb_argmax_end(
    const global Wide *largest, const global ulong *positions, global ulong *result, ulong count) {
    local Found values[RSB_THREADS];
    Found found;
    found.value = -INFINITY;
    found.at = ~(ulong)0;
    for (ulong i = get_local_id(0); i < count; i += RSB_THREADS) {
        Found next;
        next.value = largest[i];
        next.at = positions[i];
        found = better(found, next);
    }
    ACROSS_GROUP(found, values, better);
    if (get_local_id(0) == 0) *result = found.at;
}
