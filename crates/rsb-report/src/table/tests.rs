//! Tests of both table formats.

use super::*;
use crate::style::{Color, Style};

fn table() -> Table {
    let mut table =
        Table::new([Column::elided("case"), Column::right("time"), Column::left("empty")]);
    table.push([Cell::from("a|b"), Cell::with_tone("5.12 ms", Tone::Bad)]);
    table.push([Cell::from("benchmark/with/a/long/id/1024x1024x1024"), Cell::from("70 ms")]);
    table
}

#[test]
fn columns_align_and_empty_ones_vanish() {
    insta::assert_snapshot!(table().text(Style::PLAIN), @r"
    case                                        time
    ────────────────────────────────────────────────
    a|b                                      5.12 ms
    benchmark/with/a/long/id/1024x1024x1024    70 ms
    ");
}

#[test]
fn wide_characters_take_two_columns() {
    let mut table = Table::new([Column::left("case"), Column::right("time")]);
    table.push(["行列積", "5 ms"].map(Cell::from));
    table.push(["gemm", "70 ms"].map(Cell::from));
    insta::assert_snapshot!(table.text(Style::PLAIN), @r"
    case     time
    ─────────────
    行列積   5 ms
    gemm    70 ms
    ");
}

#[test]
fn a_narrow_terminal_hides_parts_of_ids() {
    let text = table().text(Style { color: Color::Never, width: 30 });
    insta::assert_snapshot!(text, @r"
    case                      time
    ──────────────────────────────
    a|b                    5.12 ms
    benchmark/with/a/…       70 ms
    ");
    assert!(text.lines().all(|line| line.chars().count() <= 30 && !line.ends_with(' ')));
}

#[test]
fn ids_that_differ_in_the_middle_are_told_apart_where_it_is_cut() {
    let mut table = Table::new([Column::elided("case"), Column::right("time")]);
    for middle in ["one", "two", "two"] {
        table.push([Cell::from(format!("benchmark/{middle}/1024x1024x1024")), Cell::from("1 ms")]);
    }
    table.push([Cell::from("another/one/256x1024x1024"), Cell::from("1 ms")]);
    let text = table.text(Style { color: Color::Never, width: 28 });
    let names: Vec<&str> =
        text.lines().skip(2).map(|line| line.split(' ').next().unwrap_or_default()).collect();
    assert!(names[0] != names[1] && names[1] == names[2], "{text}");
    assert_eq!(names[3], "…/one/256x1024x1024");
    assert!(text.lines().all(|line| line.chars().count() <= 28), "{text}");
}

#[test]
fn what_can_be_spared_goes_before_ids_are_cut_short() {
    let mut table = Table::new([
        Column::elided("case"),
        Column::left("a").optional(),
        Column::right("b").optional(),
        Column::right("c"),
    ]);
    table.push(
        ["benchmark/with/a/long/id/1024x1024x1024", "aaaaaaaa", "bbbbbbbb", "c"].map(Cell::from),
    );
    let titles = |width| {
        let text = table.text(Style { color: Color::Never, width });
        text.lines().next().unwrap_or_default().split_whitespace().collect::<String>()
    };
    assert_eq!(
        [80, 55, 45, 35, 20].map(titles),
        ["caseabc", "caseabc", "caseac", "casec", "casec"]
    );
}

#[test]
fn what_does_not_fit_side_by_side_goes_below() {
    let mut table = Table::new([
        Column::left("benchmark"),
        Column::left("rocm"),
        Column::left("cuda"),
        Column::right("cpu"),
        Column::elided("measures"),
    ]);
    table.push(
        ["memory-bandwidth", "no [1]", "no [2]", "yes", "what every kind of memory can carry"]
            .map(Cell::from),
    );
    table.push(["gemm", "no [1]", "no [2]"].map(Cell::from));
    table.note("why");
    insta::assert_snapshot!(table.text(Style { color: Color::Never, width: 34 }), @r"
    benchmark         rocm    cuda
      cpu  measures
    ──────────────────────────────────
    memory-bandwidth  no [1]  no [2]
      yes  what every kind of memory …
    gemm              no [1]  no [2]
        why
    ");
    for width in 1..120 {
        let text = table.text(Style { color: Color::Never, width });
        let fits = |line: &str| line.chars().count() <= width.max(24);
        assert!(text.lines().all(fits), "{width}\n{text}");
    }
}

#[test]
fn color_does_not_move_columns() {
    let text = table().text(Style { color: Color::Always, width: 100 });
    assert!(
        text.contains("a|b                                      \x1b[1;31m5.12 ms\x1b[0m\n"),
        "{text:?}"
    );
    let mut plain = String::new();
    let mut inside = false;
    for c in text.chars() {
        match c {
            '\x1b' => inside = true,
            'm' if inside => inside = false,
            _ if !inside => plain.push(c),
            _ => {}
        }
    }
    assert_eq!(plain, table().text(Style::PLAIN));
}

#[test]
fn markdown_escapes_and_keeps_notes() {
    let mut table = table();
    table.note("<b> `x`");
    insta::assert_snapshot!(table.markdown(), @r"
    | case | time | why |
    | :-- | --: | :-- |
    | a\|b | **5.12 ms** |  |
    | benchmark/with/a/long/id/1024x1024x1024 | 70 ms | &lt;b&gt; \`x\` |
    ");
}

#[test]
fn nothing_gives_nothing() {
    let table = Table::new([Column::left("x")]);
    assert_eq!((table.text(Style::PLAIN), table.markdown()), (String::new(), String::new()));
}

#[test]
fn sentences_continue_below_in_their_column() {
    let mut table =
        Table::new([Column::left("backend"), Column::wrapped("needs"), Column::right("n")]);
    table.push(
        ["rocm", "a driver, a runtime and a compiler that all fit one another", "12"]
            .map(Cell::from),
    );
    table.push(["cuda", "a driver", "3"].map(Cell::from));
    insta::assert_snapshot!(table.text(Style { color: Color::Never, width: 48 }), @r"
    backend  needs                                 n
    ────────────────────────────────────────────────
    rocm     a driver, a runtime and a compiler   12
             that all fit one another
    cuda     a driver                              3
    ");
    let piped = table.text(Style { color: Color::Never, width: usize::MAX });
    assert!(piped.contains("compiler that all fit one another"), "{piped}");
}
