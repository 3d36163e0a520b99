enable f16;

// Peak rates of f16, two in a register.
alias Scalar = f16;
alias Chain = vec2<f16>;
const WIDTH: u32 = 2u;
// In which it is checked, and the operands are made.
alias Checked = vec2<f32>;
alias Exact = f32;
const SMALL: f32 = 0x1p-30f;
const SMALLER: f32 = 0.0f;
// 12 times 8 steps of the type.
const ROOM: f32 = 0.09375f;

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn result(x: f32) { out[0] = pack2x16float(vec2<f32>(x, 0.0)); }
fn factor(own: u32, which: u32) -> Chain { return Chain(vec2<f32>(operand(2u * own, which), operand(2u * own + 1u, which))); }
