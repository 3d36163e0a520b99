//! hiprtc: sources to code objects, which are kept in a cache. It works without a device.
//!
//! The compiler of ROCm 5 and 6 ends the process when it does not know an architecture: whatever compiles does so in a
//! worker, and says beforehand on standard error what it is about to do.

use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use hip_runtime_sys::{Hiprtc, hiprtcProgram, hiprtcResult, result};
use rsb_model::{DeviceType, Reason};

use super::cache::{self, Key};
use super::catalogue::Module;
use super::code_object;
use super::plan::{self, Card};
use super::runtime::{LOOKALIKE, unavailable};
use crate::compiler::{CodeObject, Job, KernelChoice, KernelCompiler, KernelNeeds};
use crate::device::{DeviceError, Options};
use crate::operation::Operation;

/// What a compilation gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// The code object: ELF.
    pub code: Vec<u8>,
    /// What the compiler said, warnings for instance.
    pub log: String,
    /// From handing the source over to the code object.
    pub time: Duration,
}

/// The run-time compiler, loaded.
#[derive(Debug)]
pub struct Compiler {
    api: Hiprtc,
}

/// A source to be compiled.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The text. It cannot include headers.
    pub text: &'a str,
    /// What it is called in messages.
    pub name: &'a str,
}

/// Whether code came from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cached {
    Yes,
    No,
}

/// A code object and where it came from.
pub(super) struct Code {
    pub(super) bytes: Vec<u8>,
    pub(super) cached: Cached,
}

/// Compiles `source` for the processor `arch`, such as `gfx90a`, with more options such as `-O1`. No device is needed.
///
/// # Errors
/// When there is no compiler or the source is not accepted.
pub fn compile(source: Source<'_>, arch: &str, options: &[&str]) -> Result<Compiled, Reason> {
    Compiler::load()?.compile(source, arch, options)
}

/// The code object of one of our own sources, from the cache where it is there.
pub(super) fn cached(text: &str, name: &str, arch: &str) -> Result<Code, DeviceError> {
    let compiler = Compiler::load().map_err(DeviceError::Unsupported)?;
    let key = Key::new(text, arch, &compiler.identity());
    match cache::folder().and_then(|folder| cache::read(&folder, &key)) {
        Some(bytes) => Ok(Code { bytes, cached: Cached::Yes }),
        None => compile_and_keep(&compiler, Source { text, name }, arch).map_err(DeviceError::Failed),
    }
}

/// As [`cached`], but compiled now.
pub(super) fn fresh(text: &str, name: &str, arch: &str) -> Result<Code, DeviceError> {
    let compiler = Compiler::load().map_err(DeviceError::Unsupported)?;
    compile_and_keep(&compiler, Source { text, name }, arch).map_err(DeviceError::Failed)
}

fn compile_and_keep(compiler: &Compiler, source: Source<'_>, arch: &str) -> Result<Code, Reason> {
    eprintln!(
        "compiling {} for {arch}; should the process end here, this ROCm does not know {arch}: install one that does",
        source.name
    );
    let bytes = compiler.compile(source, arch, &[])?.code;
    if let Some(folder) = cache::folder() {
        // A cache that cannot be written costs time, nothing else.
        let _ = cache::write(&folder, &Key::new(source.text, arch, &compiler.identity()), &bytes);
    }
    Ok(Code { bytes, cached: Cached::No })
}

impl Compiler {
    /// Loads the compiler.
    ///
    /// # Errors
    /// When there is none.
    pub fn load() -> Result<Self, Reason> {
        Ok(Self { api: Hiprtc::load().map_err(unavailable)? })
    }

    /// Which compiler this is: the file with its size and time. hiprtc's own version has been 9.0 for years.
    pub fn identity(&self) -> String {
        let path = self.api.loaded().path();
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let about = std::fs::metadata(&path).ok();
        let size = about.as_ref().map_or(0, std::fs::Metadata::len);
        let time = about.and_then(|about| about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok());
        format!("{} {size} {}", path.display(), time.map_or(0, |time| time.as_secs()))
    }

    /// The compiler's version as it says it: 9.0 from ROCm 5 on.
    pub fn version(&self) -> Option<(i32, i32)> {
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        // SAFETY: both pointers are to live variables of this type.
        let status = self.api.hiprtcVersion.map(|function| unsafe { function(&raw mut major, &raw mut minor) });
        (status == Some(result::SUCCESS)).then_some((major, minor))
    }

    /// As [`compile`].
    ///
    /// # Errors
    /// When the source is not accepted.
    pub fn compile(&self, source: Source<'_>, arch: &str, options: &[&str]) -> Result<Compiled, Reason> {
        // hiprtc of ROCm 5.2 crashes when two threads compile at once.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let program = Program::new(self, source)?;
        let target = format!("--gpu-architecture={arch}");
        let options = std::iter::once(target.as_str()).chain(options.iter().copied());
        let options = options.map(|option| text_of(option, source.name)).collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let compile = self.function(self.api.hiprtcCompileProgram, "hiprtcCompileProgram")?;
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        // SAFETY: the program is live, and so are the options, each of which ends with a zero.
        let status = unsafe { compile(program.handle, count, pointers.as_ptr()) };
        let log = program.log();
        if status != result::SUCCESS {
            return Err(Reason::new(
                format!("compilation of {} for {arch}", source.name),
                format!("{}: {}", self.text(status), first_lines(&log)),
                "install a ROCm that supports the card; where it does, report this with the message above",
            ));
        }
        let code = program.code()?;
        Ok(Compiled { code, log, time: started.elapsed() })
    }

    fn function<F>(&self, function: Option<F>, name: &str) -> Result<F, Reason> {
        let missing = || unavailable(hip_runtime_sys::Unavailable::symbol(name, self.api.loaded().path()));
        function.ok_or_else(missing)
    }

    fn text(&self, status: hiprtcResult) -> String {
        // SAFETY: it takes any number and gives a static text or null.
        let text = self.api.hiprtcGetErrorString.map(|function| unsafe { function(status) });
        match text.filter(|text| !text.is_null()) {
            // SAFETY: the text is static and ends with a zero.
            Some(text) => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
            None => format!("hiprtc status {status}"),
        }
    }

    fn check(&self, what: &str, status: hiprtcResult) -> Result<(), Reason> {
        if status == result::SUCCESS {
            return Ok(());
        }
        Err(Reason::new(what, self.text(status), "run again; when it stays, reinstall ROCm's hiprtc"))
    }
}

impl KernelCompiler for Compiler {
    fn name(&self) -> &'static str {
        "hiprtc"
    }

    fn device_type(&self) -> DeviceType {
        if self.api.loaded().exports(LOOKALIKE) { DeviceType::Simulated } else { DeviceType::Cpu }
    }

    fn compile(&self, job: &Job) -> Result<CodeObject, Reason> {
        let module = Module::ALL.into_iter().find(|module| module.file().strip_suffix(".cu") == Some(&job.source));
        let module = module.ok_or_else(|| {
            Reason::new(format!("source {}", job.source), "there is none of this name", "name one of the list")
        })?;
        let level = format!("-{}", job.level);
        let source = Source { text: module.source(), name: module.file() };
        let Compiled { code, time, .. } = Self::compile(self, source, &job.arch, &[&level])?;
        let target = code_object::target(&code).map(str::to_owned);
        Ok(CodeObject { bytes: code, target, time })
    }

    fn choose(&self, operation: &Operation, options: &Options, arch: &str) -> Result<KernelChoice, DeviceError> {
        let plan = plan::plan(operation, options, Card { arch, units: 1 })?;
        let source = plan.kernel.module.file().trim_end_matches(".cu").to_owned();
        Ok(KernelChoice { source, symbol: plan.symbol, block_size: plan.block })
    }

    fn needs(&self, code: &CodeObject) -> Vec<KernelNeeds> {
        code_object::kernels(&code.bytes)
    }
}

fn text_of(text: &str, name: &str) -> Result<CString, Reason> {
    CString::new(text)
        .map_err(|_| Reason::new(format!("source {name}"), "it holds a zero byte", "take the byte out of it"))
}

/// Compilers say much; the first lines hold the cause.
fn first_lines(log: &str) -> String {
    log.lines().filter(|line| !line.trim().is_empty()).take(6).collect::<Vec<_>>().join(" | ")
}

/// A source under compilation, given back at the end.
struct Program<'c> {
    compiler: &'c Compiler,
    handle: hiprtcProgram,
}

impl<'c> Program<'c> {
    fn new(compiler: &'c Compiler, source: Source<'_>) -> Result<Self, Reason> {
        let create = compiler.function(compiler.api.hiprtcCreateProgram, "hiprtcCreateProgram")?;
        let (text, name) = (text_of(source.text, source.name)?, text_of(source.name, source.name)?);
        let mut handle = std::ptr::null_mut();
        // SAFETY: both texts end with a zero and are copied; no headers, hence no lists of them.
        let status =
            unsafe { create(&raw mut handle, text.as_ptr(), name.as_ptr(), 0, std::ptr::null(), std::ptr::null()) };
        compiler.check("hiprtcCreateProgram", status)?;
        Ok(Self { compiler, handle })
    }

    fn log(&self) -> String {
        let api = &self.compiler.api;
        let (Some(size), Some(get)) = (api.hiprtcGetProgramLogSize, api.hiprtcGetProgramLog) else {
            return String::new();
        };
        let mut bytes = 0;
        // SAFETY: the program is live, the pointer is to a live variable.
        if unsafe { size(self.handle, &raw mut bytes) } != result::SUCCESS {
            return String::new();
        }
        // One byte more than is said: not every version counts the final zero.
        let mut log = vec![0_u8; bytes + 1];
        // SAFETY: the buffer holds as many bytes as the compiler asked for.
        if unsafe { get(self.handle, log.as_mut_ptr().cast()) } != result::SUCCESS {
            return String::new();
        }
        let text = CStr::from_bytes_until_nul(&log).unwrap_or_default();
        text.to_string_lossy().trim().to_owned()
    }

    fn code(&self) -> Result<Vec<u8>, Reason> {
        let compiler = self.compiler;
        let size = compiler.function(compiler.api.hiprtcGetCodeSize, "hiprtcGetCodeSize")?;
        let get = compiler.function(compiler.api.hiprtcGetCode, "hiprtcGetCode")?;
        let mut bytes = 0;
        // SAFETY: the program is live, the pointer is to a live variable.
        compiler.check("hiprtcGetCodeSize", unsafe { size(self.handle, &raw mut bytes) })?;
        let mut code = vec![0_u8; bytes];
        // SAFETY: the buffer holds as many bytes as the compiler asked for.
        compiler.check("hiprtcGetCode", unsafe { get(self.handle, code.as_mut_ptr().cast()) })?;
        Ok(code)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        if let Some(destroy) = self.compiler.api.hiprtcDestroyProgram {
            // SAFETY: the program is live, and nobody else gives it back.
            unsafe { destroy(&raw mut self.handle) };
        }
    }
}
