// Peak rates of f32.
alias Scalar = f32;
alias Chain = f32;
const WIDTH: u32 = 1u;
// In which it is checked, and the operands are made.
alias Checked = f32;
alias Exact = f32;
const SMALL: f32 = 0x1p-30f;
const SMALLER: f32 = 0.0f;
// 12 times 8 steps of the type.
const ROOM: f32 = 0x1.8p-17f;

@group(0) @binding(0) var<storage, read_write> out: array<f32>;

fn result(x: f32) { out[0] = f32(x); }
fn factor(own: u32, which: u32) -> Chain { return operand(own, which); }
