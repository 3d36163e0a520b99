//! Tests of the search for cycles between files, on small source trees.

use super::*;

/// Returns the cycles of a crate made of `files`: paths below `src`, and their contents.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("crates")).unwrap();
    for (path, text) in files {
        let path = root.path().join("src").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    breaches(root.path()).unwrap()
}

const LIB: (&str, &str) = ("lib.rs", "mod a;\npub mod b;\nmod c;\n");

#[test]
fn a_circle_through_three_modules_is_printed_with_the_lines_to_cut() {
    let found = circles_of(&[
        LIB,
        ("a.rs", "//! x\nuse crate::b::B;\npub struct A(B);"),
        ("b/mod.rs", "mod inner;\npub use inner::B;"),
        ("b/inner.rs", "pub struct B;\n\nfn f() { crate::c::g(); }"),
        ("c.rs", "use super::a::{self, A};\npub fn g() { a::h() }"),
    ]);
    assert_eq!(
        found,
        ["3 files in a circle span the modules a, b, c: src/a.rs:2 → src/b/inner.rs:3 → \
          src/c.rs:1 → src/a.rs"]
    );
}

#[test]
fn a_circle_within_one_top_level_module_is_allowed() {
    let found = circles_of(&[
        LIB,
        ("a.rs", "mod x;\nmod y;\nuse x::X;\npub struct A;"),
        ("a/x.rs", "use super::{A, y::Y};\npub struct X;"),
        ("a/y.rs", "use crate::a::x::X;\npub struct Y;"),
        ("b.rs", "use crate::a::A;\npub struct B;"),
        ("c.rs", "use crate::{a, b::B};"),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn tests_comments_strings_and_other_crates_are_no_uses() {
    let found = circles_of(&[
        LIB,
        ("a.rs", "use crate::b::B;\npub struct A;\nmod a_tests;\n#[cfg(test)]\nmod tests;"),
        (
            "b.rs",
            "#[cfg(test)]\nuse crate::a::A;\n// crate::a::A\n/* /* */ crate::a::A */\n\
             pub struct B<'a> {\n #[cfg(test)]\n a: crate::a::A,\n b: &'a str }\n\
             const C: char = '\"';\nconst D: &str = \"\\\"crate::a::A\";\n\
             const E: &str = r#\"\"crate::a::A\"#;\nfn f() { a::A::new(); ::a::A::new() }\n\
             #[cfg(all(test, unix))]\nmod tests { use crate::a::A; fn f<A, B>() {} }",
        ),
        ("c.rs", ""),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_reexport_leads_to_the_file_that_defines_the_item() {
    let lib = ("lib.rs", "mod a;\nmod b;\npub use a::x::X;\npub use b::*;\npub fn root() {}");
    let files = |b: &'static str| {
        [lib, ("a.rs", "pub mod x;\npub mod y;"), ("a/x.rs", "pub struct X;"), ("b.rs", b)]
    };
    let of =
        |y: &'static str, b: &'static str| circles_of(&[&files(b)[..], &[("a/y.rs", y)]].concat());
    // `X` and `Y`, which uses `b`, are in different files of `a`.
    assert_eq!(of("use crate::B;\npub struct Y;", "use crate::X;\npub struct B;"), [""; 0]);
    assert_eq!(
        of("use crate::B;\npub struct Y;", "use crate::X;\npub struct B(crate::a::y::Y);"),
        ["2 files in a circle span the modules a, b: src/a/y.rs:1 → src/b.rs:2 → src/a/y.rs"]
    );
    // The root itself uses none of the files that use it.
    assert_eq!(of("use crate::root;\npub struct Y;", "use crate::root;\npub struct B;"), [""; 0]);
}
