//! Peak arithmetic rates. Nothing is computed: the kernels store 1, the expected result.

use rsb_model::Dtype;
use rsb_model::architecture::Engine;

use super::{FakeKernel, twin};
use crate::element::Element;
use crate::launch::{KernelError, Launch, Work};

pub(super) const TWINS: &[FakeKernel] = &[
    twin("rsb_peak_vector", 2, |launch| peak(launch, Engine::Vector)),
    twin("rsb_peak_matrix", 2, |launch| peak(launch, Engine::Matrix)),
    twin("rsb_peak_sparse", 2, |launch| peak(launch, Engine::Sparse)),
];

/// Returns the number of operations per unit of work.
const fn piece(engine: Engine) -> u64 {
    match engine {
        Engine::Vector => 24_576,
        Engine::Matrix | Engine::Sparse => 196_608,
    }
}

fn peak(launch: &mut Launch<'_>, engine: Engine) -> Result<Work, KernelError> {
    match launch.dtype() {
        Dtype::F64 => one::<f64>(launch)?,
        Dtype::F32
        | Dtype::Tf32
        | Dtype::Fp8
        | Dtype::Bf8
        | Dtype::Fp6
        | Dtype::Fp4
        | Dtype::I4 => {
            one::<f32>(launch)?;
        }
        Dtype::F16 => one::<half::f16>(launch)?,
        Dtype::Bf16 => one::<half::bf16>(launch)?,
        Dtype::I8 => one::<i8>(launch)?,
        other @ Dtype::I32 => return Err(KernelError::no_type(other)),
    }
    let flops = launch.count(1).saturating_mul(piece(engine)) as f64;
    Ok(Work { engine, ..Work::vector(launch.dtype(), flops) })
}

fn one<T: Element>(launch: &mut Launch<'_>) -> Result<(), KernelError> {
    launch.output::<T>(0, 1)?.fill(T::put(1.0));
    Ok(())
}
