//! Parser of `gpu_metrics`, a binary table whose first four bytes are its size and version. There
//! is one layout for each known version; other versions or sizes are rejected with the reason.

use std::collections::BTreeMap;
use std::path::Path;

use rsb_model::gpu_sample::Temperatures;

use crate::host::read_bytes;
pub(super) use crate::plausible::{celsius, megahertz, watts};

/// Limit above the size of all known tables.
const MAX_TABLE_BYTES: u64 = 64 << 10;

/// Values of a table. The driver writes all ones for values that the GPU does not have.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Metrics {
    pub(super) temperature_c: Temperatures,
    pub(super) power_w: Option<f64>,
    pub(super) utilization_percent: Option<f64>,
    pub(super) sclk_mhz: Option<f64>,
    pub(super) mclk_mhz: Option<f64>,
    /// Throttle status with the same bits for every GPU; see the module `throttle`.
    pub(super) throttle_status: Option<u64>,
    /// Counters that grow while a reason throttles the GPU.
    pub(super) throttle_counters: BTreeMap<String, u64>,
}

/// Reads the table at `path`; `None` if there is none.
pub(super) fn read(path: &Path) -> Option<Result<Metrics, String>> {
    let bytes = read_bytes(path, MAX_TABLE_BYTES)?;
    (!bytes.is_empty()).then(|| parse(&bytes))
}

/// Offsets of the values of one version, in bytes from the start. Source: the kernel's
/// `kgd_pp_interface.h`.
struct Layout {
    version: (u8, u8),
    size: u16,
    edge: Option<usize>,
    junction: Option<usize>,
    memory: Option<usize>,
    power: Field,
    activity: usize,
    /// Clock of the compute units: offset, and number of dies.
    sclk: (usize, usize),
    mclk: usize,
    status: Option<usize>,
    counters: Option<(usize, &'static [&'static str])>,
    units: Units,
}

/// Offset and width of a value.
#[derive(Clone, Copy)]
enum Field {
    U16(usize),
    U32(usize),
}

/// Units of a table.
#[derive(Clone, Copy, PartialEq)]
enum Units {
    /// °C, W and percent.
    Whole,
    /// 0.01 °C, mW and 0.01 percent.
    Fine,
    /// 0.01 °C, mW and percent.
    FineButActivity,
}

const ACCUMULATED: &[&str] = &[
    "CPU hot signal",
    "power limit",
    "temperature of the package",
    "temperature of the regulator",
    "temperature of the memory",
];

const RESIDENCY: &[&str] = &[
    "CPU hot signal",
    "sustained power limit",
    "fast power limit",
    "slow power limit",
    "temperature of the cores",
    "temperature of the GPU",
    "temperature of the chip",
];

/// Returns the layout of GPUs; versions 1.1, 1.2 and 1.3 have the same offsets up to the clocks.
const fn gpu(revision: u8, size: u16, status: Option<usize>) -> Layout {
    Layout {
        version: (1, revision),
        size,
        edge: Some(4),
        junction: Some(6),
        memory: Some(8),
        power: Field::U16(22),
        activity: 16,
        sclk: (54, 1),
        mclk: 58,
        status,
        counters: None,
        units: Units::Whole,
    }
}

/// Returns the layout of accelerators with many dies, from the MI300 on; `counters` begin after the
/// cycle counter.
const fn accelerator(revision: u8, size: u16, clocks: usize, counters: Option<usize>) -> Layout {
    Layout {
        version: (1, revision),
        size,
        edge: None,
        junction: Some(4),
        memory: Some(6),
        power: Field::U16(10),
        activity: 12,
        sclk: (clocks, 8),
        mclk: clocks + 40,
        status: None,
        counters: match counters {
            Some(place) => Some((place, ACCUMULATED)),
            None => None,
        },
        units: Units::Whole,
    }
}

/// Returns the layout of integrated graphics.
const fn part(revision: u8, size: u16, status: Option<usize>) -> Layout {
    Layout {
        version: (2, revision),
        size,
        edge: Some(4),
        junction: None,
        memory: None,
        power: Field::U16(40),
        activity: 28,
        sclk: (76, 1),
        mclk: 80,
        status,
        counters: None,
        units: Units::Fine,
    }
}

const LAYOUTS: [Layout; 15] = [
    Layout {
        edge: Some(16),
        junction: Some(18),
        memory: Some(20),
        power: Field::U16(34),
        activity: 28,
        ..gpu(0, 80, None)
    },
    gpu(1, 96, None),
    gpu(2, 104, None),
    gpu(3, 120, Some(112)),
    accelerator(4, 288, 240, None),
    accelerator(5, 360, 312, None),
    accelerator(6, 1664, 264, Some(36)),
    accelerator(7, 2208, 296, Some(44)),
    accelerator(8, 3872, 296, Some(44)),
    Layout {
        edge: Some(16),
        power: Field::U16(44),
        activity: 40,
        sclk: (80, 1),
        mclk: 84,
        ..part(0, 120, None)
    },
    part(1, 120, None),
    part(2, 128, Some(120)),
    part(3, 152, Some(120)),
    part(4, 168, Some(120)),
    Layout {
        version: (3, 0),
        size: 264,
        power: Field::U32(112),
        activity: 42,
        sclk: (174, 1),
        mclk: 186,
        counters: Some((228, RESIDENCY)),
        units: Units::FineButActivity,
        ..part(0, 264, None)
    },
];

/// Parses a table; bytes after its end are ignored (some captures are padded).
pub(super) fn parse(bytes: &[u8]) -> Result<Metrics, String> {
    let [low, high, format, content, ..] = *bytes else {
        return Err(format!("gpu_metrics has {} bytes, less than its header", bytes.len()));
    };
    let (size, version) = (u16::from_le_bytes([low, high]), (format, content));
    let Some(layout) = LAYOUTS.iter().find(|layout| layout.version == version) else {
        return Err(format!(
            "gpu_metrics has version {format}.{content}, which this program does not support"
        ));
    };
    if size != layout.size {
        return Err(format!(
            "gpu_metrics {format}.{content} has {size} bytes instead of {}",
            layout.size
        ));
    }
    let table = bytes.get(..usize::from(size));
    table.map(|table| layout.read(table)).ok_or_else(|| {
        format!("gpu_metrics {format}.{content} ends after {} of {size} bytes", bytes.len())
    })
}

impl Layout {
    fn read(&self, table: &[u8]) -> Metrics {
        let (hundredths, thousandths, shares) = match self.units {
            Units::Whole => (1.0, 1.0, 1.0),
            Units::Fine => (100.0, 1e3, 100.0),
            Units::FineButActivity => (100.0, 1e3, 1.0),
        };
        let power = match self.power {
            Field::U16(place) => short(table, place),
            Field::U32(place) => long(table, place).map(|value| value as f64),
        };
        let (first, dies) = self.sclk;
        let clocks =
            (0..dies).filter_map(|die| short(table, first + 2 * die)).filter_map(megahertz);
        let activity = short(table, self.activity).map(|value| value / shares);
        Metrics {
            temperature_c: Temperatures {
                edge: self.edge.and_then(|place| degrees(table, place, hundredths)),
                junction: self.junction.and_then(|place| degrees(table, place, hundredths)),
                memory: self.memory.and_then(|place| degrees(table, place, hundredths)),
            },
            power_w: power.map(|value| value / thousandths).and_then(watts),
            utilization_percent: activity.filter(|share| (0.0..=100.0).contains(share)),
            sclk_mhz: clocks.reduce(f64::max),
            mclk_mhz: short(table, self.mclk).and_then(megahertz),
            throttle_status: self.status.and_then(|place| status(table, place)),
            throttle_counters: self.counters(table),
        }
    }

    fn counters(&self, table: &[u8]) -> BTreeMap<String, u64> {
        let Some((first, names)) = self.counters else { return BTreeMap::new() };
        let each = names.iter().enumerate();
        each.filter_map(|(index, name)| Some(((*name).to_owned(), long(table, first + 4 * index)?)))
            .collect()
    }
}

/// Returns a temperature in °C; the table has it in units of 1/`unit` °C.
fn degrees(table: &[u8], place: usize, unit: f64) -> Option<f64> {
    celsius(short(table, place)? / unit)
}

fn short(table: &[u8], place: usize) -> Option<f64> {
    let bytes: [u8; 2] = table.get(place..place + 2)?.try_into().ok()?;
    Some(u16::from_le_bytes(bytes)).filter(|value| *value != u16::MAX).map(f64::from)
}

fn long(table: &[u8], place: usize) -> Option<u64> {
    let bytes: [u8; 4] = table.get(place..place + 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(bytes)).filter(|value| *value != u32::MAX).map(u64::from)
}

fn status(table: &[u8], place: usize) -> Option<u64> {
    let bytes: [u8; 8] = table.get(place..place + 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(bytes)).filter(|value| *value != u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a table of that version in which every byte is zero except the header and `values`.
    fn table(version: (u8, u8), values: &[(usize, &[u8])]) -> Vec<u8> {
        let layout = LAYOUTS.iter().find(|layout| layout.version == version).unwrap();
        let mut bytes = vec![0; usize::from(layout.size)];
        bytes[..2].copy_from_slice(&layout.size.to_le_bytes());
        (bytes[2], bytes[3]) = version;
        for (place, value) in values {
            bytes[*place..place + value.len()].copy_from_slice(value);
        }
        bytes
    }

    #[test]
    fn a_gpu_and_an_accelerator_and_a_part_of_a_cpu_are_read() {
        let gpu = table(
            (1, 3),
            &[
                (4, &[55, 0]),
                (6, &[66, 0]),
                (16, &[97, 0]),
                (22, &[44, 1]),
                (54, &[196, 9]),
                (58, &[226, 4]),
                (112, &[1]),
            ],
        );
        let found = parse(&gpu).unwrap();
        assert_eq!(
            found.temperature_c,
            Temperatures { edge: Some(55.0), junction: Some(66.0), memory: None }
        );
        assert_eq!((found.power_w, found.utilization_percent), (Some(300.0), Some(97.0)));
        assert_eq!(
            (found.sclk_mhz, found.mclk_mhz, found.throttle_status),
            (Some(2500.0), Some(1250.0), Some(1))
        );

        let accelerator = table(
            (1, 6),
            &[
                (4, &[70, 0]),
                (10, &[238, 2]),
                (36, &[9]),
                (40, &[7]),
                (264, &[52, 8, 255, 255, 0, 4]),
                (304, &[20, 5]),
            ],
        );
        let found = parse(&accelerator).unwrap();
        assert_eq!(
            (found.power_w, found.sclk_mhz, found.mclk_mhz),
            (Some(750.0), Some(2100.0), Some(1300.0)),
            "the fastest die"
        );
        assert_eq!((found.throttle_status, found.throttle_counters["power limit"]), (None, 7));

        let part = table(
            (2, 4),
            &[(4, &[228, 14]), (28, &[136, 19]), (40, &[152, 58]), (120, &[0, 0, 0, 0, 1])],
        );
        let found = parse(&part).unwrap();
        assert_eq!((found.temperature_c.edge, found.power_w), (Some(38.12), Some(15.0)));
        assert_eq!((found.utilization_percent, found.throttle_status), (Some(50.0), Some(1 << 32)));
    }

    #[test]
    fn all_ones_are_absent_in_every_version() {
        for layout in &LAYOUTS {
            let mut bytes = table(layout.version, &[]);
            bytes[4..].fill(0xff);
            assert_eq!(parse(&bytes), Ok(Metrics::default()), "{:?}", layout.version);
        }
    }

    #[test]
    fn figures_stand_inside_of_their_table_and_apart_from_each_other() {
        for layout in &LAYOUTS {
            let power = match layout.power {
                Field::U16(place) => (place, 2),
                Field::U32(place) => (place, 4),
            };
            let mut places = vec![
                power,
                (layout.activity, 2),
                (layout.sclk.0, 2 * layout.sclk.1),
                (layout.mclk, 2),
            ];
            places.extend(
                [layout.edge, layout.junction, layout.memory]
                    .into_iter()
                    .flatten()
                    .map(|place| (place, 2)),
            );
            places.extend(layout.status.map(|place| (place, 8)));
            places.extend(layout.counters.map(|(place, names)| (place, 4 * names.len())));
            places.sort_unstable();
            assert!(
                places.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0),
                "{:?}",
                layout.version
            );
            let (last, width) = places[places.len() - 1];
            assert!(
                places[0].0 >= 4 && last + width <= usize::from(layout.size),
                "{:?}",
                layout.version
            );
        }
    }

    #[test]
    fn what_is_not_known_is_refused_with_the_reason() {
        for (bytes, word) in [
            (vec![], "0 bytes"),
            (vec![120, 0, 1], "3 bytes"),
            (vec![120, 0, 1, 3], "ends after 4 of 120"),
            (table((1, 3), &[])[..119].to_vec(), "ends after 119 of 120"),
            (table((1, 3), &[(0, &[96, 0])]), "has 96 bytes instead of 120"),
            (table((1, 3), &[(3, &[9])]), "version 1.9"),
            (vec![0xff; 200], "version 255.255"),
        ] {
            let reason = parse(&bytes).unwrap_err();
            assert!(reason.contains(word), "{reason}");
        }
        let mut padded = table((1, 3), &[(4, &[55, 0])]);
        padded.resize(4096, 0);
        assert_eq!(parse(&padded).unwrap().temperature_c.edge, Some(55.0));
    }
}
