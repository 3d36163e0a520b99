//! Matrix products by hipBLASLt and cuBLASLt. Both have the same functions with the same
//! prototypes; [`LtCalls`] and [`LtNumbers`] contain the functions and the values of types,
//! attributes and statuses.
//!
//! A product is described once, and the library's heuristic returns algorithms for it, the best
//! first by its own estimate. The first is used, or the fastest of the first N after timing each.

use std::cell::{Cell, OnceCell};
use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rsb_model::{Dtype, Reason};

use super::blas::{BlasLibrary, Product, Shape, Side, Types};
use super::core::Core;
use super::driver::Handle;
use super::memory::Allocation;
use rsb_device::device::{AlgorithmChoice, DeviceError};
use rsb_device::operation::{Accumulation, Epilogue};

type Create = unsafe extern "C" fn(*mut *mut c_void) -> c_int;
type Destroy = unsafe extern "C" fn(*mut c_void) -> c_int;
type SetAttribute = unsafe extern "C" fn(*mut c_void, c_int, *const c_void, usize) -> c_int;

/// Functions of a library, with the parameters and results documented by the library under these
/// names.
pub(crate) struct LtCalls {
    pub(crate) destroy: Destroy,
    pub(crate) describe: unsafe extern "C" fn(*mut *mut c_void, c_int, c_int) -> c_int,
    pub(crate) set_description: SetAttribute,
    pub(crate) drop_description: Destroy,
    pub(crate) lay_out: unsafe extern "C" fn(*mut *mut c_void, c_int, u64, u64, i64) -> c_int,
    pub(crate) set_layout: SetAttribute,
    pub(crate) drop_layout: Destroy,
    pub(crate) prefer: Create,
    pub(crate) set_preference: SetAttribute,
    pub(crate) drop_preference: Destroy,
    #[allow(clippy::type_complexity, reason = "the type is that of the C interface")]
    pub(crate) heuristic: unsafe extern "C" fn(
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        c_int,
        *mut u64,
        *mut c_int,
    ) -> c_int,
    #[allow(clippy::type_complexity, reason = "the type is that of the C interface")]
    pub(crate) multiply: unsafe extern "C" fn(
        *mut c_void,
        *mut c_void,
        *const c_void,
        *const c_void,
        *mut c_void,
        *const c_void,
        *mut c_void,
        *const c_void,
        *const c_void,
        *mut c_void,
        *mut c_void,
        *mut c_void,
        *const u64,
        *mut c_void,
        usize,
        *mut c_void,
    ) -> c_int,
}

/// Takes each function from a library's table, or returns an error that names the missing one.
macro_rules! lt_calls {
    ($api:expr, $lacks:expr, $($call:ident = $name:ident),* $(,)?) => {
        $crate::common::LtCalls { $($call: $api.$name.ok_or_else(|| $lacks(stringify!($name)))?),* }
    };
}
pub(crate) use lt_calls;

/// Constants of a library.
pub(crate) struct LtNumbers {
    /// Name in messages.
    pub(crate) name: &'static str,
    /// Operations on a matrix: not transposed, and transposed.
    pub(crate) operations: [c_int; 2],
    /// Attributes of a description: transposition of A and of B, epilogue, bias and the bias type.
    pub(crate) description: [c_int; 5],
    /// Attribute of a description, of one byte, that accumulates fp8 in the matrix unit's
    /// precision.
    pub(crate) fast_accumulation: Option<c_int>,
    /// Attributes of a layout: number of consecutive matrices, and their stride.
    pub(crate) layout: [c_int; 2],
    /// Size of an algorithm in 64-bit words.
    pub(crate) algorithm_words: usize,
    /// Returns the constant of a type in memory.
    pub(crate) datatype: fn(Dtype) -> Option<c_int>,
    /// Returns the constant of a compute type.
    pub(crate) compute: fn(Dtype) -> Option<c_int>,
    /// Returns the name of a status, and whether it means "not supported".
    pub(crate) status: fn(c_int) -> (&'static str, bool),
    /// How to enable the library's log.
    pub(crate) log: &'static str,
}

/// Returns the epilogue's constant, the same in both libraries: none, bias, and GELU of the sum
/// with the bias.
const fn number(epilogue: Epilogue) -> c_int {
    match epilogue {
        Epilogue::None => 1,
        Epilogue::Bias => 4,
        Epilogue::Gelu => 36,
    }
}

/// Preference attribute for the maximum workspace size, in both libraries.
const WORKSPACE_ATTRIBUTE: c_int = 1;

/// Maximum workspace of an algorithm: the size that PyTorch allows on the largest GPUs.
const WORKSPACE_BYTES: u64 = 32 << 20;

/// Maximum number of algorithms to time.
const MOST_ALGORITHMS: u32 = 64;

/// Time limits for timing one algorithm and all of them. The first algorithm is always timed.
const EACH_MS: f64 = 10.0;
const ALL: Duration = Duration::from_secs(2);

/// A library with a handle for one GPU.
pub(crate) struct LtBlas {
    calls: LtCalls,
    numbers: LtNumbers,
    handle: Handle,
    correction: f64,
    core: Rc<Core>,
    /// Workspace shared by all products, which run one after another in one stream.
    workspace: OnceCell<Allocation>,
    /// Last choice and its key, so that alternating sets of buffers use the same algorithm.
    last: Cell<Option<(Key, AlgorithmChoice)>>,
}

/// Everything that a choice of algorithm depends on.
type Key = (Types, Shape, Epilogue, Accumulation, u32);

/// Library objects for one product, destroyed with it.
pub(crate) struct Plan {
    description: Object,
    /// Layouts of B, A and C.
    layouts: [Object; 3],
    algorithm: Vec<u64>,
    choice: AlgorithmChoice,
}

impl Plan {
    pub(super) fn choice(&self) -> AlgorithmChoice {
        self.choice
    }
}

/// An object created by the library.
struct Object {
    pointer: *mut c_void,
    destroy: Destroy,
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the library created the object, which is destroyed only here.
        let _ = unsafe { (self.destroy)(self.pointer) };
    }
}

impl LtBlas {
    /// Creates a handle for the GPU of `core`. Products of fp8 on that GPU are multiplied by
    /// `correction`.
    pub(crate) fn open(
        core: &Rc<Core>,
        create: Create,
        calls: LtCalls,
        numbers: LtNumbers,
        correction: f64,
    ) -> Result<Self, DeviceError> {
        core.activate()?;
        let handle = std::ptr::null_mut();
        let (workspace, last) = (OnceCell::new(), Cell::new(None));
        let mut blas =
            Self { calls, numbers, handle, correction, core: Rc::clone(core), workspace, last };
        let mut handle = std::ptr::null_mut();
        // SAFETY: the pointer refers to a live variable of this type; the GPU is current.
        blas.check("create a handle", unsafe { create(&raw mut handle) })?;
        blas.handle = handle;
        Ok(blas)
    }

    /// Returns the handle, for functions that are not in the table.
    pub(crate) fn handle(&self) -> Handle {
        self.handle
    }

    fn check(&self, call: &str, code: c_int) -> Result<(), DeviceError> {
        if code == 0 {
            return Ok(());
        }
        let (text, is_unsupported) = (self.numbers.status)(code);
        let what = format!("{}: {call}", self.numbers.name);
        let cure = if is_unsupported {
            "choose another data type or epilogue, sizes that are multiples of 16, or \
             transpose=nt, which products of fp8 and i8 need on many GPUs"
        } else {
            self.numbers.log
        };
        let reason = Reason::new(what, format!("{text} (status {code})"), cure);
        Err(if is_unsupported {
            DeviceError::Unsupported(reason)
        } else {
            DeviceError::Failed(reason)
        })
    }

    fn create_object(
        &self,
        call: &str,
        destroy: Destroy,
        make: impl FnOnce(*mut *mut c_void) -> c_int,
    ) -> Result<Object, DeviceError> {
        let mut pointer = std::ptr::null_mut();
        self.check(call, make(&raw mut pointer))?;
        Ok(Object { pointer, destroy })
    }

    /// Sets an attribute to `value`, whose type must be the one that the library expects.
    fn set<T>(
        &self,
        set: SetAttribute,
        object: &Object,
        attribute: c_int,
        value: &T,
    ) -> Result<(), DeviceError> {
        // SAFETY: the object is live; the value lives for the call and has the length passed.
        let code = unsafe {
            set(object.pointer, attribute, std::ptr::from_ref(value).cast(), size_of::<T>())
        };
        self.check("set an attribute", code)
    }

    fn datatype(&self, dtype: Dtype) -> Result<c_int, DeviceError> {
        (self.numbers.datatype)(dtype).ok_or_else(|| self.no_type(dtype))
    }

    fn no_type(&self, dtype: Dtype) -> DeviceError {
        let (what, why) = (
            format!("gemm by {}", self.numbers.name),
            format!("it does not support products of {dtype} here"),
        );
        DeviceError::Unsupported(Reason::new(what, why, "choose another data type or provider"))
    }

    fn describe(&self, product: &Product) -> Result<Object, DeviceError> {
        let Types { output, compute, .. } = product.types;
        // Scalars have the accumulation type.
        let scalars = self.datatype(if compute == Dtype::Tf32 { Dtype::F32 } else { compute })?;
        let compute = (self.numbers.compute)(compute).ok_or_else(|| self.no_type(compute))?;
        let calls = &self.calls;
        // SAFETY: the pointer refers to a live variable of this type.
        let description = self.create_object(
            "create a product descriptor",
            calls.drop_description,
            |to| unsafe { (calls.describe)(to, compute, scalars) },
        )?;
        let [transpose_a, transpose_b, epilogue, bias, bias_type] = self.numbers.description;
        let set = calls.set_description;
        for (attribute, side) in
            [(transpose_a, product.shape.first), (transpose_b, product.shape.second)]
        {
            self.set(
                set,
                &description,
                attribute,
                &self.numbers.operations[usize::from(side.transposed)],
            )?;
        }
        if let (Accumulation::Fast, Some(attribute)) =
            (product.accumulation, self.numbers.fast_accumulation)
        {
            self.set(set, &description, attribute, &1_i8)?;
        }
        if product.epilogue != Epilogue::None {
            self.set(set, &description, epilogue, &number(product.epilogue))?;
            self.set(set, &description, bias, &product.bias)?;
            self.set(set, &description, bias_type, &self.datatype(output)?)?;
        }
        Ok(description)
    }

    /// Creates the layout of a matrix as stored, with its rows, columns and leading dimension, and
    /// the count and stride of the batch.
    fn lay_out(
        &self,
        dtype: Dtype,
        [rows, columns, leading]: [i32; 3],
        (batch, stride): (i32, i64),
    ) -> Result<Object, DeviceError> {
        let (datatype, calls) = (self.datatype(dtype)?, &self.calls);
        let rows = u64::from(rows.unsigned_abs());
        let columns = u64::from(columns.unsigned_abs());
        // SAFETY: the pointer refers to a live variable of this type.
        let layout =
            self.create_object("create a matrix layout", calls.drop_layout, |to| unsafe {
                (calls.lay_out)(to, datatype, rows, columns, leading.into())
            })?;
        let [count, distance] = self.numbers.layout;
        if batch > 1 {
            self.set(calls.set_layout, &layout, count, &batch)?;
            self.set(calls.set_layout, &layout, distance, &stride)?;
        }
        Ok(layout)
    }

    fn layouts(&self, product: &Product) -> Result<[Object; 3], DeviceError> {
        let Shape { rows, columns, depth, batch, first, second, leading } = product.shape;
        let Types { input, output, .. } = product.types;
        let [b, a, c] = product.strides;
        Ok([
            self.lay_out(input, stored_sizes(first, rows, depth), (batch, b))?,
            self.lay_out(input, stored_sizes(second, depth, columns), (batch, a))?,
            self.lay_out(output, [rows, columns, leading], (batch, c))?,
        ])
    }

    /// Returns at most `wanted` algorithms, the best by the library's estimate first.
    fn algorithms(&self, plan: &Plan, wanted: u32) -> Result<Vec<Vec<u64>>, DeviceError> {
        let calls = &self.calls;
        // SAFETY: the pointer refers to a live variable of this type.
        let preference =
            self.create_object("create a preference", calls.drop_preference, |to| unsafe {
                (calls.prefer)(to)
            })?;
        self.set(calls.set_preference, &preference, WORKSPACE_ATTRIBUTE, &WORKSPACE_BYTES)?;
        let words = self.numbers.algorithm_words;
        let mut results = vec![0_u64; (words + 4) * wanted as usize];
        let [b, a, c] = plan.layouts.each_ref().map(|layout| layout.pointer);
        // Some versions do not set the count on failure.
        let mut found: c_int = 0;
        // SAFETY: all objects are live; there is space for `wanted` results of the library's size.
        let code = unsafe {
            (calls.heuristic)(
                self.handle,
                plan.description.pointer,
                b,
                a,
                c,
                c,
                preference.pointer,
                c_int::try_from(wanted).unwrap_or(c_int::MAX),
                results.as_mut_ptr(),
                &raw mut found,
            )
        };
        self.check("query the algorithms", code)?;
        let found = usize::try_from(found).unwrap_or(0);
        let mut algorithms = Vec::new();
        for result in results.chunks_exact(words + 4).take(found) {
            let fits = result.get(words).is_some_and(|&bytes| bytes <= WORKSPACE_BYTES);
            // The status is in the lower half of the word, since the CPUs that these libraries
            // support are little-endian.
            let is_usable = result.get(words + 1).is_some_and(|&word| word as u32 == 0);
            if fits && is_usable {
                algorithms.extend(result.get(..words).map(<[u64]>::to_vec));
            }
        }
        Ok(algorithms)
    }

    fn none_found(&self, product: &Product) -> DeviceError {
        let Shape { rows, columns, depth, .. } = product.shape;
        let what = format!("gemm by {}", self.numbers.name);
        let why = format!(
            "its heuristic returns no algorithm on {} for {columns}x{rows}x{depth} of {} with the \
             epilogue {}",
            self.core.arch, product.types.input, product.epilogue
        );
        let cure = "choose another data type or epilogue, sizes that are multiples of 16, \
                    transpose=nt, or another provider; a newer library may have an algorithm";
        DeviceError::Unsupported(Reason::new(what, why, cure))
    }

    /// Returns the milliseconds of `launches` products with the algorithm in `plan`.
    unsafe fn time(
        &self,
        product: &Product,
        plan: &Plan,
        launches: u32,
    ) -> Result<f64, DeviceError> {
        let driver = &self.core.driver;
        let marks = [driver.create_event()?, driver.create_event()?];
        let run = || {
            // SAFETY: events and stream are live and the stream is synchronized; the matrices are
            // valid, as the caller guarantees.
            unsafe {
                driver.record(marks[0], self.core.stream)?;
                for _ in 0..launches {
                    self.multiply(product, Some(plan))?;
                }
                driver.record(marks[1], self.core.stream)?;
                self.core.synchronize()?;
                driver.elapsed_ms(marks[0], marks[1])
            }
        };
        let elapsed = run();
        for mark in marks {
            // SAFETY: the event was created above and is destroyed only here.
            let _ = unsafe { driver.destroy_event(mark) };
        }
        Ok(f64::from(elapsed?))
    }

    /// Records the index of the fastest of `algorithms` and the number tried. Each algorithm first
    /// runs once untimed, then for some milliseconds. Algorithms that fail are skipped, unless all
    /// fail.
    unsafe fn fastest(
        &self,
        product: &Product,
        plan: &mut Plan,
        algorithms: &[Vec<u64>],
    ) -> Result<(), DeviceError> {
        if product.reads_c {
            let why = "every trial changes C, and the product reads it";
            let reason =
                Reason::new(format!("algorithms of {}", self.numbers.name), why, "choose beta=0");
            return Err(DeviceError::Unsupported(reason));
        }
        let begun = Instant::now();
        let (mut best, mut tried, mut failed) = (None, 0, None);
        for (index, algorithm) in (0..).zip(algorithms) {
            if tried > 0 && begun.elapsed() > ALL {
                break;
            }
            plan.algorithm.clone_from(algorithm);
            // SAFETY: guaranteed by the caller.
            let once =
                unsafe { self.time(product, plan, 1).and_then(|_| self.time(product, plan, 1)) };
            let each = once.and_then(|once| {
                let launches = (EACH_MS / once.max(1e-3)).clamp(1.0, 200.0) as u32;
                // SAFETY: likewise.
                unsafe { self.time(product, plan, launches) }.map(|time| time / f64::from(launches))
            });
            match each {
                Ok(time) => {
                    tried += 1;
                    if best.is_none_or(|(fastest, _)| time < fastest) {
                        best = Some((time, index));
                    }
                }
                Err(error) => failed = Some(error),
            }
        }
        match (best, failed) {
            (Some((_, index)), _) => {
                plan.choice = AlgorithmChoice { index, tried };
                Ok(())
            }
            (None, failed) => Err(failed.unwrap_or_else(|| self.none_found(product))),
        }
    }
}

/// Returns the rows, columns and leading dimension of a matrix as stored.
fn stored_sizes(side: Side, rows: i32, columns: i32) -> [i32; 3] {
    if side.transposed { [columns, rows, side.leading] } else { [rows, columns, side.leading] }
}

impl Drop for LtBlas {
    fn drop(&mut self) {
        let _ = self.core.activate();
        if !self.handle.is_null() {
            // SAFETY: the library created the handle, which is destroyed only here.
            let _ = unsafe { (self.calls.destroy)(self.handle) };
        }
    }
}

impl BlasLibrary for LtBlas {
    fn correction(&self, input: Dtype) -> f64 {
        if input == Dtype::Fp8 { self.correction } else { 1.0 }
    }

    unsafe fn plan(
        &self,
        product: &Product,
        algorithms: Option<u32>,
    ) -> Result<Option<Plan>, DeviceError> {
        let wanted = algorithms.unwrap_or(1).clamp(1, MOST_ALGORITHMS);
        if self.workspace.get().is_none() {
            let _ = self.workspace.set(Allocation::new_zeroed(&self.core, WORKSPACE_BYTES)?);
        }
        let (description, layouts) = (self.describe(product)?, self.layouts(product)?);
        let choice = AlgorithmChoice { index: 0, tried: 1 };
        let mut plan = Plan { description, layouts, algorithm: Vec::new(), choice };
        let found = self.algorithms(&plan, wanted)?;
        let key = (product.types, product.shape, product.epilogue, product.accumulation, wanted);
        match self.last.get() {
            Some((known, choice)) if known == key => plan.choice = choice,
            // SAFETY: guaranteed by the caller.
            _ if wanted > 1 => unsafe { self.fastest(product, &mut plan, &found) }?,
            _ => {}
        }
        self.last.set(Some((key, plan.choice)));
        let chosen = found.into_iter().nth(plan.choice.index as usize);
        plan.algorithm = chosen.ok_or_else(|| self.none_found(product))?;
        Ok(Some(plan))
    }

    unsafe fn multiply(&self, product: &Product, plan: Option<&Plan>) -> Result<(), DeviceError> {
        let (Some(plan), Some(workspace)) = (plan, self.workspace.get()) else {
            return Err(self.none_found(product));
        };
        let [first, second, c] = product.matrices;
        let [b_layout, a_layout, c_layout] = plan.layouts.each_ref().map(|layout| layout.pointer);
        // SAFETY: all objects are live and describe the matrices, which are valid as the caller
        // guarantees. alpha and beta are on the host, the default location, in the type that the
        // description names, and the workspace has the length passed.
        let code = unsafe {
            (self.calls.multiply)(
                self.handle,
                plan.description.pointer,
                product.alpha,
                first,
                b_layout,
                second,
                a_layout,
                product.beta,
                c,
                c_layout,
                c,
                c_layout,
                plan.algorithm.as_ptr(),
                workspace.address(),
                WORKSPACE_BYTES as usize,
                self.core.stream,
            )
        };
        self.check("multiply", code)
    }
}
