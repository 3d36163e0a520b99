//! Enums whose variants have names in documents, ids and on the command line.

/// Defines an enum of unit variants and the name of each: `ALL` and `NAMES` in the order of the
/// variants, `as_str`, `find` and `Display`. With `serde` in front, documents use the same names.
#[macro_export]
macro_rules! named_enum {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $(#[$attribute])*
        $visibility enum $type {
            $($(#[$of_variant])* $variant,)+
        }

        impl $type {
            /// All values, in the order of their definition.
            $visibility const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The names, in the same order.
            $visibility const NAMES: [&'static str; [$($name),+].len()] = [$($name),+];

            /// Returns the name used in text.
            $visibility const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }

            /// Returns the value with this name.
            $visibility fn find(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.as_str() == name)
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    };
    (
        serde
        $(#[$attribute:meta])*
        $visibility:vis enum $type:ident {
            $($(#[$of_variant:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $crate::named_enum! {
            $(#[$attribute])*
            $visibility enum $type {
                $($(#[$of_variant])* #[serde(rename = $name)] $variant = $name,)+
            }
        }
    };
}
