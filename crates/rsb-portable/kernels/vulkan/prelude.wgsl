// What every kernel needs. It comes after the file of the type and before each source.
//
// Buffers are bound from the last to the first, so that what is written is always binding 0. A unit is what a step moves
// at once; each buffer has room to whole packs of 16 bytes. Numbers for a launch are immediate data.

const THREADS: u32 = 256u;

@group(0) @binding(0) var<storage, read_write> w0: array<u32>;
@group(0) @binding(1) var<storage, read> w1: array<u32>;
@group(0) @binding(0) var<storage, read_write> q0: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> q1: array<vec4<u32>>;
