//! Packs the schemas of the documents, and lets the linker fold functions of the same code into one: half a megabyte less of
//! generic code that was compiled several times.

use std::path::Path;
use std::{env, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // There, and unless somebody chose another, rustc links with its own lld, which knows how; other linkers refuse the option.
    let chosen = |flags: String| ["fuse-ld", "linker", "self-contained"].iter().any(|word| flags.contains(word));
    let is_lld = is("CARGO_CFG_TARGET_ARCH", "x86_64")
        && is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && env::var_os("RUSTC_LINKER").is_none()
        && !env::var("CARGO_ENCODED_RUSTFLAGS").is_ok_and(chosen);
    if is_lld && is("PROFILE", "release") {
        println!("cargo:rustc-link-arg-bin=rusty-stack-bench=-Wl,--icf=all");
    }
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    packed_files::pack(Path::new("schemas"), ".schema.json", &Path::new(&out).join("schemas.pack"))
}
