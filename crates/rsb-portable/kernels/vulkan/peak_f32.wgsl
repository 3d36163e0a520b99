// Peak rates of f32.
alias Scalar = f32;
alias Chain = f32;
const WIDTH: u32 = 1u;
const ROOM: f32 = 0x1p-20f;
const HALF: f32 = f32(0.5);
const ONE: f32 = f32(1.0);

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

fn result(x: f32) { out[0] = f32(x); }
