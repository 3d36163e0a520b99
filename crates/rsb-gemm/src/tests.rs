use half::{bf16, f16};

use rsb_model::Dtype;

use super::*;

/// Checks A·B of small whole numbers, which every type represents and sums exactly.
fn check(kernel: GemmKernel, op: Gemm) {
    let (mut a, mut b) = (numbers(op.m * op.k, 5), numbers(op.k * op.n, 3));
    let mut c = vec![0_u32; (op.m * op.n) as usize];
    macro_rules! run {
        ($make:expr) => {{
            let (a, b) =
                (a.iter().map($make).collect::<Vec<_>>(), b.iter().map($make).collect::<Vec<_>>());
            let matrices =
                Matrices { a: a.as_ptr().cast(), b: b.as_ptr().cast(), c: c.as_mut_ptr().cast() };
            let prepared = PreparedGemm::with_kernel(kernel, op, 2).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..2 {
                    let prepared = &prepared;
                    // SAFETY: the matrices have these dimensions and outlive the scope; only these
                    // threads use C.
                    scope.spawn(move || unsafe { prepared.compute(thread, &matrices) });
                }
            });
        }};
    }
    match op.dtype {
        Dtype::F16 => run!(|x: &f64| f16::from_f64(*x)),
        Dtype::Bf16 => run!(|x: &f64| bf16::from_f64(*x)),
        Dtype::I8 => run!(|x: &f64| *x as i8),
        _ => run!(|x: &f64| *x as f32),
    }
    for (matrix, is_turned, rows, columns) in
        [(&mut a, op.transpose_a, op.m, op.k), (&mut b, op.transpose_b, op.k, op.n)]
    {
        if is_turned {
            *matrix = (0..rows * columns)
                .map(|index| matrix[(index % columns * rows + index / columns) as usize])
                .collect();
        }
    }
    for index in 0..c.len() {
        let (row, column) = (index / op.n as usize, index % op.n as usize);
        let right: f64 = (0..op.k as usize)
            .map(|k| a[row * op.k as usize + k] * b[k * op.n as usize + column])
            .sum();
        let found = match op.output_dtype() {
            Dtype::I32 => f64::from(c[index].cast_signed()),
            // Two f16 per word.
            Dtype::F16 => f16::from_bits((c[index / 2] >> (16 * (index % 2))) as u16).to_f64(),
            _ => f64::from(f32::from_bits(c[index])),
        };
        let step = if op.output_dtype() == Dtype::F16 { right.abs() / 1024.0 } else { 0.0 };
        assert!(
            (found - right).abs() < 0.5 + step,
            "{} {op:?}: {found} is not {right} at {row}, {column}",
            kernel.name
        );
    }
}

fn numbers(count: u64, factor: u64) -> Vec<f64> {
    (0..count).map(|index| ((index * factor + index / 7) % 7) as f64 - 3.0).collect()
}

/// Includes kernels that no provider would select on this CPU, which has wider units.
#[test]
fn every_kernel_of_this_cpu_computes_the_same_products() {
    let mut names = Vec::new();
    for (kernel, dtype) in dispatch::available() {
        for (m, n, k) in [(1, 40, 70), (7, 133, 37), (61, 80, 65), (20, 70, 256), (160, 100, 2300)]
        {
            for (transpose_a, transpose_b) in
                [(false, false), (false, true), (true, false), (true, true)]
            {
                check(kernel, Gemm { transpose_a, transpose_b, ..Gemm::new(dtype, m, n, k) });
            }
        }
        names.push((kernel.name, dtype));
    }
    for dtype in [Dtype::F32, Dtype::F16, Dtype::Bf16, Dtype::I8] {
        assert!(
            names.contains(&("native", dtype)),
            "the native kernel must run on every CPU: {names:?}"
        );
    }
}
