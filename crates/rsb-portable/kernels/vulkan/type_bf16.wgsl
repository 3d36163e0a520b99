// Elements of bf16: four in a unit of 8 bytes, computed in f32. Memory is written by words of 32 bits, so that no
// feature for smaller ones is needed: what writes elements writes two of them, the even one first.
alias Number = f32;
alias Wide = f32;
alias Value = vec4<f32>;
alias Quad = vec4<f32>;
alias Stored = vec2<u32>;
const LANES: u32 = 4u;
const UNITS: u32 = 2u;
const PRODUCTS: u32 = 1u;
const STEP: u32 = 2u;
const LOWEST: f32 = -3.40282346e38;

@group(0) @binding(0) var<storage, read_write> p0: array<Stored>;
@group(0) @binding(1) var<storage, read> p1: array<Stored>;
@group(0) @binding(2) var<storage, read> p2: array<Stored>;
@group(0) @binding(3) var<storage, read> p3: array<Stored>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(0) var<storage, read_write> products: array<f32>;

// To the nearest, ties to even; NaN stays NaN.
fn brain(x: f32) -> u32 {
    let bits = bitcast<u32>(x);
    let rounded = (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
    return select(rounded, 0x7fc0u, (bits & 0x7fffffffu) > 0x7f800000u);
}
fn two(word: u32) -> vec2<f32> { return vec2<f32>(bitcast<f32>(word << 16u), bitcast<f32>(word & 0xffff0000u)); }
fn word(x: vec2<f32>) -> u32 { return brain(x.x) | (brain(x.y) << 16u); }

fn widen(x: Stored) -> Value { return vec4<f32>(two(x.x), two(x.y)); }
fn narrow(x: Value) -> Stored { return vec2<u32>(word(x.xy), word(x.zw)); }
fn at1(i: u32) -> Wide { return two(p1[i / 4u][i / 2u % 2u])[i % 2u]; }
fn at2(i: u32) -> Wide { return two(p2[i / 4u][i / 2u % 2u])[i % 2u]; }
fn at3(i: u32) -> Wide { return two(p3[i / 4u][i / 2u % 2u])[i % 2u]; }
fn put(i: u32, x: vec2<Wide>) { out[i] = word(x); }
fn words(elements: u32) -> u32 { return elements / 2u; }
// Products are kept in f32.
fn product(i: u32) -> vec2<Wide> { return vec2<Wide>(products[i]); }
fn put_product(i: u32, x: vec2<Wide>) { products[i] = x.x; }
