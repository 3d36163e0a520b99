//! Runtime compilation of sources to GPU code, which is cached. hiprtc and NVRTC have the same
//! interface under two names; neither needs a device.
//!
//! Compilers of ROCm 5 and 6 end the process when they do not support an architecture. Callers
//! compile in a worker process, and a message on standard error announces each compilation.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rsb_model::Reason;
use runtime_loading::Loaded;

use super::cache::{self, Key};
use super::catalog::{self, Module};
use super::plan::{self, Gpu};
use rsb_device::compiler::{CodeObject, Compilation, Job, KernelChoice, VECTOR_ADD};
use rsb_device::device::{DeviceError, Options};
use rsb_device::operation::Operation;

/// Result of a compilation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// ELF code.
    pub code: Vec<u8>,
    /// Log of the compiler, such as warnings.
    pub log: String,
    /// Time from passing the source to the compiler until the code is available.
    pub time: Duration,
}

/// A source to compile.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// Text of the source. It cannot include headers.
    pub text: &'a str,
    /// Name in messages.
    pub name: &'a str,
}

/// Whether code came from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheHit {
    Yes,
    No,
}

/// Code and its origin.
pub(super) struct Code {
    pub(super) bytes: Vec<u8>,
    pub(super) cached: CacheHit,
}

/// A loaded compiler of a vendor.
pub(crate) trait Toolchain {
    /// Returns the compiler's identity including its version, part of the cache key.
    fn identity(&self) -> String;

    /// Compiles for `arch` with additional options such as `-O1`.
    ///
    /// # Errors
    /// If the compiler rejects the source.
    fn compile(&self, source: Source<'_>, arch: &str, options: &[&str])
    -> Result<Compiled, Reason>;

    /// Returns the architecture to compile for: `arch`, or, if the compiler does not support it,
    /// another one whose code runs on a GPU of `arch`.
    fn closest(&self, arch: &str) -> String {
        arch.to_owned()
    }

    /// If the compiler is not expected to support `arch`, returns the reason with the first release
    /// that does.
    fn unknown(&self, _: &str) -> Option<Reason> {
        None
    }
}

/// Returns the code of one of this program's sources, from the cache if present.
pub(super) fn load_or_compile(
    toolchain: &dyn Toolchain,
    module: Module,
    arch: &str,
) -> Result<Code, DeviceError> {
    cached_in(cache::dir().as_deref(), toolchain, module, arch)
}

fn cached_in(
    dir: Option<&Path>,
    toolchain: &dyn Toolchain,
    module: Module,
    arch: &str,
) -> Result<Code, DeviceError> {
    let key = Key::new(module.source(), &toolchain.closest(arch), &toolchain.identity());
    match dir.and_then(|dir| cache::read(dir, &key)) {
        Some(bytes) => Ok(Code { bytes, cached: CacheHit::Yes }),
        None => fresh_in(dir, toolchain, module, arch),
    }
}

/// Compiles like [`load_or_compile`], without reading the cache.
pub(super) fn fresh(
    toolchain: &dyn Toolchain,
    module: Module,
    arch: &str,
) -> Result<Code, DeviceError> {
    fresh_in(cache::dir().as_deref(), toolchain, module, arch)
}

fn fresh_in(
    dir: Option<&Path>,
    toolchain: &dyn Toolchain,
    module: Module,
    arch: &str,
) -> Result<Code, DeviceError> {
    let source = Source { text: module.source(), name: module.file() };
    let arch = &toolchain.closest(arch);
    let cause = toolchain.unknown(arch).map_or_else(
        || format!("this compiler does not support {arch}: install one that does"),
        |reason| format!("{}: {}", reason.why, reason.cure),
    );
    let _ = writeln!(
        std::io::stderr(),
        "compiling {} for {arch}; if the process ends here, {cause}",
        source.name
    );
    let bytes = toolchain.compile(source, arch, &[]).map_err(DeviceError::Failed)?.code;
    if let Some(dir) = dir {
        // Failing to write the cache is not an error: the code is only compiled again next time.
        let _ = cache::write(dir, &Key::new(source.text, arch, &toolchain.identity()), &bytes);
    }
    Ok(Code { bytes, cached: CacheHit::No })
}

/// Identifies a file by its path, size and modification time.
pub(crate) fn file_identity(path: &Path) -> String {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let about = std::fs::metadata(&path).ok();
    let size = about.as_ref().map_or(0, std::fs::Metadata::len);
    let time =
        about.and_then(|about| about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok());
    format!("{} {size} {}", path.display(), time.map_or(0, |time| time.as_secs()))
}

/// Compiles one of this program's sources for `job`.
pub(crate) fn job(
    toolchain: &dyn Toolchain,
    job: &Job,
    options: &[&str],
) -> Result<CodeObject, Reason> {
    let source = source_of(&job.source)?;
    let compiled = || {
        let Compiled { code, time, .. } = toolchain.compile(source, &job.arch, options)?;
        Ok(CodeObject { bytes: code, target: None, time })
    };
    match job.compilation {
        Compilation::Cold => compiled(),
        Compilation::Warm => {
            let compiler = [&[toolchain.identity().as_str()], options].concat().join(" ");
            warm(cache::dir().as_deref(), &Key::new(source.text, &job.arch, &compiler), compiled)
        }
    }
}

/// Returns the source called `name`: one of the modules, or the smallest source.
fn source_of(name: &str) -> Result<Source<'static>, Reason> {
    if name == VECTOR_ADD {
        return Ok(Source { text: catalog::VECTOR_ADD_SOURCE, name: "vector_add.cu" });
    }
    let module = Module::ALL.into_iter().find(|module| module.stem() == name);
    let source = module.map(|module| Source { text: module.source(), name: module.file() });
    source.ok_or_else(|| {
        Reason::new(
            format!("source {name}"),
            "there is no source of this name",
            "choose a source from the list",
        )
    })
}

/// Returns the code of `key` from the cache in `dir`. If it is absent, compiles it and adds it to
/// the cache.
fn warm(
    dir: Option<&Path>,
    key: &Key,
    compiled: impl FnOnce() -> Result<CodeObject, Reason>,
) -> Result<CodeObject, Reason> {
    let dir = dir.ok_or_else(|| no_cache_error("this user has no cache directory".to_owned()))?;
    let started = Instant::now();
    if let Some(bytes) = cache::read(dir, key) {
        return Ok(CodeObject { bytes, target: None, time: started.elapsed() });
    }
    let made = compiled()?;
    cache::write(dir, key, &made.bytes)
        .map_err(|error| no_cache_error(format!("{} cannot be written: {error}", dir.display())))?;
    Ok(made)
}

fn no_cache_error(why: String) -> Reason {
    Reason::new(
        "cache of compiled kernels",
        why,
        "set HOME or XDG_CACHE_HOME to a writable directory with free space, or choose \
         compilation=cold",
    )
}

/// Returns the kernel that would run `operation` on a GPU of `arch`.
pub(crate) fn choose(
    operation: &Operation,
    options: &Options,
    arch: &str,
) -> Result<KernelChoice, DeviceError> {
    let plan = plan::plan(operation, options, Gpu { arch, units: 1 })?;
    let source = plan.kernel.module.stem().to_owned();
    Ok(KernelChoice { source, symbol: plan.symbol, block_size: plan.block })
}

/// Functions of a runtime compiler, whose programs have type `P`.
pub(crate) struct Rtc<P> {
    pub(crate) loaded: Loaded,
    /// Prefix of its calls: `hiprtc`.
    pub(crate) prefix: &'static str,
    /// Name of the function that returns the code, such as `GetCode`. The function for the size
    /// appends `Size`.
    pub(crate) code_call: &'static str,
    /// Remedy if the compiler rejects one of this program's sources.
    pub(crate) cure: &'static str,
    pub(crate) create: Option<
        unsafe extern "C" fn(
            *mut P,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> c_int,
    >,
    pub(crate) compile: Option<unsafe extern "C" fn(P, c_int, *const *const c_char) -> c_int>,
    pub(crate) log_size: Option<unsafe extern "C" fn(P, *mut usize) -> c_int>,
    pub(crate) log: Option<unsafe extern "C" fn(P, *mut c_char) -> c_int>,
    pub(crate) code_size: Option<unsafe extern "C" fn(P, *mut usize) -> c_int>,
    pub(crate) code: Option<unsafe extern "C" fn(P, *mut c_char) -> c_int>,
    pub(crate) destroy: Option<unsafe extern "C" fn(*mut P) -> c_int>,
    pub(crate) error_text: Option<unsafe extern "C" fn(c_int) -> *const c_char>,
    pub(crate) version: Option<unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int>,
}

/// Status of success, for both compilers.
const SUCCESS: c_int = 0;

impl<P: Copy> Rtc<P> {
    /// Returns the version that the compiler reports.
    pub(crate) fn version(&self) -> Option<(i32, i32)> {
        let (mut major, mut minor): (c_int, c_int) = (0, 0);
        // SAFETY: both pointers refer to live variables of this type.
        let status =
            self.version.map(|function| unsafe { function(&raw mut major, &raw mut minor) });
        (status == Some(SUCCESS)).then_some((major, minor))
    }

    /// Compiles `source` with `options`; `arch` is only used in messages.
    pub(crate) fn compile(
        &self,
        source: Source<'_>,
        arch: &str,
        options: &[String],
    ) -> Result<Compiled, Reason> {
        // hiprtc of ROCm 5.2 crashes if two threads compile at once.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        let program = Program::new(self, source)?;
        let options = options
            .iter()
            .map(|option| text_of(option, source.name))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let compile = self.function(self.compile, "CompileProgram")?;
        let count = c_int::try_from(pointers.len()).unwrap_or(c_int::MAX);
        // SAFETY: the program and the zero-terminated options are live.
        let status = unsafe { compile(program.handle, count, pointers.as_ptr()) };
        let log = program.log();
        if status != SUCCESS {
            return Err(Reason::new(
                format!("compilation of {} for {arch}", source.name),
                format!("{}: {}", self.text(status), first_lines(&log)),
                self.cure,
            ));
        }
        let code = program.code()?;
        Ok(Compiled { code, log, time: started.elapsed() })
    }

    fn function<F>(&self, function: Option<F>, name: &str) -> Result<F, Reason> {
        function.ok_or_else(|| {
            let name = format!("{}{name}", self.prefix);
            super::unavailable(runtime_loading::Unavailable::symbol(&name, self.loaded.path()))
        })
    }

    fn text(&self, status: c_int) -> String {
        // SAFETY: the function accepts any number and returns a static string or null.
        let text = self.error_text.map(|function| unsafe { function(status) });
        match text.filter(|text| !text.is_null()) {
            // SAFETY: the string is static and null-terminated.
            Some(text) => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
            None => format!("{} status {status}", self.prefix),
        }
    }

    fn check(&self, what: &str, status: c_int) -> Result<(), Reason> {
        if status == SUCCESS {
            return Ok(());
        }
        let cure =
            format!("run again; if it fails again, reinstall {}", self.loaded.path().display());
        Err(Reason::new(format!("{}{what}", self.prefix), self.text(status), cure))
    }
}

fn text_of(text: &str, name: &str) -> Result<CString, Reason> {
    CString::new(text).map_err(|_| {
        Reason::new(format!("source {name}"), "it contains a zero byte", "remove the zero byte")
    })
}

/// Returns the first lines of a compiler's log, which contain the cause.
fn first_lines(log: &str) -> String {
    log.lines().filter(|line| !line.trim().is_empty()).take(6).collect::<Vec<_>>().join(" | ")
}

/// A source during compilation, destroyed at the end.
struct Program<'c, P: Copy> {
    compiler: &'c Rtc<P>,
    handle: P,
}

impl<'c, P: Copy> Program<'c, P> {
    fn new(compiler: &'c Rtc<P>, source: Source<'_>) -> Result<Self, Reason> {
        let create = compiler.function(compiler.create, "CreateProgram")?;
        let (text, name) = (text_of(source.text, source.name)?, text_of(source.name, source.name)?);
        let mut handle = std::mem::MaybeUninit::<P>::uninit();
        // SAFETY: both strings are null-terminated, and the compiler copies them; there are no
        // headers.
        let status = unsafe {
            create(
                handle.as_mut_ptr(),
                text.as_ptr(),
                name.as_ptr(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            )
        };
        compiler.check("CreateProgram", status)?;
        // SAFETY: the compiler has written the handle, since it returned success.
        Ok(Self { compiler, handle: unsafe { handle.assume_init() } })
    }

    fn log(&self) -> String {
        let (Some(size), Some(get)) = (self.compiler.log_size, self.compiler.log) else {
            return String::new();
        };
        let mut bytes = 0;
        // SAFETY: the program is live, the pointer refers to a live variable.
        if unsafe { size(self.handle, &raw mut bytes) } != SUCCESS {
            return String::new();
        }
        // One byte more than the reported size, since some versions do not count the terminating
        // null.
        let mut log = vec![0_u8; bytes + 1];
        // SAFETY: the buffer has as many bytes as the compiler requested.
        if unsafe { get(self.handle, log.as_mut_ptr().cast()) } != SUCCESS {
            return String::new();
        }
        let text = CStr::from_bytes_until_nul(&log).unwrap_or_default();
        text.to_string_lossy().trim().to_owned()
    }

    fn code(&self) -> Result<Vec<u8>, Reason> {
        let compiler = self.compiler;
        let size_call = format!("{}Size", compiler.code_call);
        let size = compiler.function(compiler.code_size, &size_call)?;
        let get = compiler.function(compiler.code, compiler.code_call)?;
        let mut bytes = 0;
        // SAFETY: the program is live, the pointer refers to a live variable.
        compiler.check(&size_call, unsafe { size(self.handle, &raw mut bytes) })?;
        let mut code = vec![0_u8; bytes];
        // SAFETY: the buffer has as many bytes as the compiler requested.
        let status = unsafe { get(self.handle, code.as_mut_ptr().cast()) };
        compiler.check(compiler.code_call, status)?;
        Ok(code)
    }
}

impl<P: Copy> Drop for Program<'_, P> {
    fn drop(&mut self) {
        if let Some(destroy) = self.compiler.destroy {
            // SAFETY: the program is live and destroyed only here.
            unsafe { destroy(&raw mut self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// A compiler that returns the same code for everything and counts its calls.
    struct Counting {
        compiled: Cell<u32>,
    }

    impl Toolchain for Counting {
        fn identity(&self) -> String {
            "counting 1".to_owned()
        }

        fn compile(&self, _: Source<'_>, _: &str, _: &[&str]) -> Result<Compiled, Reason> {
            self.compiled.set(self.compiled.get() + 1);
            Ok(Compiled {
                code: b"\x7fELF code".to_vec(),
                log: String::new(),
                time: Duration::ZERO,
            })
        }
    }

    #[test]
    fn a_warm_compilation_is_read_and_never_compiled_twice() {
        let dir = tempfile::tempdir().unwrap();
        let (key, compiled) = (Key::new("source", "gfx90a", "counting 1 -O3"), Cell::new(0));
        let ask = |dir| {
            let made = warm(dir, &key, || {
                compiled.set(compiled.get() + 1);
                Ok(CodeObject {
                    bytes: b"code".to_vec(),
                    target: None,
                    time: Duration::from_secs(9),
                })
            });
            made.map(|made| (made.bytes, compiled.get()))
        };
        assert_eq!(ask(Some(dir.path())), Ok((b"code".to_vec(), 1)));
        assert_eq!(ask(Some(dir.path())), Ok((b"code".to_vec(), 1)));
        assert!(
            ask(None).unwrap_err().cure.contains("compilation=cold"),
            "without a cache directory, compilation=warm must be refused"
        );
    }

    #[test]
    fn a_damaged_or_cut_file_of_the_cache_is_compiled_anew() {
        let dir = tempfile::tempdir().unwrap();
        let toolchain = Counting { compiled: Cell::new(0) };
        let ask = || {
            let code = cached_in(Some(dir.path()), &toolchain, Module::Memory, "gfx90a").unwrap();
            assert_eq!(code.bytes, b"\x7fELF code");
            (code.cached, toolchain.compiled.get())
        };
        assert_eq!((ask(), ask()), ((CacheHit::No, 1), (CacheHit::Yes, 1)));
        let file = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        let whole = std::fs::read(&file).unwrap();
        let mut damaged = whole.clone();
        *damaged.last_mut().unwrap() ^= 1;
        for (bytes, count) in [(&whole[..whole.len() - 1], 2), (&damaged, 3), (b"", 4)] {
            std::fs::write(&file, bytes).unwrap();
            assert_eq!((ask(), ask()), ((CacheHit::No, count), (CacheHit::Yes, count)));
        }
    }
}
