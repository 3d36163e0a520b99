// C = A WT with weights of 8 or 4 bits and a scale per group of weights. Weights are signed
// integers; of 4 bits, two are in a byte, the first in the lower half. Sums are in f32. k and group
// are multiples of 32, so that every row of weights is aligned to 16 bytes and no pack of weights
// spans two groups.

// Work-items that share a row of weights, rows of weights per group, and rows of A by which each
// converted weight is multiplied.
#define SHARE 32
#define OWN (RSB_THREADS / SHARE)
#define TOGETHER 4

// Dot product of 16 bytes of weights with the elements of A from `at` on.
inline float dot_pack(uint4 pack, const global Element *a, ulong at, const uint bits) {
    uint words[4];
    vstore4(pack, 0, words);
    const uint each = 32 / bits;
    float sum = 0;
    for (uint word = 0; word < 4; word++)
        for (uint i = 0; i < each; i++) {
            const int number = as_int(words[word] << (32 - bits - bits * i)) >> (32 - bits);
            sum += (float)number * load_one(a, at + word * each + i);
        }
    return sum;
}

SHARING kernel void rsb_quantized(
    const global Element *a, const global uint4 *w, const global half *scales, global Element *c, ulong m, ulong n,
    ulong k, ulong group, ulong bits) {
    // One additional column, so that work-items of a column do not share a bank.
    local float parts[TOGETHER][OWN][SHARE + 1];
    const uint item = get_local_id(0), lane = item % SHARE, own = item / SHARE;
    const uint of_pack = bits == 4 ? 32 : 16, packs = (uint)k / of_pack, in_group = (uint)group / of_pack;
    const ulong groups = (k + group - 1) / group;
    for (ulong first = get_group_id(0) * (ulong)OWN; first < n; first += get_num_groups(0) * (ulong)OWN) {
        const ulong row = first + own;
        for (ulong top = 0; top < m; top += TOGETHER) {
            const uint count = (uint)min(m - top, (ulong)TOGETHER);
            float sum[TOGETHER];
            for (uint j = 0; j < TOGETHER; j++) sum[j] = 0;
            for (uint p = lane; row < n && p < packs; p += SHARE) {
                const uint4 pack = w[row * packs + p];
                const float scale = vload_half(row * groups + p / in_group, scales);
                for (uint j = 0; j < count; j++) {
                    const ulong at = (top + j) * k + (ulong)p * of_pack;
                    sum[j] += scale * (bits == 4 ? dot_pack(pack, a, at, 4) : dot_pack(pack, a, at, 8));
                }
            }
            for (uint j = 0; j < TOGETHER; j++) parts[j][own][lane] = sum[j];
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item < TOGETHER * OWN) {
                const uint j = item / OWN, i = item % OWN;
                float total = 0;
                for (uint l = 0; l < SHARE; l++) total += parts[j][i][l];
                if (j < count && first + i < n) store_one(c, (top + j) * n + first + i, total);
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
}
