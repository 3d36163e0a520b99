//! The style sheet of a page: `page.css`, and the colors in dark mode, including those of the
//! charts.

use super::inline_svg::{Colors, rgb};
use super::{PageLook, PageTheme};

const BASE: &str = include_str!("page.css");

/// Colors of the page in dark mode. The text colors have a contrast ratio of at least 4.5 to the
/// background, as WCAG requires.
const DARK: &str = "color-scheme: dark; --ground: #181818; --ink: #e4e6e8; --dim: #a3abb3; --line: \
                    #3b4046; --band: #22262a; \
                    --good: #7ed491; --bad: #ff8f85; --caution: #f0c35a; --link: #8ab6ff;";

/// Gray level of the dark background, which replaces white.
const GROUND: f64 = 24.0;
/// Gray level that replaces black.
const INK: f64 = 245.0;
/// Minimum contrast ratio of a color to the background.
const CONTRAST: f64 = 4.5;

pub(super) fn stylesheet(look: &PageLook<'_>, colors: &Colors) -> String {
    let width = look.chart_width;
    let charts = format!("svg {{ max-width: {width}px; }}\n");
    let media = match look.theme {
        PageTheme::Light => return format!("{BASE}{charts}"),
        PageTheme::Auto => "screen and (prefers-color-scheme: dark)",
        // Print always uses the light colors, to save ink.
        PageTheme::Dark => "screen",
    };
    let mut rules = String::new();
    for color in colors {
        let Some(light) = rgb(color) else { continue };
        let dark = dark(light);
        rules.push_str(&format!(
            "  svg [fill=\"{color}\"] {{ fill: {dark}; }} svg [stroke=\"{color}\"] \
             {{ stroke: {dark}; }}\n"
        ));
    }
    format!("{BASE}{charts}@media {media} {{\n  :root {{ {DARK} }}\n{rules}}}\n")
}

/// Returns the dark-mode replacement for `color`: grays are inverted, other colors are lightened
/// until they are readable.
fn dark(color: [f64; 3]) -> String {
    let (low, high) =
        (color.iter().copied().fold(255.0, f64::min), color.iter().copied().fold(0.0, f64::max));
    let is_gray = high - low <= 32.0;
    let turned = if is_gray {
        let light = color.iter().sum::<f64>() / 3.0;
        [GROUND + (255.0 - light) / 255.0 * (INK - GROUND); 3]
    } else {
        (0..20_u32)
            .map(|step| color.map(|part| part + (255.0 - part) * f64::from(step) / 20.0))
            .find(|lighter| contrast(*lighter, [GROUND; 3]) >= CONTRAST)
            .unwrap_or([INK; 3])
    };
    let [red, green, blue] = turned.map(|part| part.round() as u8);
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Returns the contrast ratio of two colors, from 1 to 21 (WCAG 2).
fn contrast(one: [f64; 3], other: [f64; 3]) -> f64 {
    let (one, other) = (luminance(one), luminance(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

fn luminance(color: [f64; 3]) -> f64 {
    let [red, green, blue] = color.map(|part| {
        let part = part / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(css: &str, name: &str) -> [f64; 3] {
        let value = css.split_once(&format!("--{name}: ")).unwrap().1.split(';').next().unwrap();
        let whole = if value.len() == 4 {
            value.chars().flat_map(|c| [c, c]).skip(1).collect()
        } else {
            value.to_owned()
        };
        rgb(&whole).unwrap_or_else(|| panic!("{name}: {value}"))
    }

    #[test]
    fn every_color_of_text_can_be_read_on_its_ground() {
        for css in [BASE, DARK] {
            let ground = variable(css, "ground");
            for name in ["ink", "dim", "good", "bad", "caution", "link"] {
                let found = contrast(variable(css, name), ground);
                assert!(found >= CONTRAST, "{name}: {found}");
            }
        }
    }

    #[test]
    fn colors_of_charts_can_be_read_in_the_dark_and_stay_apart() {
        assert_eq!(dark(rgb("#FFFFFF").unwrap()), "#181818");
        assert_eq!(dark(rgb("#000000").unwrap()), "#f5f5f5");
        let palette = [
            "#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000", "#22262B",
            "#5F6770",
        ];
        let mut seen = Colors::new();
        for color in palette {
            let turned = dark(rgb(color).unwrap());
            assert!(
                contrast(rgb(&turned).unwrap(), [GROUND; 3]) >= CONTRAST,
                "{color} becomes {turned}, which has too little contrast"
            );
            assert!(seen.insert(turned), "{color}");
        }
    }

    #[test]
    fn a_theme_is_only_for_the_screen() {
        let colors = Colors::from(["#0072B2".to_owned()]);
        let [light, auto, dark] =
            [PageTheme::Light, PageTheme::Auto, PageTheme::Dark].map(|theme| {
                stylesheet(&PageLook { theme, chart_width: 700, ..PageLook::default() }, &colors)
            });
        assert!(!light.contains("#0072B2") && light.contains("max-width: 700px"));
        assert!(auto.contains(
            "@media screen and (prefers-color-scheme: dark) {\n  :root { color-scheme: dark"
        ));
        assert!(dark.contains("@media screen {\n") && dark.contains("svg [fill=\"#0072B2\"]"));
    }
}
