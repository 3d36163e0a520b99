//! 8-bit floating-point format with four exponent bits and three mantissa bits, as defined by the
//! Open Compute Project: no infinity, one NaN of each sign, largest value 448.
//!
//! The units of gfx940 to gfx942 use another format (FNUZ), in which the same bits represent half
//! of the number. Products on those units are corrected by a factor. Negative zero is NaN in FNUZ,
//! so it is never written.

/// Largest value.
const LARGEST: f32 = 448.0;

/// Rounds `value` to nearest even; values out of range become the largest.
pub(super) fn to_e4m3(value: f32) -> u8 {
    if value.is_nan() {
        return 0x7f;
    }
    let magnitude = value.abs().min(LARGEST);
    let code = if magnitude < 0.015_625 {
        // Below 2⁻⁶, the step between numbers is 2⁻⁹.
        (magnitude * 512.0).round_ties_even() as u8
    } else {
        // The upper 12 bits of an f32, with half a step added and the exponent bias changed from
        // 127 to 7.
        let bits = magnitude.to_bits();
        let rounded = (bits + 0x7_ffff + ((bits >> 20) & 1)) >> 20;
        (rounded - (120 << 3)) as u8
    };
    if value.is_sign_negative() && code != 0 { code | 0x80 } else { code }
}

/// Returns the number encoded by `code`.
pub(super) fn from_e4m3(code: u8) -> f64 {
    let (exponent, mantissa) = (i32::from((code >> 3) & 15), f64::from(code & 7));
    let magnitude = match (exponent, code & 7) {
        (15, 7) => f64::NAN,
        (0, _) => mantissa / 512.0,
        _ => (8.0 + mantissa) * 2.0_f64.powi(exponent - 10),
    };
    if code & 0x80 == 0 { magnitude } else { -magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_that_of_its_number() {
        for code in (0..=0x7e).chain(0x81..=0xfe) {
            assert_eq!(to_e4m3(from_e4m3(code) as f32), code, "{code:#x}");
        }
        assert!(from_e4m3(0x7f).is_nan() && from_e4m3(0xff).is_nan());
        let known =
            [(0x38, 1.0), (0x7e, 448.0), (0x01, 1.0 / 512.0), (0x08, 1.0 / 64.0), (0xbc, -1.5)];
        assert!(
            known.iter().all(|&(code, value)| from_e4m3(code).to_bits() == f64::to_bits(value))
        );
    }

    #[test]
    fn numbers_between_go_to_the_nearest() {
        for code in 0..0x7e {
            let (low, high) = (from_e4m3(code), from_e4m3(code + 1));
            let middle = f64::midpoint(low, high);
            let even = if code & 1 == 0 { code } else { code + 1 };
            assert_eq!(to_e4m3(middle as f32), even, "{middle}");
            assert_eq!(to_e4m3((middle * (1.0 - 1e-6)) as f32), code);
            assert_eq!(to_e4m3((-middle * (1.0 + 1e-6)) as f32), (code + 1) | 0x80);
        }
        assert_eq!(
            [to_e4m3(1e9), to_e4m3(-f32::INFINITY), to_e4m3(-0.0), to_e4m3(-1e-9)],
            [0x7e, 0xfe, 0, 0]
        );
        assert_eq!(to_e4m3(f32::NAN), 0x7f);
    }
}
