//! Tests that pictures stay within their area, express everything without color, and draw every
//! shape.

use insta::assert_snapshot;

use super::{Glyphs, picture};
use crate::chart::{
    Axis, AxisScale, Chart, ChartPlace, Dataset, DatasetKind, Label, Legend, Paint, Point,
};
use crate::charts::{self, CHART_KINDS, ChartSubject};
use crate::picture::CharacterSet;
use crate::report::Report;
use crate::style::{Color, Style, columns, presentable};
use crate::{sample, sample_backends};

const EVERY_KIND: [DatasetKind; 14] = [
    DatasetKind::Line,
    DatasetKind::Marks,
    DatasetKind::Path,
    DatasetKind::Roof { dash: 1 },
    DatasetKind::Dots,
    DatasetKind::Bars { thickness: 0.5 },
    DatasetKind::Tracks { thickness: 0.5 },
    DatasetKind::Columns,
    DatasetKind::Cells,
    DatasetKind::Band,
    DatasetKind::Intervals,
    DatasetKind::Ticks,
    DatasetKind::Limits,
    DatasetKind::Rules,
];

fn axis(title: &str, bounds: [f64; 2], scale: AxisScale) -> Axis {
    let labels =
        (0..4).map(|at| Label { at: f64::from(at), text: format!("label {at}") }).collect();
    Axis { title: title.into(), bounds, labels, scale }
}

fn chart(kind: DatasetKind, scale: AxisScale) -> Chart {
    let point = |at: f64| {
        Point::at(at, at)
            .over(at - 0.4, at + 0.4)
            .within(at - 0.3, at + 0.3)
            .saying(format!("n{at}"))
    };
    Chart {
        name: "x".into(),
        title: "A title".into(),
        subtitle: "what it does not say".into(),
        place: ChartPlace::Other,
        x_axis: axis("across", [-0.5, 3.5], AxisScale::Linear),
        y_axis: axis("up", [-0.5, 3.5], scale),
        datasets: vec![
            Dataset::new(kind, Paint::Series(0), [0.0, 1.0, 3.0].map(point).to_vec())
                .with_name("one"),
        ],
        legend_position: Legend::Below,
    }
}

fn all() -> Vec<Chart> {
    let (run, comparison, trends) = (sample::run(), sample::comparison(), sample::trends());
    let mut all = charts::all(&Report::new(&run).with_comparison(&comparison));
    all.extend(charts::backends(&sample_backends::gpu_run()));
    let subject = ChartSubject {
        run: Some(&run),
        comparison: Some(&comparison),
        series: &trends.series,
        ..ChartSubject::default()
    };
    all.extend(CHART_KINDS.iter().flat_map(|kind| kind.draw(&subject)));
    for kind in EVERY_KIND {
        all.extend([chart(kind, AxisScale::Linear), chart(kind, AxisScale::Rows)]);
    }
    all
}

fn plain(chart: &Chart, (width, height): (usize, usize), glyphs: Glyphs) -> String {
    picture(chart, width, height, glyphs).text(Style { color: Color::Never, width })
}

#[test]
fn a_picture_never_leaves_its_place() {
    let charts = all();
    assert!(charts.len() > 50, "{}", charts.len());
    for chart in &charts {
        for width in [0, 1, 2, 3, 5, 9, 14, 20, 39, 40, 41, 80, 160] {
            for height in [0, 1, 2, 3, 5, 8, 12, 24, 60] {
                for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
                    let text = plain(chart, (width, height), glyphs);
                    let widest = text.lines().map(columns).max().unwrap_or(0);
                    assert!(
                        widest <= width && text.lines().count() <= height,
                        "{width}x{height}:\n{text}"
                    );
                    assert!(text.lines().all(|line| !line.ends_with(' ')), "{text}");
                }
            }
        }
    }
}

#[test]
fn every_shape_is_drawn_on_scales_and_in_rows() {
    for kind in EVERY_KIND {
        for scale in [AxisScale::Linear, AxisScale::Rows] {
            let full = chart(kind, scale);
            let mut empty = full.clone();
            empty.datasets.iter_mut().for_each(|dataset| dataset.points.clear());
            for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
                let drawing = |chart: &Chart| {
                    let text = plain(chart, (60, 20), glyphs);
                    // Ignore the name in the legend, which is not part of the drawing.
                    text.lines()
                        .filter(|line| !line.contains("one"))
                        .map(|line| format!("{line}\n"))
                        .collect::<String>()
                };
                assert_ne!(drawing(&full), drawing(&empty), "{kind:?} {scale:?}");
            }
        }
    }
}

#[test]
fn plain_characters_are_plain() {
    for chart in all() {
        let words = serde_json::to_string(&chart).unwrap();
        if words.is_ascii() {
            assert!(plain(&chart, (100, 30), Glyphs::Ascii).is_ascii(), "{}", chart.name);
        }
    }
}

#[test]
fn what_is_not_finite_says_so() {
    for broken in [f64::NAN, f64::INFINITY] {
        let mut chart = chart(DatasetKind::Line, AxisScale::Linear);
        chart.datasets[0].points[1].error = Some([0.0, broken]);
        assert!(plain(&chart, (60, 20), Glyphs::Unicode).contains("not finite"));
    }
    for bounds in [[1e308, -1e308], [0.0, 0.0], [-1e308, 1e308]] {
        for scale in [AxisScale::Linear, AxisScale::Log, AxisScale::Rows] {
            let mut chart = chart(DatasetKind::Band, scale);
            (chart.y_axis.bounds, chart.x_axis.bounds) = (bounds, bounds);
            assert!(plain(&chart, (60, 20), Glyphs::Unicode).contains("A title"));
        }
    }
}

#[test]
fn names_cannot_move_the_cursor_nor_shift_what_follows() {
    let mut chart = chart(DatasetKind::Bars { thickness: 0.5 }, AxisScale::Rows);
    let hostile = "a\u{1b}]0;t\u{7}b\u{202e}c\n机器学习 e\u{301}";
    chart.title = hostile.into();
    chart.datasets[0].name = hostile.into();
    chart.y_axis.labels[1].text = hostile.into();
    chart.datasets[0].points[1].text = hostile.into();
    chart.x_axis.title = hostile.into();
    let text = plain(&chart, (60, 20), Glyphs::Unicode);
    assert!(text.chars().all(|c| c == '\n' || !rsb_model::shown::is_disguise(c)), "{text:?}");
    assert!(text.contains("机器学习"), "{text}");
    assert!(text.lines().all(|line| columns(line) <= 60));
}

#[test]
fn datasets_are_told_apart_without_color() {
    let marks = |kind: DatasetKind, glyphs| {
        let mut chart = chart(kind, AxisScale::Rows);
        let one = chart.datasets.remove(0);
        chart.datasets = (0..8)
            .map(|index| Dataset {
                name: format!("s{index}"),
                paint: Paint::Series(index),
                ..one.clone()
            })
            .collect();
        let text = plain(&chart, (200, 30), glyphs);
        let legend = text.lines().last().unwrap().to_owned();
        let mut marks: Vec<char> =
            legend.split("   ").filter_map(|entry| entry.chars().next()).collect();
        marks.sort_unstable();
        marks.dedup();
        marks.len()
    };
    for kind in [DatasetKind::Line, DatasetKind::Marks, DatasetKind::Bars { thickness: 0.5 }] {
        for glyphs in [Glyphs::Unicode, Glyphs::Ascii] {
            assert_eq!(marks(kind, glyphs), 8, "{kind:?} {glyphs:?}");
        }
    }
}

#[test]
fn colors_are_those_of_the_theme_and_pass_what_presents_pages() {
    let chart = chart(DatasetKind::Line, AxisScale::Linear);
    let picture = picture(&chart, 60, 20, Glyphs::Unicode);
    let colored = picture.text(Style { color: Color::Always, width: 60 });
    assert!(colored.contains("\x1b[36m●\x1b[0m one"), "{colored:?}");
    assert_eq!(presentable(&colored), colored);
}

#[test]
fn a_change_beyond_the_scale_has_an_arrow_at_the_edge_in_every_renderer() {
    for kind in [DatasetKind::Bars { thickness: 0.5 }, DatasetKind::Intervals] {
        let drawn = |x: f64| {
            let mut chart = chart(kind, AxisScale::Rows);
            chart.x_axis = axis("change, %", [-20.0, 20.0], AxisScale::Linear);
            chart.datasets[0].points = vec![Point::at(x, 1.0)];
            let arrows = crate::svg(&chart).unwrap().matches("<polygon").count();
            (
                plain(&chart, (60, 12), Glyphs::Unicode),
                plain(&chart, (60, 12), Glyphs::Ascii),
                arrows,
            )
        };
        let (_, _, within) = drawn(19.0);
        for (x, arrow, ascii) in [(26.0, '▶', '>'), (-26.0, '◀', '<')] {
            let (unicode, plain, arrows) = drawn(x);
            assert!(
                unicode.contains(arrow) && plain.contains(ascii),
                "{kind:?} {x}\n{unicode}\n{plain}"
            );
            assert_eq!(arrows, within + 1, "{kind:?} {x}");
        }
    }
}

#[test]
fn pictures_at_a_glance() {
    let (run, comparison, trends) = (sample::run(), sample::comparison(), sample::trends());
    let of = |name: &str| {
        let subject = ChartSubject {
            run: Some(&run),
            comparison: Some(&comparison),
            series: &trends.series,
            ..ChartSubject::default()
        };
        charts::ChartKind::find(name).unwrap().draw(&subject).remove(0)
    };
    for name in [
        "line",
        "bar",
        "gauge",
        "heat-map",
        "distribution",
        "delta",
        "before-after",
        "verdicts",
        "trend",
    ] {
        let chart = of(name);
        let sheet = [(40, Glyphs::Unicode), (80, Glyphs::Unicode), (80, Glyphs::Ascii)]
            .map(|(width, glyphs)| plain(&chart, (width, 20), glyphs))
            .join("\n");
        assert_snapshot!(format!("picture_{name}"), sheet);
    }
}

#[test]
fn replaced_characters_change_what_is_drawn_and_no_text() {
    let mut chart = chart(DatasetKind::Columns, AxisScale::Linear);
    chart.title = "full █ block".into();
    let replaced = [("█", "@"), ("│", "!")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    let set: &'static CharacterSet =
        Box::leak(Box::new(CharacterSet::new(&replaced.into()).unwrap()));
    let usual = picture(&chart, 60, 16, Glyphs::Unicode).text(Style::PLAIN);
    let other = picture(&chart, 60, 16, Glyphs::Custom(set)).text(Style::PLAIN);
    assert!(usual.matches('█').count() > 1 && other.matches('█').count() == 1, "{other}");
    assert_eq!(other.replace('@', "█").replace('!', "│"), usual);
    for wrong in ["", "##", "\n", "漢", "\u{301}"] {
        let pair = [("█".to_owned(), wrong.to_owned())];
        assert!(CharacterSet::new(&pair.into()).is_err(), "{wrong:?}");
    }
}
