enable f16;

// Peak rates of f16, two in a register.
alias Scalar = f16;
alias Chain = vec2<f16>;
const WIDTH: u32 = 2u;
const ROOM: f16 = 0.001953125h;
const HALF: vec2<f16> = vec2<f16>(0.5h, 0.5h);
const ONE: vec2<f16> = vec2<f16>(1.0h, 1.0h);

@group(0) @binding(0) var<storage, read_write> out: array<u32>;

fn result(x: f32) { out[0] = pack2x16float(vec2<f32>(x, 0.0)); }
