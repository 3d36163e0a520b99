//! Functions that hipBLASLt and cuBLASLt share under different names.

/// Defines the exported functions of one library. `$answer` converts results to statuses;
/// `$numbers` holds the library's constants.
macro_rules! lt_functions {
    (
        $answer:path, $numbers:expr, $begin:expr, $create:ident $destroy:ident $describe:ident $set_description:ident
        $drop_description:ident $lay_out:ident $set_layout:ident $drop_layout:ident $prefer:ident $set_preference:ident
        $drop_preference:ident $heuristic:ident $multiply:ident
    ) => {
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $create(to: *mut *mut c_void) -> c_int {
            $answer(|state| {
                state.abort_if_ordered(Place::LightProducts, stringify!($create));
                $begin(state)?;
                // SAFETY: the C interface requires this output pointer to be null or valid for a
                // write.
                unsafe { put_handle(to, state.new_blas()?) }.map_err(|_| Refusal::Pointer)
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $destroy(of: *mut c_void) -> c_int {
            $answer(|state| state.drop_blas(handle(of)))
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $describe(to: *mut *mut c_void, compute: c_int, _scalars: c_int) -> c_int {
            // SAFETY: the C interface requires this output pointer to be null or valid for a write.
            $answer(|state| unsafe { put_handle(to, state.new_description(compute)) }.map_err(|_| Refusal::Pointer))
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $lay_out(
            to: *mut *mut c_void,
            datatype: c_int,
            rows: u64,
            columns: u64,
            leading: i64,
        ) -> c_int {
            $answer(|state| {
                let layout = state.new_layout(datatype, [rows, columns], leading);
                // SAFETY: the C interface requires this output pointer to be null or valid for a
                // write.
                unsafe { put_handle(to, layout) }.map_err(|_| Refusal::Pointer)
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $prefer(to: *mut *mut c_void) -> c_int {
            $answer(|state| {
                // SAFETY: the C interface requires this output pointer to be null or valid for a
                // write.
                unsafe { put_handle(to, state.lt.add(LtObject::Preference)) }.map_err(|_| Refusal::Pointer)
            })
        }

        lt_functions!(@set $answer, $numbers, $set_description $set_layout $set_preference);
        lt_functions!(@drop $answer, $drop_description $drop_layout $drop_preference);

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $heuristic(
            of: *mut c_void,
            description: *mut c_void,
            a: *mut c_void,
            b: *mut c_void,
            c: *mut c_void,
            _d: *mut c_void,
            _preference: *mut c_void,
            wanted: c_int,
            results: *mut u64,
            found: *mut c_int,
        ) -> c_int {
            $answer(|state| {
                let product = LtProduct {
                    handle: handle(of),
                    description: handle(description),
                    layouts: [a, b, c].map(|layout| handle(layout)),
                };
                let wanted = usize::try_from(wanted).map_err(|_| Refusal::Value)?;
                // SAFETY: the C interface requires space for `wanted` results, and `found` to be
                // null or valid for a write.
                unsafe {
                    let count = state.lt_algorithms($numbers, product, wanted, results)?;
                    put(found, count).map_err(|_| Refusal::Pointer)
                }
            })
        }

        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $multiply(
            of: *mut c_void,
            description: *mut c_void,
            alpha: *const c_void,
            a: *const c_void,
            a_layout: *mut c_void,
            b: *const c_void,
            b_layout: *mut c_void,
            beta: *const c_void,
            c: *const c_void,
            c_layout: *mut c_void,
            d: *mut c_void,
            d_layout: *mut c_void,
            algorithm: *const u64,
            _workspace: *mut c_void,
            _bytes: usize,
            stream: *mut c_void,
        ) -> c_int {
            $answer(|state| {
                // Only calls that the program makes are emulated; they pass the same matrix as C
                // and D.
                if !std::ptr::eq(c, d) || c_layout != d_layout {
                    return Err(Refusal::Unsupported);
                }
                let product = LtProduct {
                    handle: handle(of),
                    description: handle(description),
                    layouts: [a_layout, b_layout, c_layout].map(|layout| handle(layout)),
                };
                let addresses = [a, b, c].map(|matrix| handle(matrix));
                // SAFETY: the C interface requires `alpha` and `beta` to be null or point to values
                // of the accumulation type, and `algorithm` to be null or an algorithm of this
                // library.
                unsafe {
                    state.lt_multiply($numbers, product, [alpha, beta], addresses, algorithm, handle(stream))
                }
            })
        }
    };
    (@set $answer:path, $numbers:expr, $($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name(
            of: *mut c_void,
            attribute: c_int,
            value: *const c_void,
            bytes: usize,
        ) -> c_int {
            // SAFETY: the C interface requires `value` to be null or point to `bytes` bytes.
            $answer(|state| unsafe { state.set_lt($numbers, handle(of), attribute, value, bytes) })
        }
    )*};
    (@drop $answer:path, $($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name(of: *mut c_void) -> c_int {
            $answer(|state| state.lt.remove(handle(of)).map(drop).map_err(|_| Refusal::Handle))
        }
    )*};
}
pub(crate) use lt_functions;
