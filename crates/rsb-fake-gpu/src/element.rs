//! Elements of memory as numbers. All arithmetic is done in f64 and rounded once, unlike that of the kernels imitated.

use half::{bf16, f16};

/// A type of element.
pub(crate) trait Element: Copy + 'static {
    /// Its value.
    fn get(self) -> f64;
    /// The nearest element.
    fn put(value: f64) -> Self;
}

macro_rules! elements {
    ($($type:ty: |$element:ident| $get:expr, |$value:ident| $put:expr;)*) => {$(
        impl Element for $type {
            fn get(self) -> f64 {
                let $element = self;
                $get
            }
            fn put($value: f64) -> Self {
                $put
            }
        }
    )*};
}

elements! {
    f64: |x| x, |x| x;
    f32: |x| f64::from(x), |x| x as f32;
    // By way of f32: `bf16::from_f64` takes what lies just above the middle of two neighbors for the middle.
    f16: |x| f64::from(f32::from(x)), |x| f16::from_f32(x as f32);
    bf16: |x| f64::from(f32::from(x)), |x| bf16::from_f32(x as f32);
    u8: |x| f64::from(x), |x| x as u8;
    i8: |x| f64::from(x), |x| x as i8;
    i32: |x| f64::from(x), |x| x as i32;
    u32: |x| f64::from(x), |x| x as u32;
    u64: |x| x as f64, |x| x as u64;
}

/// Calls a generic function of a launch with the floating-point type in the kernel's name.
macro_rules! by_float {
    ($launch:expr, $function:ident) => {
        match $launch.dtype() {
            rsb_model::Dtype::F64 => $function::<f64>($launch),
            rsb_model::Dtype::F32 => $function::<f32>($launch),
            rsb_model::Dtype::F16 => $function::<half::f16>($launch),
            rsb_model::Dtype::Bf16 => $function::<half::bf16>($launch),
            other => Err($crate::launch::Broken::no_type(other)),
        }
    };
}
pub(crate) use by_float;
