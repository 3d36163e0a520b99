//! Column-major matrix products of rocBLAS, cuBLAS, hipBLASLt and cuBLASLt.

use std::ffi::c_void;

use rsb_model::Dtype;

use crate::product::Shape;
use crate::product::library::{Epilogue, Operand, Product, Scalar};
use crate::state::{Blas, State, Task, current};

/// Reason why a product library refuses a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Invalid handle, or a stream of another GPU.
    Handle,
    /// Null pointer.
    Pointer,
    /// A negative or too large size.
    Size,
    /// A value that the interface does not define.
    Value,
    /// A call that is not emulated.
    Unsupported,
    /// Failure of the GPU.
    Execution,
}

/// Arguments of a product, with the interface's constants converted to types.
pub(crate) struct Call {
    /// Name used in faults.
    pub(crate) name: &'static str,
    pub(crate) handle: usize,
    /// m, n and k.
    pub(crate) sizes: [i32; 3],
    /// Alpha and beta.
    pub(crate) factors: [*const c_void; 2],
    /// A, B and C.
    pub(crate) matrices: [MatrixArgument; 3],
    pub(crate) batch: i32,
    /// Accumulation type.
    pub(crate) sums: Scalar,
    /// Type whose peak rate determines the duration.
    pub(crate) dtype: Dtype,
    /// Epilogue; `bias` is the address of its bias.
    pub(crate) epilogue: Epilogue,
    pub(crate) bias: usize,
    /// Algorithm to use, counted from 1; 0 if the library has no choice of algorithms.
    pub(crate) algorithm: u64,
    /// Stream to use instead of the handle's stream.
    pub(crate) stream: Option<usize>,
}

impl Call {
    /// Creates a product without an epilogue in the handle's stream, with sizes and factors to be
    /// filled in.
    pub(crate) fn plain(
        name: &'static str,
        handle: usize,
        sums: Scalar,
        matrices: [MatrixArgument; 3],
    ) -> Self {
        let (sizes, factors) = ([0; 3], [std::ptr::null(); 2]);
        let (dtype, epilogue) = (matrices[0].scalar.dtype(), Epilogue::None);
        Self {
            name,
            handle,
            sizes,
            factors,
            matrices,
            batch: 1,
            sums,
            dtype,
            epilogue,
            bias: 0,
            algorithm: 0,
            stream: None,
        }
    }
}

/// A matrix as passed by the caller.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct MatrixArgument {
    pub(crate) address: usize,
    pub(crate) scalar: Scalar,
    pub(crate) leading: i32,
    pub(crate) stride: i64,
    pub(crate) transposed: bool,
}

impl MatrixArgument {
    pub(super) fn operand(self) -> Result<Operand, Refusal> {
        let stride = usize::try_from(self.stride).map_err(|_| Refusal::Size)?;
        let (address, transposed) = (self.address, self.transposed);
        Ok(Operand { address, leading: size(self.leading)?, stride, transposed })
    }
}

pub(super) fn size(value: i32) -> Result<usize, Refusal> {
    usize::try_from(value).map_err(|_| Refusal::Size)
}

impl State {
    /// Creates a handle of a product library on the current GPU.
    pub(crate) fn new_blas(&mut self) -> Result<usize, Refusal> {
        self.sound(current()).map_err(|_| Refusal::Execution)?;
        Ok(self.blas.add(Blas { gpu: current(), stream: 0, scalars_on_gpu: false, is_xf32: false }))
    }

    /// Returns the state of a handle.
    pub(crate) fn blas(&mut self, handle: usize) -> Result<&mut Blas, Refusal> {
        self.blas.get(handle).map_err(|_| Refusal::Handle)
    }

    /// Sets the stream in which a handle enqueues products.
    pub(crate) fn send_products_to(&mut self, handle: usize, stream: usize) -> Result<(), Refusal> {
        let gpu = self.stream(stream).map_err(|_| Refusal::Handle)?.gpu;
        let blas = self.blas(handle)?;
        if blas.gpu != gpu {
            return Err(Refusal::Handle);
        }
        blas.stream = stream;
        Ok(())
    }

    /// Destroys a handle.
    pub(crate) fn drop_blas(&mut self, handle: usize) -> Result<(), Refusal> {
        self.blas.remove(handle).map(drop).map_err(|_| Refusal::Handle)
    }

    /// Enqueues a product.
    ///
    /// # Safety
    /// The pointers to alpha and beta must be null, or point to values of the accumulation type.
    pub(crate) unsafe fn multiply(&mut self, call: &Call) -> Result<(), Refusal> {
        let blas = *self.blas(call.handle)?;
        let ([alpha, beta], [a, b, c]) = (call.factors, call.matrices);
        if call.matrices.iter().any(|given| given.address == 0) || alpha.is_null() || beta.is_null()
        {
            return Err(Refusal::Pointer);
        }
        let [m, n, k] = call.sizes;
        if c.leading < m {
            return Err(Refusal::Size);
        }
        // Only calls that the program makes are emulated; they pass alpha and beta in host memory.
        if a.scalar != b.scalar || blas.scalars_on_gpu {
            return Err(Refusal::Unsupported);
        }
        // SAFETY: neither pointer is null, and the caller guarantees that both point to values of
        // the accumulation type.
        let factors = unsafe { [call.sums.read(alpha), call.sums.read(beta)] };
        let [Some(alpha), Some(beta)] = factors else { return Err(Refusal::Unsupported) };
        let product = Product {
            name: call.name,
            shape: Shape { m: size(m)?, n: size(n)?, k: size(k)? },
            a: a.operand()?,
            b: b.operand()?,
            c: c.operand()?,
            batch: size(call.batch)?,
            types: [a.scalar, c.scalar],
            dtype: call.dtype,
            factors: [alpha.to_bits(), beta.to_bits()],
            epilogue: call.epilogue,
            bias: call.bias,
            algorithm: call.algorithm,
        };
        if !product.is_known() {
            return Err(Refusal::Unsupported);
        }
        let stream = call.stream.unwrap_or(blas.stream);
        self.hand_over(stream, Task::Product(product)).map_err(|_| Refusal::Execution)
    }
}
