//! Matrix products by hipBLASLt and cuBLASLt. Both have the same functions with the same
//! prototypes; what they are called, and the numbers of types, attributes and statuses, are
//! [`LtCalls`] and [`LtNumbers`].
//!
//! A product is described once, and the library's heuristic names algorithms for it, the best first
//! by its own estimate. Its first choice is taken, or the fastest of the first N, each timed.

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

/// The functions of a library. All take and give what its documentation says of the functions with
/// these names.
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
    #[allow(clippy::type_complexity, reason = "it is that of the C interface")]
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
    #[allow(clippy::type_complexity, reason = "it is that of the C interface")]
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

/// Takes each function out of a library's table, or says which one is missing.
macro_rules! lt_calls {
    ($api:expr, $lacks:expr, $($call:ident = $name:ident),* $(,)?) => {
        $crate::common::LtCalls { $($call: $api.$name.ok_or_else(|| $lacks(stringify!($name)))?),* }
    };
}
pub(crate) use lt_calls;

/// The numbers of a library.
pub(crate) struct LtNumbers {
    /// What people call it.
    pub(crate) name: &'static str,
    /// As it is, and transposed.
    pub(crate) operations: [c_int; 2],
    /// Attributes of a description: which of A and B is transposed, the epilogue, the bias and its
    /// type.
    pub(crate) description: [c_int; 5],
    /// Attribute of a description, of one byte, that keeps sums of fp8 in the precision of the
    /// matrix unit.
    pub(crate) fast_accumulation: Option<c_int>,
    /// Attributes of a layout: how many matrices follow one another, and at which distance.
    pub(crate) layout: [c_int; 2],
    /// Words of an algorithm.
    pub(crate) algorithm_words: usize,
    /// Of a type in memory.
    pub(crate) datatype: fn(Dtype) -> Option<c_int>,
    /// Of a type that is computed in.
    pub(crate) compute: fn(Dtype) -> Option<c_int>,
    /// What a status is called, and whether it says that something cannot be done here.
    pub(crate) status: fn(c_int) -> (&'static str, bool),
    /// How to make the library say more.
    pub(crate) log: &'static str,
}

/// Both libraries call it so: nothing, bias, and GELU of the sum with the bias.
const fn number(epilogue: Epilogue) -> c_int {
    match epilogue {
        Epilogue::None => 1,
        Epilogue::Bias => 4,
        Epilogue::Gelu => 36,
    }
}

/// In both, of a preference: the most bytes of workspace.
const WORKSPACE_ATTRIBUTE: c_int = 1;

/// What an algorithm may need: as much as PyTorch lets one have on the largest GPUs.
const WORKSPACE_BYTES: u64 = 32 << 20;

/// No more algorithms are timed.
const MOST_ALGORITHMS: u32 = 64;

/// How long each algorithm is timed, and all together; the first is always.
const EACH_MS: f64 = 10.0;
const ALL: Duration = Duration::from_secs(2);

/// A library with a handle on one GPU.
pub(crate) struct LtBlas {
    calls: LtCalls,
    numbers: LtNumbers,
    handle: Handle,
    correction: f64,
    core: Rc<Core>,
    /// Given to every product: they follow one another in one stream.
    workspace: OnceCell<Allocation>,
    /// What was chosen last, and for what: sets of buffers that take turns shall have one
    /// algorithm.
    last: Cell<Option<(Key, AlgorithmChoice)>>,
}

/// What a choice holds for.
type Key = (Types, Shape, Epilogue, Accumulation, u32);

/// What a library has to know of a product, given back with it.
pub(crate) struct Plan {
    description: Object,
    /// Of B, A and C.
    layouts: [Object; 3],
    algorithm: Vec<u64>,
    choice: AlgorithmChoice,
}

impl Plan {
    pub(super) fn choice(&self) -> AlgorithmChoice {
        self.choice
    }
}

/// Something that the library made.
struct Object {
    pointer: *mut c_void,
    destroy: Destroy,
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the library made it, and nobody else gives it back.
        let _ = unsafe { (self.destroy)(self.pointer) };
    }
}

impl LtBlas {
    /// Makes a handle on the GPU of `core`. On it a product of fp8 is to be multiplied by
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
        // SAFETY: the pointer is to a live variable of this type; the GPU is the current one.
        blas.check("create a handle", unsafe { create(&raw mut handle) })?;
        blas.handle = handle;
        Ok(blas)
    }

    /// What its functions need to be asked for beside a table of them.
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
            "choose another type or epilogue, sizes that are multiples of 16, or transpose=nt, \
             which products of fp8 \
             and i8 need on many GPUs"
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

    /// Sets an attribute to `value`, which must be of the type that the library wants there.
    fn set<T>(
        &self,
        set: SetAttribute,
        object: &Object,
        attribute: c_int,
        value: &T,
    ) -> Result<(), DeviceError> {
        // SAFETY: the object is live; the value lives for the call and is as long as is said.
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
            format!("it has no products with {dtype} here"),
        );
        DeviceError::Unsupported(Reason::new(what, why, "choose another data type or provider"))
    }

    fn describe(&self, product: &Product) -> Result<Object, DeviceError> {
        let Types { output, compute, .. } = product.types;
        // Factors are of the type that sums are made in.
        let scalars = self.datatype(if compute == Dtype::Tf32 { Dtype::F32 } else { compute })?;
        let compute = (self.numbers.compute)(compute).ok_or_else(|| self.no_type(compute))?;
        let calls = &self.calls;
        // SAFETY: the pointer is to a live variable of this type.
        let description =
            self.create_object("describe a product", calls.drop_description, |to| unsafe {
                (calls.describe)(to, compute, scalars)
            })?;
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

    /// The layout of a matrix with `rows` rows, of which a product makes `batch`, as it is stored.
    fn lay_out(
        &self,
        dtype: Dtype,
        [rows, columns, leading]: [i32; 3],
        (batch, stride): (i32, i64),
    ) -> Result<Object, DeviceError> {
        let (datatype, calls) = (self.datatype(dtype)?, &self.calls);
        let rows = u64::from(rows.unsigned_abs());
        let columns = u64::from(columns.unsigned_abs());
        // SAFETY: the pointer is to a live variable of this type.
        let layout = self.create_object("describe a matrix", calls.drop_layout, |to| unsafe {
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
        let Shape { rows, columns, depth, batch, first, second } = product.shape;
        let Types { input, output, .. } = product.types;
        let [b, a, c] = product.strides;
        Ok([
            self.lay_out(input, stored_sizes(first, rows, depth), (batch, b))?,
            self.lay_out(input, stored_sizes(second, depth, columns), (batch, a))?,
            self.lay_out(output, [rows, columns, rows], (batch, c))?,
        ])
    }

    /// At most `wanted` algorithms, the best by the library's estimate first.
    fn algorithms(&self, plan: &Plan, wanted: u32) -> Result<Vec<Vec<u64>>, DeviceError> {
        let calls = &self.calls;
        // SAFETY: the pointer is to a live variable of this type.
        let preference =
            self.create_object("make a preference", calls.drop_preference, |to| unsafe {
                (calls.prefer)(to)
            })?;
        self.set(calls.set_preference, &preference, WORKSPACE_ATTRIBUTE, &WORKSPACE_BYTES)?;
        let words = self.numbers.algorithm_words;
        let mut results = vec![0_u64; (words + 4) * wanted as usize];
        let [b, a, c] = plan.layouts.each_ref().map(|layout| layout.pointer);
        // Some versions leave it as it was where they fail.
        let mut found: c_int = 0;
        // SAFETY: all objects are live; there is room for `wanted` results, whose size is the
        // library's.
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
        self.check("choose an algorithm", code)?;
        let found = usize::try_from(found).unwrap_or(0);
        let mut algorithms = Vec::new();
        for result in results.chunks_exact(words + 4).take(found) {
            let fits = result.get(words).is_some_and(|&bytes| bytes <= WORKSPACE_BYTES);
            // The status is in the lower half of its word, on the CPUs that these libraries are
            // for.
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
            "its heuristic offers no algorithm on {} for {columns}x{rows}x{depth} of {} with the \
             epilogue {}",
            self.core.arch, product.types.input, product.epilogue
        );
        let cure = "choose another type or epilogue, sizes that are multiples of 16, transpose=nt, \
                    or another provider; \
                    a newer library may have one";
        DeviceError::Unsupported(Reason::new(what, why, cure))
    }

    /// Milliseconds of `launches` products by the algorithm in `plan`.
    unsafe fn time(
        &self,
        product: &Product,
        plan: &Plan,
        launches: u32,
    ) -> Result<f64, DeviceError> {
        let driver = &self.core.driver;
        let marks = [driver.create_event()?, driver.create_event()?];
        let run = || {
            // SAFETY: events and stream are live; the caller promises the matrices, and they are
            // waited for.
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
            // SAFETY: it was made above, and nobody else gives it back.
            let _ = unsafe { driver.destroy_event(mark) };
        }
        Ok(f64::from(elapsed?))
    }

    /// The place of the fastest of `algorithms` and how many were tried: each once untimed, then
    /// for some milliseconds. One that fails is passed over, unless all do.
    unsafe fn fastest(
        &self,
        product: &Product,
        plan: &mut Plan,
        algorithms: &[Vec<u64>],
    ) -> Result<(), DeviceError> {
        if product.reads_c {
            let why = "every trial changes C, which the product reads";
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
            // SAFETY: by the promise of the caller.
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

/// Rows, columns and leading dimension of a matrix as it is stored.
fn stored_sizes(side: Side, rows: i32, columns: i32) -> [i32; 3] {
    if side.transposed { [columns, rows, side.leading] } else { [rows, columns, side.leading] }
}

impl Drop for LtBlas {
    fn drop(&mut self) {
        let _ = self.core.activate();
        if !self.handle.is_null() {
            // SAFETY: the library made it, and nobody else gives it back.
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
            // SAFETY: by the promise of the caller.
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
        // SAFETY: all objects are live and describe the matrices, which the caller promises; alpha
        // and beta are on the host, where a fresh description looks for them, in the type that it
        // names; the workspace is as long as is said.
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
