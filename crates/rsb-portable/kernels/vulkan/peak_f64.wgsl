// Peak rates of f64.
alias Scalar = f64;
alias Chain = f64;
const WIDTH: u32 = 1u;
const ROOM: f64 = 5.684341886080801e-14lf;
const HALF: f64 = f64(0.5);
const ONE: f64 = f64(1.0);

@group(0) @binding(0) var<storage, read_write> out: array<f64>;

fn result(x: f32) { out[0] = f64(x); }
