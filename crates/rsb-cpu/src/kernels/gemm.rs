//! GEMM by the `gemm` crate, the `rsb-gemm` crate of this workspace, and, if installed, OpenBLAS,
//! oneMKL and oneDNN.
#![allow(unsafe_code)]

mod blas;
mod onednn;

use std::ffi::{c_int, c_void};

use half::f16;
use rsb_gemm::{GemmError, Matrices, PreparedGemm};
use rsb_model::{Dtype, Reason};

use crate::kernel::{Bound, CpuKernel, no_kernel, unsupported_error};
use crate::memory::refused_memory;
use crate::span::Span;
use crate::thread_pool::ThreadPool;
use blas::Blas;
use onednn::OneDnn;
use rsb_device::device::{DeviceError, Options};
use rsb_device::operation::Gemm;

/// Providers in order of preference.
const PROVIDERS: [&str; 5] = ["gemm", "native", "openblas", "mkl", "onednn"];

/// Whether the `gemm` crate supports f16. On `x86_64` it is built without f16, since `rsb-gemm`
/// supports it.
const CRATE_HAS_F16: bool = cfg!(not(target_arch = "x86_64"));

/// A product and its matrices.
#[derive(Clone, Copy)]
pub(super) struct Product {
    pub(super) op: Gemm,
    pub(super) a: Span,
    pub(super) b: Span,
    pub(super) c: Span,
}

/// A library that computes one matrix of the batch per call.
#[derive(Clone, Copy)]
enum Library {
    Crate,
    Blas(&'static Blas),
}

/// A provider of products.
#[derive(Clone, Copy)]
enum Provider {
    /// One call for each matrix of the batch.
    Library(Library),
    /// A prepared oneDNN primitive.
    OneDnn(&'static OneDnn),
    /// `rsb-gemm`, by provider name.
    Native(&'static str),
}

pub(super) fn kernel(op: &Gemm, options: &Options, bound: Bound) -> Result<CpuKernel, DeviceError> {
    op.check_plain(options, "libraries of the CPU")?;
    op.check_layouts().map_err(DeviceError::Unsupported)?;
    let product = Product { op: *op, a: bound.span(0), b: bound.span(1), c: bound.span(2) };
    let provider = match options.provider.as_deref() {
        Some(name) => find(name, op)?,
        None => choose_provider(op)?,
    };
    let library = match provider {
        Provider::Library(library) => library,
        Provider::OneDnn(library) => return prepare_onednn(library, &product, bound),
        Provider::Native(name) => return prepare_native(name, &product, bound),
    };
    Ok(CpuKernel::new(library.name(), move || {
        // SAFETY: `bound` keeps the three buffers alive; they are distinct and have the sizes of
        // the operation, and nothing else uses them during a launch.
        unsafe { library.run(&product, &bound.pool) };
        Ok(())
    }))
}

/// Prepares a product with `rsb-gemm`.
fn prepare_native(name: &str, product: &Product, bound: Bound) -> Result<CpuKernel, DeviceError> {
    let prepared = native(name, product.op, &bound.pool)?;
    let product = *product;
    Ok(CpuKernel::new(prepared.name(), move || {
        // SAFETY: `bound` keeps the three buffers alive; they are distinct and have the sizes of
        // the operation, and nothing else uses them during a launch.
        unsafe { native_product(&prepared, &product, &bound.pool) };
        Ok(())
    }))
}

/// Prepares `op` with provider `name` of `rsb-gemm`, for the threads of `pool`.
pub(super) fn native(name: &str, op: Gemm, pool: &ThreadPool) -> Result<PreparedGemm, DeviceError> {
    PreparedGemm::new(name, op, pool.threads()).map_err(|error| match error {
        GemmError::Unsupported(reason) => DeviceError::Unsupported(reason),
        GemmError::OutOfMemory { bytes } => refused_memory(bytes),
    })
}

/// Computes a product with `rsb-gemm`.
///
/// # Safety
/// As [`Library::run`]; `prepared` was created for this operation and number of threads.
pub(super) unsafe fn native_product(prepared: &PreparedGemm, product: &Product, pool: &ThreadPool) {
    let matrices = Matrices {
        a: product.a.start::<c_void>().cast_const(),
        b: product.b.start::<c_void>().cast_const(),
        c: product.c.start::<c_void>(),
    };
    // SAFETY: guaranteed by the caller.
    pool.each(|thread| unsafe { prepared.compute(thread, &matrices) });
}

/// Prepares a oneDNN product that is reused between launches.
fn prepare_onednn(
    library: &'static OneDnn,
    product: &Product,
    bound: Bound,
) -> Result<CpuKernel, DeviceError> {
    let matrices = [product.a, product.b, product.c].map(Span::start);
    // SAFETY: `bound` keeps the three buffers alive for the lifetime of the kernel; they are
    // distinct and have the sizes of the operation.
    let prepared = unsafe { library.prepare(&product.op, matrices) };
    let dtype = product.op.dtype;
    let mut work = prepared.map_err(|why| onednn_error(dtype, why))?;
    Ok(CpuKernel::new("onednn", move || {
        work.run(bound.pool.threads()).map_err(|why| onednn_error(dtype, why))
    }))
}

fn onednn_error(dtype: Dtype, why: String) -> DeviceError {
    DeviceError::Failed(Reason::new(
        format!("{dtype} product by onednn"),
        why,
        "choose another provider, or report this error with the version of oneDNN",
    ))
}

impl Library {
    fn name(self) -> &'static str {
        match self {
            Self::Crate => "gemm",
            Self::Blas(blas) => blas.name,
        }
    }

    /// Computes the product of every matrix in the batch.
    ///
    /// # Safety
    /// The spans have the sizes of the operation and outlive the call. C overlaps neither A nor B,
    /// and nothing else uses it.
    unsafe fn run(self, product: &Product, pool: &ThreadPool) {
        for batch in 0..product.op.batch as usize {
            // SAFETY: guaranteed by the caller.
            unsafe {
                match self {
                    Self::Crate => crate_product(product, batch, pool),
                    Self::Blas(blas) => blas_product(blas, product, batch, pool.threads()),
                }
            }
        }
    }
}

impl Provider {
    fn name(self) -> &'static str {
        match self {
            Self::Library(library) => library.name(),
            Self::OneDnn(_) => "onednn",
            Self::Native(name) => name,
        }
    }
}

/// Returns the provider named `name`, if it supports `op`.
fn find(name: &str, op: &Gemm) -> Result<Provider, DeviceError> {
    check_type(op)?;
    let provider = match name {
        "gemm" => Ok(Provider::Library(Library::Crate)),
        "openblas" => Blas::openblas().map(|blas| Provider::Library(Library::Blas(blas))),
        "mkl" => Blas::mkl().map(|blas| Provider::Library(Library::Blas(blas))),
        "onednn" => OneDnn::get().map(Provider::OneDnn),
        _ => match rsb_gemm::PROVIDERS.into_iter().find(|own| *own == name) {
            Some(own) => Ok(Provider::Native(own)),
            None => return Err(unknown(name)),
        },
    };
    let provider = provider.map_err(DeviceError::Unsupported)?;
    check(provider, op)?;
    Ok(provider)
}

fn unknown(name: &str) -> DeviceError {
    let why = format!(
        "the CPU has the providers {}, and {}",
        PROVIDERS.join(", "),
        rsb_gemm::PROVIDERS[1..].join(", ")
    );
    unsupported_error(format!("provider {name}"), why, "choose one of these, or omit the provider")
}

/// Rejects data types that no provider supports.
fn check_type(op: &Gemm) -> Result<(), DeviceError> {
    match op.dtype {
        Dtype::F64 | Dtype::F32 | Dtype::F16 | Dtype::Bf16 | Dtype::I8 => Ok(()),
        other => Err(no_kernel("matrix product", other, "f64, f32, f16, bf16 and i8")),
    }
}

fn check(provider: Provider, op: &Gemm) -> Result<(), DeviceError> {
    let library = match provider {
        Provider::Library(library) => library,
        Provider::OneDnn(library) => {
            return library.check(op).map_err(|why| lacks_error(provider, op, why));
        }
        Provider::Native(name) => {
            return rsb_gemm::check(name, op).map_err(DeviceError::Unsupported);
        }
    };
    if op.is_narrowed() {
        let why =
            format!("its products of {} have results of a wider type than the inputs", op.dtype);
        return Err(lacks_error(provider, op, why));
    }
    match (library, op.dtype) {
        (Library::Crate, Dtype::F16) if !CRATE_HAS_F16 => {
            let why = "the crate is built without f16 on x86_64; provider=native supports it there";
            Err(lacks_error(provider, op, why.to_owned()))
        }
        (Library::Crate, Dtype::Bf16 | Dtype::I8) => {
            Err(lacks_error(provider, op, format!("the crate does not support {}", op.dtype)))
        }
        (Library::Crate, _) => Ok(()),
        (Library::Blas(blas), dtype) => {
            let has = match dtype {
                Dtype::F32 => blas.sgemm.is_some(),
                Dtype::F64 => blas.dgemm.is_some(),
                Dtype::Bf16 => blas.sbgemm.is_some(),
                _ => false,
            };
            if !has {
                let why = format!("this build of {} has no such function", blas.name);
                return Err(lacks_error(provider, op, why));
            }
            let most = c_int::MAX as u64;
            let [a, b, c] = op.layouts().map(|layout| layout.leading);
            if [op.m, op.n, op.k, a, b, c].iter().any(|&size| size > most) {
                return Err(lacks_error(provider, op, format!("its sizes are limited to {most}")));
            }
            Ok(())
        }
    }
}

fn lacks_error(provider: Provider, op: &Gemm, why: String) -> DeviceError {
    DeviceError::Unsupported(Reason::new(
        format!("{} product by {}", op.dtype, provider.name()),
        why,
        "choose another provider, or f32, which all providers support",
    ))
}

/// Returns the first provider that supports `op`. A choice by trial runs would depend on noise, and
/// the same case could use different libraries in different runs.
///
/// On server CPUs with AVX2 and with AVX-512, the `gemm` crate was within 4 % of the fastest
/// provider for f32 on every shape tried. To compare providers on other CPUs, use
/// `provider=gemm,native,openblas,mkl,onednn`. With few rows and a transposed B, as in decoding
/// several sequences, `rsb-gemm` is 1.6 to 20 times as fast, since the crate packs B and `rsb-gemm`
/// does not.
fn choose_provider(op: &Gemm) -> Result<Provider, DeviceError> {
    check_type(op)?;
    let first = if rsb_gemm::reads_b_once(op) { "native" } else { PROVIDERS[0] };
    std::iter::once(first)
        .chain(PROVIDERS)
        .find_map(|name| find(name, op).ok())
        .ok_or_else(|| no_provider_error(op))
}

/// Returns the error if no provider supports `op`, with the reason of each.
fn no_provider_error(op: &Gemm) -> DeviceError {
    let mut reasons = Vec::new();
    for name in PROVIDERS {
        if let Err(DeviceError::Unsupported(reason) | DeviceError::Failed(reason)) = find(name, op)
        {
            reasons.push(format!("{name}: {}", reason.why));
        }
    }
    unsupported_error(
        format!("matrix product of {}", op.dtype),
        reasons.join("; "),
        "choose f32, or install a library that supports the data type",
    )
}

/// Row and column strides of A, B and C, and the first elements of one matrix of the batch.
struct Strides {
    a: (isize, isize),
    b: (isize, isize),
    c: isize,
    first: [usize; 3],
}

impl Strides {
    fn of(op: &Gemm, batch: usize) -> Self {
        let layouts = op.layouts();
        let [a, b, c] = layouts.map(|layout| (layout.leading as usize).cast_signed());
        Self {
            a: if op.transpose_a { (1, a) } else { (a, 1) },
            b: if op.transpose_b { (1, b) } else { (b, 1) },
            c,
            first: layouts.map(|layout| layout.position(batch as u64, 0, 0) as usize),
        }
    }
}

/// Computes one product with the `gemm` crate.
///
/// # Safety
/// As [`Library::run`].
unsafe fn crate_product(product: &Product, batch: usize, pool: &ThreadPool) {
    // SAFETY: guaranteed by the caller, and the type is that of the buffers.
    unsafe {
        match product.op.dtype {
            Dtype::F64 => typed_product(product, batch, pool, |value| value),
            Dtype::F16 if CRATE_HAS_F16 => typed_product(product, batch, pool, f16::from_f64),
            _ => typed_product(product, batch, pool, |value| value as f32),
        }
    }
}

/// Computes one product of `T` with the `gemm` crate.
///
/// # Safety
/// As [`Library::run`], with buffers of `T`.
unsafe fn typed_product<T: 'static + Send + Copy>(
    product: &Product,
    batch: usize,
    pool: &ThreadPool,
    to: fn(f64) -> T,
) {
    let op = product.op;
    let at = Strides::of(&op, batch);
    let parallelism = match pool.threads() {
        1 => gemm::Parallelism::None,
        threads => gemm::Parallelism::Rayon(threads),
    };
    let product = *product;
    // The `gemm` crate names the factor of C `alpha` and that of the product `beta`.
    let (factor_of_c, factor) = (to(op.beta), to(op.alpha));
    pool.install(move || {
        let product = product;
        // SAFETY: the caller guarantees that each matrix is within its buffer with these strides.
        unsafe {
            gemm::gemm(
                op.m as usize,
                op.n as usize,
                op.k as usize,
                product.c.start::<T>().add(at.first[2]),
                1,
                at.c,
                op.reads_c(),
                product.a.start::<T>().add(at.first[0]),
                at.a.1,
                at.a.0,
                product.b.start::<T>().add(at.first[1]),
                at.b.1,
                at.b.0,
                factor_of_c,
                factor,
                false,
                false,
                false,
                parallelism,
            );
        }
    });
}

/// Computes one product with a BLAS library.
///
/// # Safety
/// As [`Library::run`]; `check` found the function for this type.
unsafe fn blas_product(blas: &Blas, product: &Product, batch: usize, threads: usize) {
    const ROW_MAJOR: c_int = 101;
    let op = product.op;
    let [a, b, c] = Strides::of(&op, batch).first;
    let (m, n, k) = (to_c_int(op.m), to_c_int(op.n), to_c_int(op.k));
    let [leading_a, leading_b, leading_c] = op.layouts().map(|layout| to_c_int(layout.leading));
    blas.set_threads(threads);
    macro_rules! call {
        ($function:expr, $element:ty, $result:ty) => {
            if let Some(function) = $function {
                // SAFETY: guaranteed by the caller; `check` rejects sizes that do not fit in the
                // library's integers.
                unsafe {
                    function(
                        ROW_MAJOR,
                        transposition(op.transpose_a),
                        transposition(op.transpose_b),
                        m,
                        n,
                        k,
                        op.alpha as $result,
                        product.a.start::<$element>().add(a),
                        leading_a,
                        product.b.start::<$element>().add(b),
                        leading_b,
                        op.beta as $result,
                        product.c.start::<$result>().add(c),
                        leading_c,
                    );
                }
            }
        };
    }
    match op.dtype {
        Dtype::F64 => call!(blas.dgemm, f64, f64),
        Dtype::Bf16 => call!(blas.sbgemm, u16, f32),
        _ => call!(blas.sgemm, f32, f32),
    }
}

/// Returns the `CBLAS_TRANSPOSE` value.
fn transposition(transposed: bool) -> c_int {
    if transposed { 112 } else { 111 }
}

fn to_c_int(value: u64) -> c_int {
    c_int::try_from(value).unwrap_or(c_int::MAX)
}

/// Computes C ← A·B in f32 on `pool`, for kernels that use products.
///
/// # Safety
/// As [`Library::run`].
pub(super) unsafe fn plain_product(product: &Product, pool: &ThreadPool) {
    // SAFETY: guaranteed by the caller.
    unsafe { crate_product(product, 0, pool) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use rsb_device::operation::OutputWidth;

    fn product(dtype: Dtype) -> Gemm {
        Gemm::new(dtype, 8, 8, 8)
    }

    #[test]
    fn a_refusal_says_what_once_and_why_once() {
        let Err(refused) = choose_provider(&product(Dtype::I4)) else {
            panic!("no library supports i4")
        };
        let refused = refused.to_string();
        assert_eq!(refused.matches("product").count(), 1, "{refused}");
        assert_eq!(refused.matches("the CPU has kernels for").count(), 1, "{refused}");
        let narrow = Gemm { stored: OutputWidth::AsInputs, ..product(Dtype::I8) };
        let none = no_provider_error(&narrow).to_string();
        assert!(none.contains("matrix product of i8: gemm: "), "{none}");
        assert_eq!(none.matches("matrix product").count(), 1, "{none}");
    }
}
