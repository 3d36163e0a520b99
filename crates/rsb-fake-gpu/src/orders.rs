//! Configuration of the fake GPU by environment variables, and the faults to inject.
//!
//! An invalid value is not ignored: initialization fails with a message that names it. The
//! variables do not begin with `RSB_`, since the program reserves that prefix and checks its
//! variables.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

/// An injected fault. Kernels are named by a prefix of their symbol; library products are
/// `rocblas_gemm`, `cublas_gemm`, `hipblaslt_gemm` and `cublaslt_gemm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `oom:N`: the N-th allocation of device memory in a process, from 1, and all later ones fail.
    OutOfMemory(u64),
    /// `launch:KERNEL`: the kernel fails; the next wait and all later calls return the error.
    Launch(String),
    /// `lost:KERNEL`: like `launch`, but the GPU is lost.
    Lost(String),
    /// `vanish:KERNEL@FILE`: like `lost`, and creates the file. While it exists, there is no GPU.
    Vanish(String, PathBuf),
    /// `hang:KERNEL`: the wait for the kernel never returns.
    Hang(String),
    /// `stuck:KERNEL`: the call that launches the kernel never returns.
    Stuck(String),
    /// `compile:KERNEL`: sources with this kernel do not compile.
    Compile(String),
    /// `wrong:KERNEL`: bits of the result are flipped.
    Wrong(String),
    /// `nan:KERNEL`: the result is NaN.
    Nan(String),
    /// `nccl:N`: RCCL or NCCL refuses the N-th collective call in a process, from 1.
    Collective(u64),
    /// `heuristic:none`: hipBLASLt and cuBLASLt return no algorithm.
    NoAlgorithm,
    /// `clock:fast`, `clock:backwards`, `clock:nan` or `clock:stopped`.
    Clock(ClockFault),
    /// `abort:init`, `abort:hiprtc` (or `nvrtc`), `abort:rocblas` (or `cublas`) or
    /// `abort:hipblaslt` (or `cublaslt`): that call aborts the process.
    Abort(Place),
}

/// Fault of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockFault {
    /// Reports a millionth of the time.
    Fast,
    /// Reports negative times.
    Backwards,
    /// Reports NaN.
    Nan,
    /// Reports zero.
    Stopped,
}

/// Call at which the process can be aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `hipInit` and `cuInit`.
    Init,
    /// `hiprtcCompileProgram` and `nvrtcCompileProgram`.
    Compiler,
    /// `rocblas_create_handle` and `cublasCreate_v2`.
    Products,
    /// `hipblasLtCreate` and `cublasLtCreate`.
    LightProducts,
}

/// Complete configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FakeConfig {
    /// `FAKE_GPU_DEVICES`: number of GPUs, 1 if not set.
    pub(crate) gpus: usize,
    /// `FAKE_GPU_ARCH`: architecture with HIP, `gfx90a` if not set.
    pub(crate) arch: String,
    /// `FAKE_GPU_SM`: architecture with CUDA, `sm_90` if not set.
    pub(crate) sm: String,
    /// `FAKE_GPU_FREE_MB`: free memory of each GPU, in 10⁶ bytes; all of its memory if not set.
    pub(crate) free_bytes: Option<u64>,
    /// `FAKE_GPU_CALLS`: a file to which each call on a stream appends a line, in order, such as
    /// `launch rsb_copy`. Others are `copy`, `fill`, `graph`, `record`, `synchronize`, and for
    /// collectives `group start` and `group end`.
    pub(crate) calls: Option<PathBuf>,
    /// `FAKE_GPU_FAULT`: faults, separated by commas.
    pub(crate) faults: Vec<Fault>,
}

impl FakeConfig {
    /// Reads the configuration from this process's environment.
    pub(crate) fn here() -> Result<Self, String> {
        Self::read(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let gpus = number(&variable, "FAKE_GPU_DEVICES")?.unwrap_or(1);
        if gpus > MOST_GPUS {
            return Err(format!("FAKE_GPU_DEVICES={gpus} is more than {MOST_GPUS}"));
        }
        let faults = variable("FAKE_GPU_FAULT").unwrap_or_default();
        let faults = faults.split(',').map(str::trim).filter(|text| !text.is_empty());
        Ok(Self {
            gpus: gpus as usize,
            arch: variable("FAKE_GPU_ARCH").unwrap_or_else(|| "gfx90a".to_owned()),
            sm: variable("FAKE_GPU_SM").unwrap_or_else(|| "sm_90".to_owned()),
            free_bytes: number(&variable, "FAKE_GPU_FREE_MB")?
                .map(|megabytes| megabytes.saturating_mul(1_000_000)),
            calls: variable("FAKE_GPU_CALLS").map(PathBuf::from),
            faults: faults.map(fault).collect::<Result<_, _>>()?,
        })
    }

    /// Appends a line to the file of calls, if one is configured.
    pub(crate) fn note(&self, call: &str) {
        let Some(path) = &self.calls else { return };
        match File::options().create(true).append(true).open(path) {
            Ok(mut file) => {
                let _ = file.write_all(format!("{call}\n").as_bytes());
            }
            Err(error) => eprintln!("rsb-fake-gpu: FAKE_GPU_CALLS={}: {error}", path.display()),
        }
    }

    /// Returns whether the process is to be aborted at `place`.
    pub(crate) fn aborts(&self, place: Place) -> bool {
        self.faults.contains(&Fault::Abort(place))
    }

    /// Returns the kernel whose fault makes `source` fail to compile.
    pub(crate) fn uncompilable(&self, source: &str) -> Option<&str> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::Compile(kernel) if source.contains(kernel.as_str()) => Some(kernel.as_str()),
            _ => None,
        })
    }

    /// Returns the fault of the clock.
    pub(crate) fn lie(&self) -> Option<ClockFault> {
        self.faults
            .iter()
            .find_map(|fault| if let Fault::Clock(lie) = fault { Some(*lie) } else { None })
    }

    /// Returns whether the file exists that marks the GPUs as vanished.
    pub(crate) fn has_vanished(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault, Fault::Vanish(_, file) if file.exists()))
    }
}

/// Maximum number of GPUs: more than any machine has.
const MOST_GPUS: u64 = 64;

fn fault(text: &str) -> Result<Fault, String> {
    let (kind, rest) = text.split_once(':').ok_or_else(|| no_fault_error(text))?;
    Ok(match (kind, rest) {
        ("oom", _) => Fault::OutOfMemory(
            rest.parse().ok().filter(|&which| which > 0).ok_or_else(|| no_fault_error(text))?,
        ),
        ("launch", _) => Fault::Launch(rest.to_owned()),
        ("lost", _) => Fault::Lost(rest.to_owned()),
        ("vanish", _) => {
            let (kernel, file) = rest.split_once('@').ok_or_else(|| no_fault_error(text))?;
            Fault::Vanish(kernel.to_owned(), PathBuf::from(file))
        }
        ("hang", _) => Fault::Hang(rest.to_owned()),
        ("stuck", _) => Fault::Stuck(rest.to_owned()),
        ("compile", _) => Fault::Compile(rest.to_owned()),
        ("wrong", _) => Fault::Wrong(rest.to_owned()),
        ("nan", _) => Fault::Nan(rest.to_owned()),
        ("nccl", _) => Fault::Collective(
            rest.parse().ok().filter(|&which| which > 0).ok_or_else(|| no_fault_error(text))?,
        ),
        ("heuristic", "none") => Fault::NoAlgorithm,
        ("clock", "fast") => Fault::Clock(ClockFault::Fast),
        ("clock", "backwards") => Fault::Clock(ClockFault::Backwards),
        ("clock", "nan") => Fault::Clock(ClockFault::Nan),
        ("clock", "stopped") => Fault::Clock(ClockFault::Stopped),
        ("abort", "init") => Fault::Abort(Place::Init),
        ("abort", "hiprtc" | "nvrtc") => Fault::Abort(Place::Compiler),
        ("abort", "rocblas" | "cublas") => Fault::Abort(Place::Products),
        ("abort", "hipblaslt" | "cublaslt") => Fault::Abort(Place::LightProducts),
        _ => return Err(no_fault_error(text)),
    })
}

fn no_fault_error(text: &str) -> String {
    format!("FAKE_GPU_FAULT: unknown fault `{text}`")
}

/// Returns the number in a variable, if it is set.
fn number(variable: &impl Fn(&str) -> Option<String>, name: &str) -> Result<Option<u64>, String> {
    let Some(text) = variable(name) else { return Ok(None) };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => Err(format!("{name}={text} is not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<FakeConfig, String> {
        FakeConfig::read(|name| {
            set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_ordered_is_one_sound_gpu() {
        let orders = read(&[]).unwrap();
        assert_eq!((orders.gpus, orders.arch.as_str(), orders.sm.as_str()), (1, "gfx90a", "sm_90"));
        assert_eq!(orders.faults, []);
    }

    #[test]
    fn faults_are_understood_or_refused() {
        let orders =
            read(&[("FAKE_GPU_FAULT", "oom:3, clock:fast,vanish:rsb_gelu@/tmp/x")]).unwrap();
        assert_eq!(
            orders.faults,
            [
                Fault::OutOfMemory(3),
                Fault::Clock(ClockFault::Fast),
                Fault::Vanish("rsb_gelu".into(), "/tmp/x".into())
            ]
        );
        for wrong in ["oom", "oom:0", "clock:slow", "abort:me", "vanish:x", "nonsense:1"] {
            assert!(read(&[("FAKE_GPU_FAULT", wrong)]).unwrap_err().contains(wrong));
        }
        assert!(read(&[("FAKE_GPU_DEVICES", "many")]).is_err());
        assert!(read(&[("FAKE_GPU_DEVICES", "65")]).is_err());
    }
}
