//! A macro that makes a table of optional functions from C prototypes.

/// Defines a struct with one `Option<unsafe extern "C" fn>` for each prototype, a function that
/// looks them up in a library, and a list of the function names with their numbers of arguments.
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
            /// Functions in the table, with their numbers of arguments.
            pub const FUNCTIONS: &'static [(&'static str, usize)] =
                &[$( (stringify!($name), <[&str]>::len(&[$(stringify!($argument)),*])) ),*];

            /// Looks up every function.
            fn resolve(loaded: $crate::Loaded) -> Self {
                Self { $( $name: loaded.function(stringify!($name)), )* loaded }
            }

            /// Returns the loaded library.
            pub fn loaded(&self) -> &$crate::Loaded {
                &self.loaded
            }

            /// Returns the names of the functions that the library does not have.
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
