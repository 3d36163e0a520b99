//! Functions that hiprtc and NVRTC share under different names, with the same arguments and error
//! codes.

/// Defines the functions of hiprtc or NVRTC. `$word` is the prefix of status names.
macro_rules! compiler {
    (
        $vendor:expr, $word:literal, $program:ty,
        version $version:ident = $numbers:expr, text $text:ident, create $create:ident, compile $compile:ident,
        log_size $log_size:ident, log $log:ident, code_size $code_size:ident, code $code:ident, destroy $destroy:ident
    ) => {
        pub(super) fn answer(call: impl FnOnce(&mut State) -> Result<(), c_int>) -> c_int {
            with($vendor, call).err().unwrap_or(result::SUCCESS)
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $version(major: *mut c_int, minor: *mut c_int) -> c_int {
            let [first, second] = $numbers;
            // SAFETY: the C interface requires both output pointers to be null or valid for a
            // write.
            let written = unsafe { put(major, first).and_then(|()| put(minor, second)) };
            answer(|_| written.map_err(|_| result::INVALID_INPUT))
        }

        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $text(status: c_int) -> *const c_char {
            let text = match status {
                result::SUCCESS => concat!($word, "_SUCCESS\0"),
                result::INVALID_INPUT => concat!($word, "_ERROR_INVALID_INPUT\0"),
                result::INVALID_PROGRAM => concat!($word, "_ERROR_INVALID_PROGRAM\0"),
                result::INVALID_OPTION => concat!($word, "_ERROR_INVALID_OPTION\0"),
                result::COMPILATION => concat!($word, "_ERROR_COMPILATION\0"),
                _ => concat!($word, "_ERROR_INTERNAL_ERROR\0"),
            };
            text.as_ptr().cast()
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $create(
            to: *mut $program,
            source: *const c_char,
            name: *const c_char,
            _headers: c_int,
            _header_sources: *const *const c_char,
            _header_names: *const *const c_char,
        ) -> c_int {
            answer(|state| {
                // SAFETY: the C interface requires `source` and `name` to be null or
                // zero-terminated, and `to` to be null or valid for a write.
                unsafe { put_handle(to, state.new_program(source, name)?) }
                    .map_err(|_| result::INVALID_INPUT)
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $compile(
            of: $program,
            count: c_int,
            options: *const *const c_char,
        ) -> c_int {
            answer(|state| {
                state.abort_if_ordered(Place::Compiler, stringify!($compile));
                // SAFETY: the C interface requires `options` to be null or an array of `count`
                // zero-terminated texts.
                unsafe { state.compile(handle(of), count, options) }
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $log_size(of: $program, bytes: *mut usize) -> c_int {
            answer(|state| {
                let size = state.program(handle(of))?.log.len() + 1;
                // SAFETY: the C interface requires this output pointer to be null or valid for a
                // write.
                unsafe { put(bytes, size) }.map_err(|_| result::INVALID_INPUT)
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $log(of: $program, log: *mut c_char) -> c_int {
            answer(|state| {
                let text = &state.program(handle(of))?.log;
                // SAFETY: the C interface requires the output pointer to be null or valid for as
                // many bytes as the size function reported.
                unsafe { put_text(log, text.len() + 1, text) }.map_err(|_| result::INVALID_INPUT)
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $code_size(of: $program, bytes: *mut usize) -> c_int {
            answer(|state| {
                let size = state.program(handle(of))?.code.len();
                // SAFETY: the C interface requires this output pointer to be null or valid for a
                // write.
                unsafe { put(bytes, size) }.map_err(|_| result::INVALID_INPUT)
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $code(of: $program, to: *mut c_char) -> c_int {
            // SAFETY: the C interface requires the output pointer to be null or valid for as many
            // bytes as the size function reported.
            answer(|state| unsafe { state.copy_code(handle(of), to) })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $destroy(of: *mut $program) -> c_int {
            if of.is_null() {
                return result::INVALID_PROGRAM;
            }
            // SAFETY: the C interface requires `of`, which is not null, to point to a handle.
            answer(|state| state.drop_program(handle(unsafe { *of })))
        }
    };
}
pub(super) use compiler;
