//! One macro that makes a table of optional functions from C prototypes.

/// Makes a struct with one `Option<unsafe extern "C" fn>` for each prototype, a function that fills
/// it from a library, and the list of names with their numbers of arguments.
#[macro_export]
macro_rules! function_table {
    (
        $(#[$about:meta])*
        pub struct $table:ident {
            $( $(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $result:ty; )*
        }
    ) => {
        $(#[$about])*
        pub struct $table {
            loaded: $crate::Loaded,
            $( $(#[$doc])* pub $name: Option<unsafe extern "C" fn($($argument: $type),*) -> $result>, )*
        }

        impl $table {
            /// Every function that is looked for, with its number of arguments.
            pub const FUNCTIONS: &'static [(&'static str, usize)] =
                &[$( (stringify!($name), <[&str]>::len(&[$(stringify!($argument)),*])) ),*];

            /// Looks every function up.
            fn resolve(loaded: $crate::Loaded) -> Self {
                Self { $( $name: loaded.function(stringify!($name)), )* loaded }
            }

            /// The library behind it.
            pub fn loaded(&self) -> &$crate::Loaded {
                &self.loaded
            }

            /// The names of the functions that the library does not have.
            pub fn missing(&self) -> Vec<&'static str> {
                let mut missing = Vec::new();
                $( if self.$name.is_none() { missing.push(stringify!($name)); } )*
                missing
            }
        }

        impl std::fmt::Debug for $table {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($table)).field("loaded", &self.loaded).finish_non_exhaustive()
            }
        }
    };
}
