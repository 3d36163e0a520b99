//! The SVG of a chart as part of a page: with a title and description for screen readers, without
//! attributes that the style sheet sets for all charts, and with its colors collected, so that the
//! page can invert them in dark mode.

use std::collections::BTreeSet;

use super::element::escape;

/// Colors as written in the drawings: `#0072B2`.
pub(super) type Colors = BTreeSet<String>;

/// Attributes that have their default value.
const NEEDLESS: [&str; 3] = [" opacity=\"1\"", " stroke=\"none\"", " stroke-width=\"0\""];

/// Converts the standalone document `svg` to chart `number` of a page, with a title and description
/// for screen readers. `None` if it is not such a drawing.
pub(super) fn inline(svg: &str, title: &str, description: &str, number: usize) -> Option<String> {
    let (open, rest) = svg.trim_start().strip_prefix("<svg")?.split_once('>')?;
    let size = value(open, "viewBox")?;
    let body = without(without(rest, "title"), "desc");
    let (title, description) = (escape(title), escape(description));
    Some(format!(
        "<svg viewBox=\"{}\" role=\"img\" aria-labelledby=\"chart{number}t chart{number}d\">\
         <title id=\"chart{number}t\">{title}</title><desc \
         id=\"chart{number}d\">{description}</desc>\n{}",
        escape(size),
        lean(body)
    ))
}

fn value<'a>(tag: &'a str, attribute: &str) -> Option<&'a str> {
    tag.split_once(&format!(" {attribute}=\""))?.1.split_once('"').map(|(value, _)| value)
}

/// Returns `body` without the element `name` at its start.
fn without<'a>(body: &'a str, name: &str) -> &'a str {
    let body = body.trim_start();
    let rest = body
        .strip_prefix(&format!("<{name}>"))
        .and_then(|rest| rest.split_once(&format!("</{name}>")));
    rest.map_or(body, |(_, rest)| rest)
}

/// Returns `body` without redundant attributes and whitespace around texts; the texts themselves
/// are unchanged.
fn lean(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    for piece in body.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, ""));
        out.push('<');
        out.push_str(&lean_tag(tag));
        out.push('>');
        out.push_str(text.trim());
        if text.starts_with('\n') && tag.starts_with('/') {
            out.push('\n');
        }
    }
    out.truncate(out.trim_end().len());
    out + "\n"
}

/// Removes default attributes, and the font, which the style sheet sets.
fn lean_tag(tag: &str) -> String {
    let font = tag
        .split_once(" font-family=\"")
        .and_then(|(before, rest)| Some((before, rest.split_once('"')?.1)));
    let tag = font.map_or_else(|| tag.to_owned(), |(before, after)| format!("{before}{after}"));
    NEEDLESS.iter().fold(tag, |tag, needless| tag.replace(needless, ""))
}

pub(super) fn collect(colors: &mut Colors, svg: &str) {
    for attribute in [" fill=\"", " stroke=\""] {
        let values = svg.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
        colors.extend(values.filter(|value| rgb(value).is_some()).map(str::to_owned));
    }
}

/// Parses a color to red, green and blue from 0 to 255.
pub(super) fn rgb(color: &str) -> Option<[f64; 3]> {
    let digits = color.strip_prefix('#').filter(|digits| digits.len() == 6)?;
    let mut parts = [0.0; 3];
    for (at, part) in parts.iter_mut().enumerate() {
        let digits = digits.get(2 * at..2 * at + 2)?;
        *part = f64::from(u8::from_str_radix(digits, 16).ok()?);
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Report, charts, sample};

    #[test]
    fn a_drawing_becomes_a_named_and_described_part_of_the_page() {
        let (run, comparison) = (sample::run(), sample::comparison());
        let all = charts::all(&Report::new(&run).with_comparison(&comparison));
        assert!(all.len() > 3);
        for (number, chart) in all.iter().enumerate() {
            let whole = crate::svg(chart).unwrap();
            let part = inline(&whole, "a <b>", "\"c\" & d", number).unwrap();
            assert!(part.starts_with("<svg viewBox=\"0 0 640 "), "{part}");
            assert!(
                part.contains(&format!("<title id=\"chart{number}t\">a &lt;b&gt;</title>")),
                "{part}"
            );
            assert!(
                part.contains("&quot;c&quot; &amp; d</desc>")
                    && part.trim_end().ends_with("</svg>"),
                "{part}"
            );
            assert_eq!((part.matches("<title").count(), part.matches("xmlns").count()), (1, 0));
            assert!(part.len() < whole.len() * 8 / 10, "{} of {}", part.len(), whole.len());
            // The drawing must be unchanged: the same number of shapes, and all texts of the chart.
            for shape in ["<rect", "<line", "<circle", "<polyline", "<polygon", "<text", "</text>"]
            {
                assert_eq!(part.matches(shape).count(), whole.matches(shape).count(), "{shape}");
            }
            for label in chart.x_axis.labels.iter().chain(&chart.y_axis.labels) {
                let text = escape(&label.text).replace('\'', "&apos;");
                assert!(part.contains(&format!(">{text}</text>")) || text.len() > 25, "{text}");
            }
        }
        assert_eq!(inline("<p>no drawing</p>", "", "", 0), None);
    }

    #[test]
    fn colors_are_told_once_each() {
        let mut colors = Colors::new();
        collect(
            &mut colors,
            "<a fill=\"#0072B2\"/><b fill=\"none\" stroke=\"#FFFFFF\"/><c fill=\"#0072B2\"/><d \
             fill=\"#é72B2\"/>",
        );
        assert_eq!(colors.into_iter().collect::<Vec<_>>(), ["#0072B2", "#FFFFFF"]);
    }
}
