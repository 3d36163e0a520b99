// Values of a group brought together through its memory, half of them at a step.

var<workgroup> values: array<Wide, THREADS>;

fn sum_across_group(mine: Wide, place: Place) -> Wide {
    workgroupBarrier();
    values[place.local] = mine;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if place.local < half { values[place.local] += values[place.local + half]; }
        workgroupBarrier();
    }
    return values[0];
}

fn largest_across_group(mine: Wide, place: Place) -> Wide {
    workgroupBarrier();
    values[place.local] = mine;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if place.local < half { values[place.local] = max(values[place.local], values[place.local + half]); }
        workgroupBarrier();
    }
    return values[0];
}
