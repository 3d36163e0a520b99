//! Converts an SVG picture to PNG. The font is embedded, so a chart has the same pixels on every
//! machine, even if no font is installed.

use std::sync::Arc;

use resvg::{tiny_skia, usvg};

/// Pixels per unit of the picture; 2 is sharp on current screens.
const SCALE: f32 = 2.0;
/// Font of charts, with all characters that they use: arrows, marks, Greek, Cyrillic.
const FAMILY: &str = "DejaVu Sans";

/// An error while converting a picture.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// Not an SVG picture.
    #[error("the SVG cannot be drawn ({0}); please report this as a bug")]
    Svg(#[from] usvg::Error),
    /// Too many pixels.
    #[error("a picture of {width} × {height} pixels is too large; draw fewer cases")]
    Size {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// The pixels could not be encoded.
    #[error("the picture could not be encoded as PNG ({0}); please report this as a bug")]
    Pack(String),
}

/// Converts `picture`, an SVG of [`svg_in`](crate::svg_in), to a PNG file with two pixels per unit.
///
/// Characters that the font lacks, such as Chinese ones in a case's name, are drawn as boxes.
///
/// # Errors
/// If `picture` is not such an SVG, or is too large.
pub fn png(picture: &str) -> Result<Vec<u8>, PngError> {
    let tree = usvg::Tree::from_str(picture, &options())?;
    let [width, height] =
        [tree.size().width(), tree.size().height()].map(|length| (length * SCALE).ceil() as u32);
    let mut sheet =
        tiny_skia::Pixmap::new(width, height).ok_or(PngError::Size { width, height })?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut sheet.as_mut());
    sheet.encode_png().map_err(|error| PngError::Pack(error.to_string()))
}

fn options() -> usvg::Options<'static> {
    let mut fonts = usvg::fontdb::Database::new();
    for file in [dejavu::sans::regular(), dejavu::sans::bold()] {
        fonts.load_font_source(usvg::fontdb::Source::Binary(Arc::new(file)));
    }
    fonts.set_sans_serif_family(FAMILY);
    usvg::Options {
        font_family: FAMILY.to_owned(),
        fontdb: Arc::new(fonts),
        ..usvg::Options::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of dark pixels of `text`, drawn black on white.
    fn dark(text: &str, weight: &str) -> usize {
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"120\" height=\"20\"><rect \
             width=\"120\" height=\"20\" \
             fill=\"#FFFFFF\"/><text x=\"2\" y=\"15\" font-family=\"Helvetica, sans-serif\" \
             font-size=\"12\" \
             font-weight=\"{weight}\">{text}</text></svg>"
        );
        let sheet = tiny_skia::Pixmap::decode_png(&png(&svg).unwrap()).unwrap();
        assert_eq!((sheet.width(), sheet.height()), (240, 40));
        sheet.pixels().iter().filter(|pixel| pixel.red() < 128).count()
    }

    #[test]
    fn words_are_drawn_in_the_font_that_is_in_the_program() {
        assert_eq!(dark("", "normal"), 0);
        for mark in ["↑", "▲", "±", "µ", "×", "…", "σ", "ж"] {
            assert!(dark(mark, "normal") > 5, "{mark}");
            assert_ne!(
                dark(mark, "normal"),
                dark("\u{4e2d}", "normal"),
                "{mark} is drawn as the box for a missing glyph"
            );
        }
        assert!(dark("GB/s", "bold") > dark("GB/s", "normal"), "bold text must be darker");
    }

    #[test]
    fn a_chart_is_drawn_whole_and_alike_each_time() {
        let run = crate::sample::run();
        let charts = crate::charts::all(&crate::Report::new(&run));
        let svg = crate::svg(&charts[0]).unwrap();
        let picture = png(&svg).unwrap();
        assert_eq!(picture, png(&svg).unwrap());
        let sheet = tiny_skia::Pixmap::decode_png(&picture).unwrap();
        assert_eq!(sheet.width(), 1280);
        let colors: std::collections::BTreeSet<[u8; 4]> = sheet
            .pixels()
            .iter()
            .map(|pixel| [pixel.red(), pixel.green(), pixel.blue(), pixel.alpha()])
            .collect();
        assert!(
            colors.len() > 20 && colors.iter().all(|color| color[3] == 255),
            "{}",
            colors.len()
        );
    }

    #[test]
    fn what_is_no_picture_is_an_error() {
        assert!(matches!(png("<p>x</p>"), Err(PngError::Svg(_))));
        let wide = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"3000000000\" \
                    height=\"3000000000\"/>";
        assert!(matches!(png(wide), Err(PngError::Size { .. })));
    }
}
