// Elements of i8, sixteen in 16 bytes; sums and products are whole numbers of 32 bits. For matrix products alone.
alias Number = f32;
alias Wide = i32;
alias Quad = vec4<i32>;
const PRODUCTS: u32 = 1u;
const STEP: u32 = 1u;

@group(0) @binding(1) var<storage, read> p1: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> p2: array<vec4<u32>>;
@group(0) @binding(0) var<storage, read_write> out: array<i32>;

fn byte(word: u32, i: u32) -> i32 { return extractBits(bitcast<i32>(word), 8u * (i % 4u), 8u); }
fn at1(i: u32) -> Wide { return byte(p1[i / 16u][i / 4u % 4u], i); }
fn at2(i: u32) -> Wide { return byte(p2[i / 16u][i / 4u % 4u], i); }
fn product(i: u32) -> vec2<Wide> { return vec2<Wide>(out[i]); }
fn put_product(i: u32, x: vec2<Wide>) { out[i] = x.x; }
