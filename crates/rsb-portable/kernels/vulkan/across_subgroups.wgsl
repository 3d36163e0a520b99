// Where a work-item stands, also in its subgroup; and values of a group brought together by subgroups: each makes one
// value of its own, then every one of them puts these together.

struct Place {
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(subgroup_invocation_id) lane: u32,
    @builtin(subgroup_size) lanes: u32,
    @builtin(subgroup_id) subgroup: u32,
    @builtin(num_subgroups) subgroups: u32,
}

var<workgroup> values: array<Wide, THREADS>;

fn sum_across_group(mine: Wide, place: Place) -> Wide {
    let own = subgroupAdd(mine);
    workgroupBarrier();
    if place.lane == 0u { values[place.subgroup] = own; }
    workgroupBarrier();
    var all = Wide(0.0);
    for (var i = place.lane; i < place.subgroups; i += place.lanes) { all += values[i]; }
    return subgroupAdd(all);
}

fn largest_across_group(mine: Wide, place: Place) -> Wide {
    let own = subgroupMax(mine);
    workgroupBarrier();
    if place.lane == 0u { values[place.subgroup] = own; }
    workgroupBarrier();
    var all = LOWEST;
    for (var i = place.lane; i < place.subgroups; i += place.lanes) { all = max(all, values[i]); }
    return subgroupMax(all);
}
