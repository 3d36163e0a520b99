//! Colors of charts by role, for terminals and for pictures.

use std::collections::BTreeMap;
use std::str::FromStr;

use crate::chart::{HEAT_LEVELS, Paint};

/// A color.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pigment {
    /// One of the sixteen terminal colors, whose appearance each terminal defines: 0 to 7, and 8 to
    /// 15 for the light ones.
    Ansi(u8),
    /// Red, green and blue.
    Exact([u8; 3]),
}

/// The sixteen terminal colors by name, as most terminals show them.
const ANSI: [(&str, [u8; 3]); 16] = [
    ("black", [0x00, 0x00, 0x00]),
    ("red", [0xCD, 0x31, 0x31]),
    ("green", [0x0D, 0x96, 0x4F]),
    ("yellow", [0xB5, 0x89, 0x00]),
    ("blue", [0x24, 0x72, 0xC8]),
    ("magenta", [0xBC, 0x3F, 0xBC]),
    ("cyan", [0x11, 0x8F, 0xA8]),
    ("white", [0xE5, 0xE5, 0xE5]),
    ("gray", [0x76, 0x76, 0x76]),
    ("light-red", [0xF1, 0x4C, 0x4C]),
    ("light-green", [0x23, 0xD1, 0x8B]),
    ("light-yellow", [0xF5, 0xF5, 0x43]),
    ("light-blue", [0x3B, 0x8E, 0xEA]),
    ("light-magenta", [0xD6, 0x70, 0xD6]),
    ("light-cyan", [0x29, 0xB8, 0xDB]),
    ("light-white", [0xFF, 0xFF, 0xFF]),
];

/// An unknown name of a color.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a color; write one of {names}, or #rrggbb",
    names = ANSI.map(|(name, _)| name).join(", ")
)]
pub struct UnknownPigment(String);

impl FromStr for Pigment {
    type Err = UnknownPigment;

    fn from_str(text: &str) -> Result<Self, UnknownPigment> {
        if let Some(index) = ANSI.iter().position(|(name, _)| *name == text) {
            return Ok(Self::Ansi(index as u8));
        }
        let digits =
            text.strip_prefix('#').filter(|digits| digits.len() == 6 && !digits.starts_with('+'));
        let value = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let [_, red, green, blue] =
            value.ok_or_else(|| UnknownPigment(text.to_owned()))?.to_be_bytes();
        Ok(Self::Exact([red, green, blue]))
    }
}

impl Pigment {
    /// Returns red, green and blue.
    pub fn rgb(self) -> [u8; 3] {
        match self {
            Self::Ansi(index) => ANSI.get(usize::from(index)).map_or([0; 3], |(_, rgb)| *rgb),
            Self::Exact(rgb) => rgb,
        }
    }

    /// Returns the escape sequence that sets this text color.
    pub(crate) fn code(self) -> String {
        match self {
            Self::Ansi(index @ 0..=7) => format!("\x1b[{}m", 30 + index),
            Self::Ansi(index) => format!("\x1b[{}m", 82 + u32::from(index)),
            Self::Exact([red, green, blue]) => format!("\x1b[38;2;{red};{green};{blue}m"),
        }
    }
}

/// Returns the length in bytes of the color sequence at the start of `text`, if it is one that
/// [`Pigment::code`] writes.
pub(crate) fn code_at(text: &str) -> Option<usize> {
    let (digits, _) = text.strip_prefix("\x1b[")?.split_once('m')?;
    let is_color = match digits.strip_prefix("38;2;") {
        Some(parts) => {
            parts.split(';').count() == 3
                && parts
                    .split(';')
                    .all(|part| part.parse::<u8>().is_ok_and(|byte| byte.to_string() == part))
        }
        None => {
            digits.parse::<u8>().is_ok_and(|code| matches!(code, 30..=37 | 90..=97))
                && digits.len() == 2
        }
    };
    is_color.then_some(digits.len() + 3)
}

/// Built-in themes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ThemeName {
    /// For dark backgrounds.
    Dark,
    /// For light backgrounds.
    #[default]
    Light,
    /// Highest contrast, on black.
    HighContrast,
}

/// A role of a theme: its name, its color on a terminal, and its color in a picture.
type Entry = (&'static str, u8, [u8; 3]);

/// Colors of a picture that are not for data: background, text, less important text, grid, axes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground {
    pub(crate) sheet: [u8; 3],
    pub(crate) ink: [u8; 3],
    pub(crate) faded: [u8; 3],
    pub(crate) grid: [u8; 3],
    pub(crate) axis: [u8; 3],
}

/// Number of roles: those of [`Paint`], with series and heat levels counted from 1.
const ROLES: usize = 30;

// The series use the palette of Okabe and Ito, which is distinguishable with any kind of color
// vision.
const LIGHT: [Entry; ROLES] = [
    ("series-1", 4, [0x00, 0x72, 0xB2]),
    ("series-2", 1, [0xD5, 0x5E, 0x00]),
    ("series-3", 2, [0x00, 0x9E, 0x73]),
    ("series-4", 3, [0xE6, 0x9F, 0x00]),
    ("series-5", 5, [0xCC, 0x79, 0xA7]),
    ("series-6", 6, [0x56, 0xB4, 0xE9]),
    ("series-7", 0, [0x00, 0x00, 0x00]),
    ("series-8", 8, [0x7A, 0x6A, 0x58]),
    ("plain", 4, [0x00, 0x72, 0xB2]),
    ("baseline", 1, [0xC9, 0x3A, 0x2B]),
    ("current", 2, [0x00, 0x8A, 0x5E]),
    ("fp32", 0, [0x22, 0x26, 0x2B]),
    ("fp16", 6, [0x0B, 0x87, 0xA3]),
    ("bf16", 3, [0xA8, 0x78, 0x00]),
    ("tf32", 5, [0xB5, 0x3F, 0x8C]),
    ("device-copy", 6, [0x0B, 0x87, 0xA3]),
    ("device-read", 2, [0x00, 0x8A, 0x5E]),
    ("host", 1, [0xC9, 0x3A, 0x2B]),
    ("good", 2, [0x00, 0x9E, 0x73]),
    ("bad", 1, [0xD5, 0x5E, 0x00]),
    ("even", 3, [0xA8, 0x78, 0x00]),
    ("caution", 3, [0xE6, 0x9F, 0x00]),
    ("warning", 3, [0xB0, 0x8A, 0x00]),
    ("error", 9, [0xE0, 0x40, 0x40]),
    ("faded", 8, [0x5F, 0x67, 0x70]),
    ("heat-1", 4, [0xDC, 0xE9, 0xF2]),
    ("heat-2", 4, [0xA9, 0xCC, 0xE0]),
    ("heat-3", 6, [0x6B, 0xA8, 0xCB]),
    ("heat-4", 5, [0x2F, 0x7C, 0xAE]),
    ("heat-5", 1, [0x0B, 0x4A, 0x7A]),
];

const DARK: [Entry; ROLES] = [
    ("series-1", 6, [0x56, 0xB4, 0xE9]),
    ("series-2", 3, [0xF0, 0x8A, 0x3C]),
    ("series-3", 2, [0x2F, 0xC8, 0x9A]),
    ("series-4", 5, [0xF2, 0xC1, 0x4E]),
    ("series-5", 4, [0xE0, 0x9A, 0xC4]),
    ("series-6", 1, [0x5B, 0x9B, 0xE6]),
    ("series-7", 7, [0xE6, 0xE8, 0xEB]),
    ("series-8", 8, [0xB8, 0xA0, 0x86]),
    ("plain", 6, [0x56, 0xB4, 0xE9]),
    ("baseline", 1, [0xF2, 0x6D, 0x5F]),
    ("current", 2, [0x3D, 0xD1, 0x8F]),
    ("fp32", 7, [0xFF, 0xFF, 0xFF]),
    ("fp16", 6, [0x4F, 0xD6, 0xE8]),
    ("bf16", 3, [0xF2, 0xD0, 0x4E]),
    ("tf32", 5, [0xE8, 0x7F, 0xD0]),
    ("device-copy", 6, [0x4F, 0xD6, 0xE8]),
    ("device-read", 2, [0x3D, 0xD1, 0x8F]),
    ("host", 1, [0xF2, 0x6D, 0x5F]),
    ("good", 2, [0x3D, 0xD1, 0x8F]),
    ("bad", 1, [0xF2, 0x6D, 0x5F]),
    ("even", 3, [0xE6, 0xC5, 0x4A]),
    ("caution", 3, [0xF2, 0xB0, 0x3C]),
    ("warning", 11, [0xFF, 0xEE, 0x80]),
    ("error", 9, [0xFF, 0x8A, 0x80]),
    ("faded", 8, [0x9A, 0xA3, 0xAD]),
    ("heat-1", 4, [0x1D, 0x3A, 0x52]),
    ("heat-2", 4, [0x1F, 0x5C, 0x86]),
    ("heat-3", 6, [0x2E, 0x86, 0xB5]),
    ("heat-4", 3, [0x74, 0xBD, 0xDE]),
    ("heat-5", 1, [0xD8, 0xF0, 0xFB]),
];

const HIGH_CONTRAST: [Entry; ROLES] = [
    ("series-1", 14, [0x00, 0xE5, 0xFF]),
    ("series-2", 11, [0xFF, 0xD4, 0x00]),
    ("series-3", 10, [0x3C, 0xFF, 0x6E]),
    ("series-4", 13, [0xFF, 0x7D, 0xFF]),
    ("series-5", 9, [0xFF, 0x7A, 0x5C]),
    ("series-6", 12, [0x8A, 0xB4, 0xFF]),
    ("series-7", 15, [0xFF, 0xFF, 0xFF]),
    ("series-8", 7, [0xC8, 0xC8, 0xC8]),
    ("plain", 15, [0xFF, 0xFF, 0xFF]),
    ("baseline", 9, [0xFF, 0x6B, 0x5C]),
    ("current", 10, [0x3C, 0xFF, 0x6E]),
    ("fp32", 15, [0xFF, 0xFF, 0xFF]),
    ("fp16", 14, [0x00, 0xE5, 0xFF]),
    ("bf16", 11, [0xFF, 0xD4, 0x00]),
    ("tf32", 13, [0xFF, 0x7D, 0xFF]),
    ("device-copy", 14, [0x00, 0xE5, 0xFF]),
    ("device-read", 10, [0x3C, 0xFF, 0x6E]),
    ("host", 9, [0xFF, 0x6B, 0x5C]),
    ("good", 10, [0x3C, 0xFF, 0x6E]),
    ("bad", 9, [0xFF, 0x6B, 0x5C]),
    ("even", 11, [0xFF, 0xD4, 0x00]),
    ("caution", 11, [0xFF, 0xB0, 0x00]),
    ("warning", 11, [0xFF, 0xF2, 0x7A]),
    ("error", 9, [0xFF, 0x9A, 0x8F]),
    ("faded", 7, [0xD0, 0xD0, 0xD0]),
    ("heat-1", 12, [0x2A, 0x2A, 0x60]),
    ("heat-2", 12, [0x3F, 0x52, 0xB8]),
    ("heat-3", 14, [0x2F, 0x9C, 0xE0]),
    ("heat-4", 11, [0x7C, 0xDC, 0xFF]),
    ("heat-5", 9, [0xFF, 0xFF, 0xFF]),
];

impl ThemeName {
    const fn entries(self) -> &'static [Entry; ROLES] {
        match self {
            Self::Dark => &DARK,
            Self::Light => &LIGHT,
            Self::HighContrast => &HIGH_CONTRAST,
        }
    }

    const fn ground(self) -> Ground {
        match self {
            Self::Light => Ground {
                sheet: [0xFF, 0xFF, 0xFF],
                ink: [0x22, 0x26, 0x2B],
                faded: [0x5F, 0x67, 0x70],
                grid: [0xE3, 0xE6, 0xEA],
                axis: [0x9A, 0xA1, 0xA9],
            },
            Self::Dark => Ground {
                sheet: [0x17, 0x1B, 0x20],
                ink: [0xE6, 0xE8, 0xEB],
                faded: [0x9A, 0xA3, 0xAD],
                grid: [0x2B, 0x31, 0x38],
                axis: [0x6B, 0x74, 0x7E],
            },
            Self::HighContrast => Ground {
                sheet: [0x00, 0x00, 0x00],
                ink: [0xFF, 0xFF, 0xFF],
                faded: [0xE0, 0xE0, 0xE0],
                grid: [0x50, 0x50, 0x50],
                axis: [0xFF, 0xFF, 0xFF],
            },
        }
    }
}

/// A theme with the user's changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Theme {
    base: ThemeName,
    changed: BTreeMap<&'static str, Pigment>,
}

/// An unknown name of a role.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` is not a chart role; the roles are {roles}",
    roles = LIGHT.map(|(role, ..)| role).join(", ")
)]
pub struct UnknownRole {
    name: String,
}

impl From<ThemeName> for Theme {
    fn from(base: ThemeName) -> Self {
        Self { base, changed: BTreeMap::new() }
    }
}

impl Theme {
    /// Sets the color of `role`, such as `baseline` or `series-2`, to `pigment`.
    ///
    /// # Errors
    /// If no role has that name.
    pub fn with(mut self, role: &str, pigment: Pigment) -> Result<Self, UnknownRole> {
        let known = LIGHT.iter().find(|(name, ..)| *name == role);
        let (name, ..) = known.ok_or_else(|| UnknownRole { name: role.to_owned() })?;
        self.changed.insert(name, pigment);
        Ok(self)
    }

    /// Returns the base theme.
    pub const fn name(&self) -> ThemeName {
        self.base
    }

    /// Returns the color of `paint` on a terminal.
    pub fn pigment(&self, paint: Paint) -> Pigment {
        let (name, ansi, _) = self.entry(paint);
        self.changed.get(name).copied().unwrap_or(Pigment::Ansi(*ansi))
    }

    /// Returns the color of `paint` in a picture.
    pub fn rgb(&self, paint: Paint) -> [u8; 3] {
        let (name, _, rgb) = self.entry(paint);
        if let Some(pigment) = self.changed.get(name) {
            return pigment.rgb();
        }
        match paint {
            Paint::Heat(level) => self.heat(level),
            _ => *rgb,
        }
    }

    /// Returns the color of a level of a heat map, between the two nearest that the theme names.
    fn heat(&self, level: u8) -> [u8; 3] {
        let level = level.min(HEAT_LEVELS - 1);
        let part = f64::from(level % HEAT_STEP) / f64::from(HEAT_STEP);
        let low = level - level % HEAT_STEP;
        let [low, high] = [low, (low + HEAT_STEP).min(HEAT_LEVELS - 1)]
            .map(|level| self.entry(Paint::Heat(level)).2.map(f64::from));
        std::array::from_fn(|channel| {
            (low[channel] + (high[channel] - low[channel]) * part).round() as u8
        })
    }

    /// Returns the color of `paint` in reports and on pages. Unless the user chose other colors,
    /// before is gray and after is blue there: the verdict is next to them, and a slower value in
    /// green would look good.
    pub fn page_rgb(&self, paint: Paint) -> [u8; 3] {
        let neutral = match paint {
            Paint::Baseline => Paint::Faded,
            Paint::Current => Paint::Series(0),
            _ => return self.rgb(paint),
        };
        let is_changed = self.changed.contains_key(self.entry(paint).0);
        self.rgb(if is_changed { paint } else { neutral })
    }

    /// Returns all colors of a picture by name: `sheet`, `ink`, `faded-ink`, `grid`, `axis`, and
    /// the roles. A page can use them to replace one theme by another.
    pub fn colors(&self) -> Vec<(&'static str, [u8; 3])> {
        let ground = self.ground();
        let mut colors = vec![
            ("sheet", ground.sheet),
            ("ink", ground.ink),
            ("faded-ink", ground.faded),
            ("grid", ground.grid),
            ("axis", ground.axis),
        ];
        for (name, _, rgb) in self.base.entries() {
            let rgb = self.changed.get(name).map_or(*rgb, |pigment| pigment.rgb());
            colors.push((*name, rgb));
        }
        colors
    }

    /// Returns the colors of a picture that are not for data.
    pub(crate) const fn ground(&self) -> Ground {
        self.base.ground()
    }

    fn entry(&self, paint: Paint) -> &'static Entry {
        let entries = self.base.entries();
        entries.get(position(paint)).unwrap_or(&entries[0])
    }
}

/// Number of levels of a heat map from one color that a theme names to the next.
const HEAT_STEP: u8 = (HEAT_LEVELS - 1) / 4;

/// Returns the index of the role of `paint` in a theme.
const fn position(paint: Paint) -> usize {
    match paint {
        Paint::Series(index) => index % 8,
        Paint::Plain => 8,
        Paint::Baseline => 9,
        Paint::Current => 10,
        Paint::Fp32 => 11,
        Paint::Fp16 => 12,
        Paint::Bf16 => 13,
        Paint::Tf32 => 14,
        Paint::DeviceCopy => 15,
        Paint::DeviceRead => 16,
        Paint::Host => 17,
        Paint::Good => 18,
        Paint::Bad => 19,
        Paint::Even => 20,
        Paint::Caution => 21,
        Paint::Warning => 22,
        Paint::Error => 23,
        Paint::Faded => 24,
        Paint::Heat(level) if level < HEAT_LEVELS => {
            25 + ((level + HEAT_STEP / 2) / HEAT_STEP) as usize
        }
        Paint::Heat(_) => 29,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ThemeName::{Dark, HighContrast, Light};

    #[test]
    fn every_theme_has_every_role_at_its_place() {
        for name in [Dark, Light, HighContrast] {
            for (entry, light) in name.entries().iter().zip(&LIGHT) {
                assert_eq!(entry.0, light.0, "{name:?}");
            }
        }
        for (paint, role) in [
            (Paint::Series(1), "series-2"),
            (Paint::Series(9), "series-2"),
            (Paint::Plain, "plain"),
            (Paint::Baseline, "baseline"),
            (Paint::Current, "current"),
            (Paint::Fp32, "fp32"),
            (Paint::Fp16, "fp16"),
            (Paint::Bf16, "bf16"),
            (Paint::Tf32, "tf32"),
            (Paint::DeviceCopy, "device-copy"),
            (Paint::DeviceRead, "device-read"),
            (Paint::Host, "host"),
            (Paint::Good, "good"),
            (Paint::Bad, "bad"),
            (Paint::Even, "even"),
            (Paint::Caution, "caution"),
            (Paint::Warning, "warning"),
            (Paint::Error, "error"),
            (Paint::Faded, "faded"),
            (Paint::Heat(0), "heat-1"),
            (Paint::Heat(200), "heat-5"),
        ] {
            assert_eq!(Theme::default().entry(paint).0, role);
        }
    }

    #[test]
    fn colors_are_names_or_figures_and_can_be_changed() {
        assert_eq!("light-red".parse(), Ok(Pigment::Ansi(9)));
        assert_eq!("#0a0B0c".parse(), Ok(Pigment::Exact([10, 11, 12])));
        for wrong in ["", "rot", "#12345", "#12345g", "#+12345", "0a0b0c"] {
            let error = wrong.parse::<Pigment>().unwrap_err().to_string();
            assert!(error.contains("light-red") && error.contains("#rrggbb"), "{error}");
        }
        let theme = Theme::from(Dark).with("baseline", Pigment::Exact([1, 2, 3])).unwrap();
        assert_eq!(
            (theme.rgb(Paint::Baseline), theme.pigment(Paint::Current)),
            ([1, 2, 3], Pigment::Ansi(2))
        );
        assert!(
            Theme::default()
                .with("base", Pigment::Ansi(1))
                .unwrap_err()
                .to_string()
                .contains("baseline, current")
        );
    }

    #[test]
    fn before_and_after_are_red_and_green_on_terminals_and_gray_and_blue_on_pages() {
        let dark = Theme::from(Dark);
        assert_eq!(dark.pigment(Paint::Baseline), Pigment::Ansi(1));
        assert_eq!(dark.rgb(Paint::Current), [0x3D, 0xD1, 0x8F]);
        assert_eq!(dark.page_rgb(Paint::Baseline), dark.rgb(Paint::Faded));
        assert_eq!(dark.page_rgb(Paint::Current), dark.rgb(Paint::Series(0)));
        let own = dark.with("current", Pigment::Exact([1, 2, 3])).unwrap();
        assert_eq!(own.page_rgb(Paint::Current), [1, 2, 3]);
    }

    #[test]
    fn levels_of_a_heat_map_are_between_the_colors_of_the_theme() {
        let theme = Theme::default();
        let red = |level: u8| theme.rgb(Paint::Heat(level))[0];
        assert_eq!((red(0), red(HEAT_LEVELS - 1)), (0xDC, 0x0B));
        let all: Vec<u8> = (0..HEAT_LEVELS).map(red).collect();
        assert!(all.is_sorted_by(|a, b| a > b), "{all:?}");
    }

    #[test]
    fn what_a_theme_writes_is_let_through_and_nothing_like_it() {
        for index in 0..16 {
            let code = Pigment::Ansi(index).code();
            assert_eq!(code_at(&format!("{code}x")), Some(code.len()), "{code:?}");
        }
        let exact = Pigment::Exact([0, 25, 255]).code();
        assert_eq!(code_at(&exact), Some(exact.len()));
        for other in [
            "\x1b[8m",
            "\x1b[38;2;1;2m",
            "\x1b[38;2;1;2;256m",
            "\x1b[38;2;1;2;+3m",
            "\x1b[+31m",
            "\x1b[031m",
            "\x1b[2J",
        ] {
            assert_eq!(code_at(other), None, "{other:?}");
        }
    }

    fn luminance(rgb: [u8; 3]) -> f64 {
        let [red, green, blue] = rgb.map(|part| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn nothing_is_lost_on_its_ground() {
        for (name, least) in [(Dark, 3.0), (Light, 2.0), (HighContrast, 7.0)] {
            let ground = name.ground();
            for text in [ground.ink, ground.faded] {
                assert!(contrast(ground.sheet, text) > 4.5, "{name:?}");
            }
            for (role, _, rgb) in
                name.entries().iter().filter(|(role, ..)| !role.starts_with("heat"))
            {
                let contrast = contrast(ground.sheet, *rgb);
                assert!(contrast > least, "{name:?} {role}: {contrast:.1}");
            }
        }
    }
}
