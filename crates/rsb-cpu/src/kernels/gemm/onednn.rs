//! oneDNN found at run time: products of f32, bf16, f16 and i8 with the vector and matrix units of
//! the CPU, including AMX. Types, values and functions follow `dnnl.h`, `dnnl_types.h` and
//! `dnnl_common_types.h` of version 3.2, which stay compatible in 3.x.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use libloading::Library;
use rsb_device::operation::{Gemm, MatrixLayout};
use rsb_model::{Dtype, Reason};

/// Handle of any oneDNN object.
type Object = *mut c_void;
/// Function that destroys an object.
type Destroy = unsafe extern "C" fn(Object) -> c_int;

const CPU: c_int = 1;
const UNIMPLEMENTED: c_int = 3;
const OPENMP: c_uint = 2;
const IMPLEMENTATION_NAME: c_int = 8;
const SRC: c_int = 1;
const DST: c_int = 17;
const WEIGHTS: c_int = 33;
/// Capacity of arrays of dimensions and strides.
const MOST_DIMENSIONS: usize = 12;

#[repr(C)]
struct Version {
    major: c_int,
    minor: c_int,
    patch: c_int,
    hash: *const c_char,
    cpu_runtime: c_uint,
    gpu_runtime: c_uint,
}

/// `dnnl_exec_arg_t`.
#[repr(C)]
struct Argument {
    index: c_int,
    memory: Object,
}

/// Functions of the library.
pub(super) struct OneDnn {
    engine_create: unsafe extern "C" fn(*mut Object, c_int, usize) -> c_int,
    engine_destroy: Destroy,
    stream_create: unsafe extern "C" fn(*mut Object, Object, c_uint) -> c_int,
    stream_destroy: Destroy,
    stream_wait: unsafe extern "C" fn(Object) -> c_int,
    describe: unsafe extern "C" fn(*mut Object, c_int, *const i64, c_int, *const i64) -> c_int,
    description_destroy: Destroy,
    memory_create: unsafe extern "C" fn(*mut Object, Object, Object, *mut c_void) -> c_int,
    memory_destroy: Destroy,
    matmul:
        unsafe extern "C" fn(*mut Object, Object, Object, Object, Object, Object, Object) -> c_int,
    plan_destroy: Destroy,
    query: unsafe extern "C" fn(Object, c_int, c_int, *mut c_void) -> c_int,
    primitive_create: unsafe extern "C" fn(*mut Object, Object) -> c_int,
    primitive_destroy: Destroy,
    execute: unsafe extern "C" fn(Object, Object, c_int, *const Argument) -> c_int,
    /// Sets the threads of the OpenMP runtime linked with the library, for the calling thread.
    set_threads: unsafe extern "C" fn(c_int),
}

/// An object that is destroyed on drop.
struct Owned {
    object: Object,
    destroy: Destroy,
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the object was created by the function that belongs to `destroy`, and nothing
        // else destroys it. The returned status is not actionable.
        unsafe { (self.destroy)(self.object) };
    }
}

impl Owned {
    /// Creates an object with `make`, which writes its handle.
    fn new(destroy: Destroy, make: impl FnOnce(*mut Object) -> c_int) -> Result<Self, c_int> {
        let mut object = std::ptr::null_mut();
        match make(&raw mut object) {
            0 => Ok(Self { object, destroy }),
            status => Err(status),
        }
    }
}

/// A product that is ready to run. Fields are dropped in this order.
pub(super) struct Product {
    library: &'static OneDnn,
    primitive: Owned,
    stream: Owned,
    arguments: [Argument; 3],
    _memories: [Owned; 3],
    _plan: Plan,
}

/// A matmul primitive descriptor and the objects that it uses.
struct Plan {
    chosen: Owned,
    descriptions: [Owned; 3],
    engine: Owned,
}

const CURE: &str = "install oneDNN 3 built with OpenMP (`pip install onednn-cpu-gomp`; Debian and \
                    Ubuntu: libdnnl3)";

impl OneDnn {
    /// Returns the library, loaded on first use. It is never unloaded because of its threads.
    pub(super) fn get() -> Result<&'static Self, Reason> {
        static LIBRARY: OnceLock<Result<OneDnn, Reason>> = OnceLock::new();
        LIBRARY
            .get_or_init(|| load(&["libdnnl.so.3", "libdnnl.3.dylib"]))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// Checks that the library supports `op` on this CPU.
    pub(super) fn check(&self, op: &Gemm) -> Result<(), String> {
        self.plan(op).map(drop)
    }

    fn plan(&self, op: &Gemm) -> Result<Plan, String> {
        if (op.alpha, op.beta) != (1.0, 0.0) {
            return Err("its products do not support the factors alpha and beta".to_owned());
        }
        let (Some(inputs), Some(output)) = (code(op.dtype), code(op.output_dtype())) else {
            return Err(format!("it does not support products of {}", op.dtype));
        };
        if op.dtype == Dtype::I8 && !adds_in_32_bits() {
            return Err(
                "without VNNI it adds products of i8 in 16 bits, and the sums saturate".to_owned()
            );
        }
        let failed =
            |what: &'static str| move |status: c_int| format!("{what} returned status {status}");
        // SAFETY: the pointer has room for a handle; the first engine of the CPU always exists.
        let engine =
            Owned::new(self.engine_destroy, |place| unsafe { (self.engine_create)(place, CPU, 0) })
                .map_err(failed("dnnl_engine_create"))?;
        let describe = |stored: MatrixLayout, transposed: bool, dtype: c_int| {
            let (sizes, strides, count) = dimensions(op.batch, stored, transposed)?;
            // SAFETY: both arrays have at least as many numbers as the library reads.
            Owned::new(self.description_destroy, |place| unsafe {
                (self.describe)(place, count, sizes.as_ptr(), dtype, strides.as_ptr())
            })
            .map_err(failed("dnnl_memory_desc_create_with_strides"))
        };
        let [a, b, c] = op.layouts();
        let a = describe(a, op.transpose_a, inputs)?;
        let b = describe(b, op.transpose_b, inputs)?;
        let c = describe(c, false, output)?;
        let none = std::ptr::null_mut();
        // SAFETY: the engine and the descriptors are alive; bias and attributes may be null.
        let plan = Owned::new(self.plan_destroy, |place| unsafe {
            (self.matmul)(place, engine.object, a.object, b.object, none, c.object, none)
        });
        let nothing = || format!("it has no product of {} for this CPU or this layout", op.dtype);
        let plan = plan.map_err(|status| match status {
            UNIMPLEMENTED => nothing(),
            status => failed("dnnl_matmul_primitive_desc_create")(status),
        })?;
        if self.implementation(&plan).is_some_and(|name| name.starts_with("ref")) {
            return Err(format!("{}, except a slow reference implementation", nothing()));
        }
        Ok(Plan { chosen: plan, descriptions: [a, b, c], engine })
    }

    /// Returns the library's name for the implementation.
    fn implementation(&self, plan: &Owned) -> Option<String> {
        let mut name: *const c_char = std::ptr::null();
        // SAFETY: this query writes a pointer to a string that lives as long as the plan.
        let status =
            unsafe { (self.query)(plan.object, IMPLEMENTATION_NAME, 0, (&raw mut name).cast()) };
        // SAFETY: the query succeeded, so the string is valid and lives as long as the plan.
        (status == 0 && !name.is_null())
            .then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    }

    /// Prepares the product `op` for the matrices A, B and C at these addresses.
    ///
    /// # Safety
    /// The matrices have the dimensions of `op` and outlive the returned product. C overlaps
    /// neither A nor B.
    pub(super) unsafe fn prepare(
        &'static self,
        op: &Gemm,
        matrices: [*mut c_void; 3],
    ) -> Result<Product, String> {
        let plan = self.plan(op)?;
        let failed =
            |what: &'static str| move |status: c_int| format!("{what} returned status {status}");
        let memory = |description: &Owned, matrix| {
            // SAFETY: the caller guarantees that the matrix has the size of its descriptor.
            Owned::new(self.memory_destroy, |place| unsafe {
                (self.memory_create)(place, description.object, plan.engine.object, matrix)
            })
            .map_err(failed("dnnl_memory_create"))
        };
        let ([of_a, of_b, of_c], [a, b, c]) = (&plan.descriptions, matrices);
        let memories = [memory(of_a, a)?, memory(of_b, b)?, memory(of_c, c)?];
        // SAFETY: the plan is alive.
        let primitive = Owned::new(self.primitive_destroy, |place| unsafe {
            (self.primitive_create)(place, plan.chosen.object)
        })
        .map_err(failed("dnnl_primitive_create"))?;
        // SAFETY: the engine is alive; 1 selects an in-order stream.
        let stream = Owned::new(self.stream_destroy, |place| unsafe {
            (self.stream_create)(place, plan.engine.object, 1)
        })
        .map_err(failed("dnnl_stream_create"))?;
        let [a, b, c] = memories.each_ref().map(|memory| memory.object);
        let arguments = [
            Argument { index: SRC, memory: a },
            Argument { index: WEIGHTS, memory: b },
            Argument { index: DST, memory: c },
        ];
        Ok(Product {
            library: self,
            primitive,
            stream,
            arguments,
            _memories: memories,
            _plan: plan,
        })
    }
}

impl Product {
    /// Computes the product on `threads` threads.
    pub(super) fn run(&mut self, threads: usize) -> Result<(), String> {
        let library = self.library;
        let count = c_int::try_from(threads).unwrap_or(1);
        // SAFETY: every object is alive, the arguments are those of a product, and the caller of
        // `prepare` guarantees that the matrices outlive this value. The number of threads is
        // positive.
        let statuses = unsafe {
            (library.set_threads)(count);
            let done = (library.execute)(
                self.primitive.object,
                self.stream.object,
                3,
                self.arguments.as_ptr(),
            );
            [done, (library.stream_wait)(self.stream.object)]
        };
        match statuses.iter().find(|&&status| status != 0) {
            None => Ok(()),
            Some(status) => Err(format!("dnnl_primitive_execute returned status {status}")),
        }
    }
}

/// Returns the library's number for a data type.
const fn code(dtype: Dtype) -> Option<c_int> {
    match dtype {
        Dtype::F16 => Some(1),
        Dtype::Bf16 => Some(2),
        Dtype::F32 => Some(3),
        Dtype::I32 => Some(4),
        Dtype::I8 => Some(5),
        _ => None,
    }
}

/// Returns whether products of i8 are exact on this CPU. Returns true on architectures other than
/// x86, where only the verification detects inexact results.
fn adds_in_32_bits() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("avx512vnni")
            || std::arch::is_x86_feature_detected!("avxvnni")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        true
    }
}

/// Returns sizes, strides and the number of dimensions of `batch` matrices with layout `stored`,
/// with rows and columns exchanged if transposed.
fn dimensions(
    batch: u64,
    stored: MatrixLayout,
    transposed: bool,
) -> Result<([i64; MOST_DIMENSIONS], [i64; MOST_DIMENSIONS], c_int), String> {
    let MatrixLayout { rows, columns, leading, stride } = stored;
    let all = [batch, rows, columns, leading, stride].map(|value| i64::try_from(value).ok());
    let [Some(batch), Some(rows), Some(columns), Some(leading), Some(each)] = all else {
        return Err("its sizes are limited to 2^63".to_owned());
    };
    let (down, across) = ((rows, leading), (columns, 1));
    let (mut sizes, mut strides) = ([0; MOST_DIMENSIONS], [0; MOST_DIMENSIONS]);
    let [first, second] = if transposed { [across, down] } else { [down, across] };
    let known: &[(i64, i64)] = &[(batch, each), first, second];
    let known = if batch == 1 { known.get(1..).unwrap_or_default() } else { known };
    for ((size, stride), &(own, step)) in sizes.iter_mut().zip(&mut strides).zip(known) {
        (*size, *stride) = (own, step);
    }
    Ok((sizes, strides, if batch == 1 { 2 } else { 3 }))
}

fn load(files: &[&str]) -> Result<OneDnn, Reason> {
    let library = super::blas::open(files).ok_or_else(|| {
        let files = files.join(" or ");
        let why = format!("{files} is neither on the library path nor in the active environment");
        Reason::new("onednn", why, CURE)
    })?;
    functions(library).map_err(|why| Reason::new("onednn", why, CURE))
}

fn functions(library: &'static Library) -> Result<OneDnn, String> {
    macro_rules! symbol {
        ($name:literal) => {
            super::blas::symbol(library, $name)
                .ok_or_else(|| format!("the library has no `{}`", $name))?
        };
    }
    let version: unsafe extern "C" fn() -> *const Version = symbol!("dnnl_version");
    // SAFETY: `dnnl_version` takes no arguments and returns a constant of the library or a null
    // pointer.
    let Some(version) = (unsafe { version().as_ref() }) else {
        return Err("the library reports no version".to_owned());
    };
    if version.major != 3 {
        return Err(format!(
            "version {}.{} is not supported; only version 3 is",
            version.major, version.minor
        ));
    }
    if version.cpu_runtime != OPENMP {
        return Err(
            "it was built without OpenMP, so its number of threads cannot be set".to_owned()
        );
    }
    Ok(OneDnn {
        engine_create: symbol!("dnnl_engine_create"),
        engine_destroy: symbol!("dnnl_engine_destroy"),
        stream_create: symbol!("dnnl_stream_create"),
        stream_destroy: symbol!("dnnl_stream_destroy"),
        stream_wait: symbol!("dnnl_stream_wait"),
        describe: symbol!("dnnl_memory_desc_create_with_strides"),
        description_destroy: symbol!("dnnl_memory_desc_destroy"),
        memory_create: symbol!("dnnl_memory_create"),
        memory_destroy: symbol!("dnnl_memory_destroy"),
        matmul: symbol!("dnnl_matmul_primitive_desc_create"),
        plan_destroy: symbol!("dnnl_primitive_desc_destroy"),
        query: symbol!("dnnl_primitive_desc_query"),
        primitive_create: symbol!("dnnl_primitive_create"),
        primitive_destroy: symbol!("dnnl_primitive_destroy"),
        execute: symbol!("dnnl_primitive_execute"),
        set_threads: symbol!("omp_set_num_threads"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_missing_or_another_is_a_reason_with_a_cure() {
        for (file, why) in
            [("libno-such-dnn.so.7", "libno-such-dnn.so.7"), ("libc.so.6", "dnnl_version")]
        {
            let reason = load(&[file]).err().unwrap();
            assert!(reason.why.contains(why) && reason.cure.contains("install"), "{reason}");
        }
    }

    #[test]
    fn a_batch_is_a_dimension_of_its_own() {
        let stored = MatrixLayout { rows: 2, columns: 3, leading: 3, stride: 6 };
        let (sizes, strides, count) = dimensions(1, stored, false).unwrap();
        assert_eq!((&sizes[..2], &strides[..2], count), (&[2, 3][..], &[3, 1][..], 2));
        let padded = MatrixLayout { rows: 3, columns: 2, leading: 5, stride: 17 };
        let (sizes, strides, count) = dimensions(4, padded, true).unwrap();
        assert_eq!((&sizes[..3], &strides[..3], count), (&[4, 2, 3][..], &[17, 1, 5][..], 3));
        assert!(dimensions(1, MatrixLayout { rows: u64::MAX, ..stored }, false).is_err());
    }
}
