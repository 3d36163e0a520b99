// Elements of f32: four in a unit of 16 bytes.
alias Number = f32;
alias Wide = f32;
alias Value = vec4<f32>;
alias Quad = vec4<f32>;
alias Stored = vec4<f32>;
const LANES: u32 = 4u;
const UNITS: u32 = 1u;
const PRODUCTS: u32 = 1u;
const STEP: u32 = 1u;
const LOWEST: f32 = -3.40282346e38;

@group(0) @binding(0) var<storage, read_write> p0: array<Stored>;
@group(0) @binding(1) var<storage, read> p1: array<Stored>;
@group(0) @binding(2) var<storage, read> p2: array<Stored>;
@group(0) @binding(3) var<storage, read> p3: array<Stored>;
@group(0) @binding(0) var<storage, read_write> out: array<f32>;

fn widen(x: Stored) -> Value { return x; }
fn narrow(x: Value) -> Stored { return x; }
fn at1(i: u32) -> Wide { return p1[i / 4u][i % 4u]; }
fn at2(i: u32) -> Wide { return p2[i / 4u][i % 4u]; }
fn at3(i: u32) -> Wide { return p3[i / 4u][i % 4u]; }
fn put(i: u32, x: vec2<Wide>) { out[i] = x.x; }
fn product(i: u32) -> vec2<Wide> { return vec2<Wide>(out[i]); }
fn words(elements: u32) -> u32 { return elements; }
fn put_product(i: u32, x: vec2<Wide>) { out[i] = x.x; }
