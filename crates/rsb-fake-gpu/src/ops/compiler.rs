//! The runtime compiler shared by hiprtc and NVRTC. It does basic checks of a source, and returns
//! an image that contains the source.

use std::ffi::{CStr, c_char, c_int};

use crate::gpu;
use crate::image::Image;
use crate::state::{Program, State};

/// Statuses that both compilers share.
pub(crate) mod result {
    use std::ffi::c_int;

    pub(crate) use hip_runtime_sys::result::{COMPILATION, INVALID_OPTION, SUCCESS};

    /// Invalid argument.
    pub(crate) const INVALID_INPUT: c_int = 3;
    /// Invalid program handle.
    pub(crate) const INVALID_PROGRAM: c_int = 4;
}

/// Returns the text at `pointer`.
///
/// # Safety
/// It must be null or point to a zero-terminated text.
unsafe fn text(pointer: *const c_char) -> Result<String, c_int> {
    if pointer.is_null() {
        return Err(result::INVALID_INPUT);
    }
    // SAFETY: guaranteed by the caller.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

/// Returns the architecture in the options; unknown options are rejected.
fn target(options: &[String]) -> Result<String, String> {
    let mut arch = String::new();
    let mut named_next = false;
    for option in options {
        let named = option
            .strip_prefix("--gpu-architecture=")
            .or_else(|| option.strip_prefix("--offload-arch="));
        let named = named
            .or_else(|| option.strip_prefix("-arch="))
            .or(named_next.then_some(option.as_str()));
        named_next = matches!(option.as_str(), "-arch" | "--gpu-architecture");
        match named {
            Some(name) => bare(name).clone_into(&mut arch),
            None if named_next || KNOWN.iter().any(|known| option.starts_with(known)) => {}
            None => return Err(format!("unknown argument: '{option}'")),
        }
    }
    // Architecture-specific targets such as sm_90a run on the GPU without the suffix.
    let plain = arch.strip_suffix('a').filter(|plain| plain.starts_with("sm_")).map(str::to_owned);
    Ok(plain.unwrap_or(arch))
}

/// Removes features from an architecture name: `gfx90a` from `gfx90a:xnack-`, `sm_90` from
/// `sm_90a`. The suffix of `sm_90a` adds instructions that only this chip has.
fn bare(name: &str) -> &str {
    let name = name.split(':').next().unwrap_or(name);
    if name.starts_with("sm_") { name.trim_end_matches(['a', 'f']) } else { name }
}

/// Prefixes of accepted compiler options.
const KNOWN: [&str; 13] = [
    "-O",
    "-std=",
    "-D",
    "-f",
    "-W",
    "-m",
    "-g",
    "-I",
    "--std=",
    "--define-macro=",
    "--include-path=",
    "--ptxas-options",
    "-default-device",
];

/// Returns the compile error for an unknown architecture, or for an `#error` or `#include` line.
fn mistake(program: &Program, arch: &str) -> Option<String> {
    if gpu::find(arch).is_none() {
        return Some(format!("error: invalid target ID '{arch}'"));
    }
    let line = program.source.lines().find(|line| {
        let line = line.trim_start();
        line.starts_with("#error") || line.starts_with("#include")
    })?;
    Some(format!("{}: error: {}", program.name, line.trim()))
}

impl State {
    /// Returns the program of a handle.
    pub(crate) fn program(&mut self, program: usize) -> Result<&mut Program, c_int> {
        self.programs.get(program).map_err(|_| result::INVALID_PROGRAM)
    }

    /// Creates a program from source code.
    ///
    /// # Safety
    /// `source` and `name` must be null or point to zero-terminated texts.
    pub(crate) unsafe fn new_program(
        &mut self,
        source: *const c_char,
        name: *const c_char,
    ) -> Result<usize, c_int> {
        // SAFETY: guaranteed by the caller.
        let (source, name) = unsafe { (text(source)?, text(name).unwrap_or_default()) };
        Ok(self.programs.add(Program { source, name, ..Program::default() }))
    }

    /// Compiles a program.
    ///
    /// # Safety
    /// `options` must be null or point to `count` zero-terminated texts.
    pub(crate) unsafe fn compile(
        &mut self,
        program: usize,
        count: c_int,
        options: *const *const c_char,
    ) -> Result<(), c_int> {
        let count = if options.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
        // SAFETY: guaranteed by the caller.
        let options = (0..count)
            .map(|index| unsafe { text(*options.add(index)) })
            .collect::<Result<Vec<_>, _>>()?;
        let orders = self.orders.clone();
        let program = self.program(program)?;
        if let Some(kernel) =
            orders.as_ref().ok().and_then(|orders| orders.uncompilable(&program.source))
        {
            program.log =
                format!("{}: error: use of undeclared identifier in '{kernel}'", program.name);
            return Err(result::COMPILATION);
        }
        let arch = target(&options).map_err(|log| {
            program.log = log;
            result::INVALID_OPTION
        })?;
        if let Some(mistake) = mistake(program, &arch) {
            program.log = mistake;
            return Err(result::COMPILATION);
        }
        program.code = Image { arch, source: program.source.clone() }.encode();
        Ok(())
    }

    /// Copies the code of a program to `to`.
    ///
    /// # Safety
    /// `to` must be null or valid for writes of the code's size.
    pub(crate) unsafe fn copy_code(
        &mut self,
        program: usize,
        to: *mut c_char,
    ) -> Result<(), c_int> {
        let code = &self.program(program)?.code;
        if to.is_null() || code.is_empty() {
            return Err(result::INVALID_INPUT);
        }
        // SAFETY: guaranteed by the caller.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), to.cast(), code.len()) };
        Ok(())
    }

    /// Destroys a program.
    pub(crate) fn drop_program(&mut self, program: usize) -> Result<(), c_int> {
        self.programs.remove(program).map(drop).map_err(|_| result::INVALID_PROGRAM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_architecture_is_found_among_the_options_of_either_compiler() {
        for options in [
            &["-O3", "--offload-arch=gfx90a:xnack-"][..],
            &["--gpu-architecture=gfx90a", "-std=c++17"],
            &["-arch=gfx90a"],
            &["-arch", "gfx90a", "-DX=1"],
        ] {
            assert_eq!(target_of(options).as_deref(), Ok("gfx90a"), "{options:?}");
        }
        assert_eq!(target_of(&["--gpu-architecture=sm_90a"]).as_deref(), Ok("sm_90"));
        assert!(target_of(&["--nonsense"]).is_err());
    }

    fn target_of(options: &[&str]) -> Result<String, String> {
        target(&options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>())
    }
}
