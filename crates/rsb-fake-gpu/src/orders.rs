//! Configuration of the fake GPU by environment variables, including the faults to inject.
//!
//! If a value is invalid, initialization fails with a message that names the variable. The names do
//! not begin with `RSB_`, since the program reserves that prefix for variables that it validates.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

/// An injected fault. KERNEL is a prefix of a kernel's symbol, or of the name of a library product:
/// `rocblas_gemm`, `cublas_gemm`, `hipblaslt_gemm` or `cublaslt_gemm`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// `oom:N`: the N-th allocation of device memory in a process, counted from 1, and all later
    /// ones fail.
    OutOfMemory(u64),
    /// `launch:KERNEL`: the kernel fails; the next wait and all later calls return the error.
    Launch(String),
    /// `lost:KERNEL`: like `launch`, but the GPU is lost.
    Lost(String),
    /// `vanish:KERNEL@FILE`: like `lost`, and creates FILE. While FILE exists, no GPU is found.
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
    /// `nccl:N`: the N-th collective call (RCCL or NCCL) in a process, counted from 1, fails.
    Collective(u64),
    /// `heuristic:none`: hipBLASLt and cuBLASLt return no algorithm.
    NoAlgorithm,
    /// `clock:fast`, `clock:backwards`, `clock:nan` or `clock:stopped`: events report wrong times.
    Clock(ClockFault),
    /// `abort:init`, `abort:hiprtc` (or `nvrtc`), `abort:rocblas` (or `cublas`) or
    /// `abort:hipblaslt` (or `cublaslt`): the call listed in [`Place`] aborts the process.
    Abort(Place),
}

/// Fault in the times that events report.
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

/// Library call that can abort the process.
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
    /// `FAKE_GPU_DEVICES`: number of GPUs; 1 by default.
    pub(crate) gpus: usize,
    /// `FAKE_GPU_ARCH`: architecture of the HIP GPUs; `gfx90a` by default.
    pub(crate) arch: String,
    /// `FAKE_GPU_SM`: architecture of the CUDA GPUs; `sm_90` by default.
    pub(crate) sm: String,
    /// `FAKE_GPU_FREE_MB`: free memory of each GPU in MB (10⁶ bytes); by default the whole memory.
    pub(crate) free_bytes: Option<u64>,
    /// `FAKE_GPU_CALLS`: file to which each stream call appends a line, in order. Examples of lines
    /// are `launch rsb_copy`, `copy`, `fill`, `graph`, `record` and `synchronize`, and `group
    /// start` and `group end` for collectives.
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

    /// Appends a line to the file `FAKE_GPU_CALLS`, if it is configured.
    pub(crate) fn note(&self, call: &str) {
        let Some(path) = &self.calls else { return };
        match File::options().create(true).append(true).open(path) {
            Ok(mut file) => {
                let _ = file.write_all(format!("{call}\n").as_bytes());
            }
            Err(error) => eprintln!("rsb-fake-gpu: FAKE_GPU_CALLS={}: {error}", path.display()),
        }
    }

    /// Returns whether an injected fault aborts the process at `place`.
    pub(crate) fn aborts(&self, place: Place) -> bool {
        self.faults.contains(&Fault::Abort(place))
    }

    /// Returns the kernel in `source` that an injected fault keeps from compiling.
    pub(crate) fn uncompilable(&self, source: &str) -> Option<&str> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::Compile(kernel) if source.contains(kernel.as_str()) => Some(kernel.as_str()),
            _ => None,
        })
    }

    /// Returns the injected clock fault.
    pub(crate) fn lie(&self) -> Option<ClockFault> {
        self.faults
            .iter()
            .find_map(|fault| if let Fault::Clock(lie) = fault { Some(*lie) } else { None })
    }

    /// Returns whether an injected fault has removed the GPUs, that is, whether its file exists.
    pub(crate) fn has_vanished(&self) -> bool {
        self.faults.iter().any(|fault| matches!(fault, Fault::Vanish(_, file) if file.exists()))
    }
}

/// Maximum number of GPUs.
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

/// Returns the number in an environment variable; `None` if the variable is not set.
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
