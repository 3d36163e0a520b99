// Peak rates of f64.
alias Scalar = f64;
alias Chain = f64;
const WIDTH: u32 = 1u;
// In which it is checked, and the operands are made.
alias Checked = f64;
alias Exact = f64;
const SMALL: f64 = 9.313225746154785e-10lf;
const SMALLER: f64 = 5.551115123125783e-17lf;
// 12 times 8 steps of the type.
const ROOM: f64 = 2.1316282072803006e-14lf;

@group(0) @binding(0) var<storage, read_write> out: array<f64>;

fn result(x: f32) { out[0] = f64(x); }
fn factor(own: u32, which: u32) -> Chain { return operand(own, which); }
