//! The run-time compiler: it takes a source, looks whether it could be one, and gives an image that holds it.

use std::ffi::{CStr, c_char, c_int};

use hip_runtime_sys::{hiprtcProgram, hiprtcResult, result};

use super::{handle, put, put_text};
use crate::card;
use crate::image::Image;
use crate::orders::Place;
use crate::state::{Program, State, with};

/// `HIPRTC_ERROR_INVALID_INPUT` and `HIPRTC_ERROR_INVALID_PROGRAM` of its header.
const INVALID_INPUT: hiprtcResult = 3;
const INVALID_PROGRAM: hiprtcResult = 4;

fn answer(call: impl FnOnce(&mut State) -> Result<(), hiprtcResult>) -> hiprtcResult {
    with(call).err().unwrap_or(result::SUCCESS)
}

fn program(state: &mut State, program: hiprtcProgram) -> Result<&mut Program, hiprtcResult> {
    state.programs.get(handle(program)).map_err(|_| INVALID_PROGRAM)
}

/// The text at `pointer`.
///
/// # Safety
/// It must be null or point to a text that ends with a zero.
unsafe fn text(pointer: *const c_char) -> Result<String, hiprtcResult> {
    if pointer.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: by the promise of the caller.
    Ok(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcVersion(major: *mut c_int, minor: *mut c_int) -> hiprtcResult {
    // SAFETY: the caller gives room for one each, or null.
    answer(|_| unsafe { put(major, 9).and_then(|()| put(minor, 0)) }.map_err(|_| INVALID_INPUT))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn hiprtcGetErrorString(status: hiprtcResult) -> *const c_char {
    let text = match status {
        result::SUCCESS => c"HIPRTC_SUCCESS",
        INVALID_INPUT => c"HIPRTC_ERROR_INVALID_INPUT",
        INVALID_PROGRAM => c"HIPRTC_ERROR_INVALID_PROGRAM",
        result::INVALID_OPTION => c"HIPRTC_ERROR_INVALID_OPTION",
        result::COMPILATION => c"HIPRTC_ERROR_COMPILATION",
        _ => c"HIPRTC_ERROR_INTERNAL_ERROR",
    };
    text.as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcCreateProgram(
    to: *mut hiprtcProgram,
    source: *const c_char,
    name: *const c_char,
    _headers: c_int,
    _header_sources: *const *const c_char,
    _header_names: *const *const c_char,
) -> hiprtcResult {
    answer(|state| {
        // SAFETY: the caller gives texts that end with a zero, or null.
        let (source, name) = unsafe { (text(source)?, text(name).unwrap_or_default()) };
        let made = state.programs.add(Program { source, name, ..Program::default() });
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(to, made as hiprtcProgram) }.map_err(|_| INVALID_INPUT)
    })
}

/// The architecture among the options; an option that no compiler has is refused.
fn target(options: &[String]) -> Result<String, String> {
    let mut arch = String::new();
    for option in options {
        let named = option.strip_prefix("--gpu-architecture=").or_else(|| option.strip_prefix("--offload-arch="));
        match named {
            Some(name) => name.split(':').next().unwrap_or(name).clone_into(&mut arch),
            None if ["-O", "-std=", "-D", "-f", "-W", "-m", "-g"].iter().any(|known| option.starts_with(known)) => {}
            None => return Err(format!("unknown argument: '{option}'")),
        }
    }
    Ok(arch)
}

/// What is wrong with a source, as far as it can be told without a compiler.
fn mistake(program: &Program, arch: &str) -> Option<String> {
    if card::find(arch).is_none() {
        return Some(format!("error: invalid target ID '{arch}'"));
    }
    let wrong = |line: &&str| line.trim_start().starts_with("#error") || line.trim_start().starts_with("#include");
    let line = program.source.lines().find(wrong)?;
    Some(format!("{}: error: {}", program.name, line.trim()))
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcCompileProgram(
    of: hiprtcProgram,
    count: c_int,
    options: *const *const c_char,
) -> hiprtcResult {
    if with(|state| state.orders.as_ref().is_ok_and(|orders| orders.aborts(Place::Hiprtc))) {
        eprintln!("rsb-lookalike: hiprtcCompileProgram ends the process, as ordered");
        std::process::abort();
    }
    answer(|state| {
        let count = if options.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
        // SAFETY: the caller gives so many options, each a text that ends with a zero.
        let options = (0..count).map(|index| unsafe { text(*options.add(index)) }).collect::<Result<Vec<_>, _>>()?;
        let program = program(state, of)?;
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
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcGetProgramLogSize(of: hiprtcProgram, bytes: *mut usize) -> hiprtcResult {
    answer(|state| {
        let size = program(state, of)?.log.len() + 1;
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(bytes, size) }.map_err(|_| INVALID_INPUT)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcGetProgramLog(of: hiprtcProgram, log: *mut c_char) -> hiprtcResult {
    answer(|state| {
        let text = &program(state, of)?.log;
        // SAFETY: the caller gives as much room as it was told, or null.
        unsafe { put_text(log, text.len() + 1, text) }.map_err(|_| INVALID_INPUT)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcGetCodeSize(of: hiprtcProgram, bytes: *mut usize) -> hiprtcResult {
    answer(|state| {
        let size = program(state, of)?.code.len();
        // SAFETY: the caller gives room for one, or null.
        unsafe { put(bytes, size) }.map_err(|_| INVALID_INPUT)
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcGetCode(of: hiprtcProgram, to: *mut c_char) -> hiprtcResult {
    answer(|state| {
        let code = &program(state, of)?.code;
        if to.is_null() || code.is_empty() {
            return Err(INVALID_INPUT);
        }
        // SAFETY: the caller gives as much room as it was told.
        unsafe { std::ptr::copy_nonoverlapping(code.as_ptr(), to.cast(), code.len()) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn hiprtcDestroyProgram(of: *mut hiprtcProgram) -> hiprtcResult {
    answer(|state| {
        if of.is_null() {
            return Err(INVALID_PROGRAM);
        }
        // SAFETY: the caller gives the address of a handle.
        let handle = handle(unsafe { *of });
        state.programs.remove(handle).map(drop).map_err(|_| INVALID_PROGRAM)
    })
}
