//! A standalone HTML page of charts: inline SVG, without scripts or network access.

use crate::chart::Chart;
use crate::markdown::escape_xml;
use crate::svg::svg_in;
use crate::theme::Theme;

/// Returns a page with `charts` in the colors of `theme`. Lists the titles of charts that cannot be
/// drawn.
pub fn chart_page(title: &str, charts: &[Chart], theme: &Theme) -> String {
    let ground = theme.ground();
    let [sheet, ink] = [ground.sheet, ground.ink]
        .map(|[red, green, blue]| format!("#{red:02x}{green:02x}{blue:02x}"));
    let mut figures = String::new();
    for chart in charts {
        figures.push_str(&match svg_in(chart, theme) {
            Some(picture) => format!("<figure>\n{picture}</figure>\n"),
            None => format!(
                "<p>{}: not drawn, a value in it is not finite</p>\n",
                escape_xml(&chart.title)
            ),
        });
    }
    let title = escape_xml(&crate::style::clean(title));
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src \
         'unsafe-inline'\">\n\
         <meta name=\"viewport\" content=\"width=device-width\">\n<title>{title}</title>\n\
         <style>body \
         {{ background: {sheet}; color: {ink}; font-family: sans-serif; margin: 1em auto; max-width: 60em }} \
         figure {{ margin: 1em 0 }} svg \
         {{ max-width: 100%; height: auto }}</style>\n</head>\n<body>\n\
         <main>\n<h1>{title}</h1>\n{figures}</main>\n</body>\n</html>\n"
    )
}
