//! Sizes in which no model of a family was published, with the sources that were searched.

use super::catalogue::{Family, SizeClass};

/// Size in which no model was published that the program can build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unpublished {
    /// Family of the model.
    pub family: Family,
    /// Size without a model.
    pub size: SizeClass,
    /// Models and sources that were searched, and why none of them qualifies.
    pub searched: &'static str,
}

impl Unpublished {
    /// Words for such a size in tables.
    pub const WORDS: &'static str = "none published";
}

const UNPUBLISHED: &[Unpublished] = &[Unpublished {
    family: Family::Rag,
    size: SizeClass::Xxl,
    searched: "searched 2026-11-29: pages of the Hugging Face hub, and papers on RAG, \
               Fusion-in-Decoder, RETRO and Atlas. Atlas-xxl is the largest whose reader is an \
               encoder-decoder; transformers has no class for the decoder of Retro 48 B \
               (nvidia/retro-48b-instruct-4k)",
}];

/// Returns the search for a model of `family` in `size`, if none was published.
pub fn unpublished(family: Family, size: SizeClass) -> Option<&'static Unpublished> {
    UNPUBLISHED.iter().find(|cell| cell.family == family && cell.size == size)
}

#[cfg(test)]
mod tests {
    use super::super::{catalogue, representative};
    use super::*;

    #[test]
    fn each_of_66_sizes_has_a_model_or_says_what_was_searched() {
        let cells: Vec<(Family, SizeClass)> = Family::ALL
            .into_iter()
            .flat_map(|family| SizeClass::ALL.map(|size| (family, size)))
            .collect();
        assert_eq!(cells.len(), 66);
        let mut empty = 0;
        for (family, size) in cells {
            let model = representative(family, size);
            let search = unpublished(family, size);
            assert!(
                model.is_some() != search.is_some(),
                "{family} {size}: {:?}, {search:?}",
                model.map(|row| &row.name)
            );
            empty += usize::from(search.is_some_and(|cell| cell.searched.contains("searched 20")));
        }
        assert_eq!(empty, UNPUBLISHED.len(), "an entry is repeated or does not name the day");
        assert!(empty <= 20, "{empty}");
    }

    #[test]
    fn at_least_three_sizes_of_a_family_name_a_class_that_builds_them() {
        for family in Family::ALL {
            let sizes: std::collections::BTreeSet<SizeClass> = catalogue()
                .iter()
                .filter(|row| row.family == family && !row.class.is_empty())
                .map(super::super::ModelRow::size)
                .collect();
            assert!(sizes.len() >= 3, "{family}: {sizes:?}");
        }
    }
}
