// Elements of f16: four in a unit of 8 bytes, computed in f32. Memory is written by words of 32 bits, so that no
// feature for smaller ones is needed: what writes elements writes two of them, the even one first.
alias Number = f32;
alias Wide = f32;
alias Value = vec4<f32>;
alias Quad = vec4<f32>;
alias Stored = vec2<u32>;
const LANES: u32 = 4u;
const UNITS: u32 = 2u;
const PRODUCTS: u32 = 2u;
const STEP: u32 = 2u;
const LOWEST: f32 = -3.40282346e38;

@group(0) @binding(0) var<storage, read_write> p0: array<Stored>;
@group(0) @binding(1) var<storage, read> p1: array<Stored>;
@group(0) @binding(2) var<storage, read> p2: array<Stored>;
@group(0) @binding(3) var<storage, read> p3: array<Stored>;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn widen(x: Stored) -> Value { return vec4<f32>(unpack2x16float(x.x), unpack2x16float(x.y)); }
fn narrow(x: Value) -> Stored { return vec2<u32>(pack2x16float(x.xy), pack2x16float(x.zw)); }
fn at1(i: u32) -> Wide { return unpack2x16float(p1[i / 4u][i / 2u % 2u])[i % 2u]; }
fn at2(i: u32) -> Wide { return unpack2x16float(p2[i / 4u][i / 2u % 2u])[i % 2u]; }
fn at3(i: u32) -> Wide { return unpack2x16float(p3[i / 4u][i / 2u % 2u])[i % 2u]; }
fn put(i: u32, x: vec2<Wide>) { out[i] = pack2x16float(x); }
fn product(i: u32) -> vec2<Wide> { return unpack2x16float(out[i]); }
fn words(elements: u32) -> u32 { return elements / 2u; }
fn put_product(i: u32, x: vec2<Wide>) { out[i] = pack2x16float(x); }
