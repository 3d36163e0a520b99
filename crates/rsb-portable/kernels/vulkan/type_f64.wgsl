// Elements of f64: two in a unit of 16 bytes.
alias Number = f64;
alias Wide = f64;
alias Value = vec2<f64>;
alias Quad = vec4<f64>;
alias Stored = vec2<f64>;
const LANES: u32 = 2u;
const UNITS: u32 = 1u;
const PRODUCTS: u32 = 1u;
const STEP: u32 = 1u;
const LOWEST: f64 = -1.7976931348623157e308lf;

@group(0) @binding(0) var<storage, read_write> p0: array<Stored>;
@group(0) @binding(1) var<storage, read> p1: array<Stored>;
@group(0) @binding(2) var<storage, read> p2: array<Stored>;
@group(0) @binding(3) var<storage, read> p3: array<Stored>;
@group(0) @binding(0) var<storage, read_write> out: array<f64>;

fn widen(x: Stored) -> Value { return x; }
fn narrow(x: Value) -> Stored { return x; }
fn at1(i: u32) -> Wide { return p1[i / 2u][i % 2u]; }
fn at2(i: u32) -> Wide { return p2[i / 2u][i % 2u]; }
fn at3(i: u32) -> Wide { return p3[i / 2u][i % 2u]; }
fn put(i: u32, x: vec2<Wide>) { out[i] = x.x; }
fn product(i: u32) -> vec2<Wide> { return vec2<Wide>(out[i]); }
fn words(elements: u32) -> u32 { return 2u * elements; }
fn put_product(i: u32, x: vec2<Wide>) { out[i] = x.x; }
