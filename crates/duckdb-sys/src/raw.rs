//! The C interface: names and prototypes of `duckdb.h`.
// Names are those of the C interface, so that they can be found in its documentation.
#![allow(non_camel_case_types)]

use std::ffi::{c_char, c_int, c_void};

use runtime_loading::Loaded;

/// A count or an index.
pub(crate) type idx_t = u64;

/// A status; 0 is success.
pub(crate) type duckdb_state = c_int;

/// A column type; see [`column_type`].
pub(crate) type duckdb_type = c_int;

/// A statement type; see [`statement_type`].
pub(crate) type duckdb_statement_type = c_int;

/// Defines the opaque types behind handles.
macro_rules! handles {
    ($($handle:ident = $opaque:ident;)*) => {$(
        #[repr(C)]
        pub(crate) struct $opaque { _private: [u8; 0] }
        pub(crate) type $handle = *mut $opaque;
    )*};
}

handles! {
    duckdb_database = _duckdb_database;
    duckdb_connection = _duckdb_connection;
    duckdb_config = _duckdb_config;
    duckdb_extracted_statements = _duckdb_extracted_statements;
    duckdb_prepared_statement = _duckdb_prepared_statement;
    duckdb_data_chunk = _duckdb_data_chunk;
    duckdb_vector = _duckdb_vector;
}

/// A query result. All fields except the last are deprecated and must not be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct duckdb_result {
    deprecated_column_count: idx_t,
    deprecated_row_count: idx_t,
    deprecated_rows_changed: idx_t,
    deprecated_columns: *mut c_void,
    deprecated_error_message: *mut c_char,
    internal_data: *mut c_void,
}

impl duckdb_result {
    /// An empty result, to be passed to `duckdb_query`.
    pub(crate) const EMPTY: Self = Self {
        deprecated_column_count: 0,
        deprecated_row_count: 0,
        deprecated_rows_changed: 0,
        deprecated_columns: std::ptr::null_mut(),
        deprecated_error_message: std::ptr::null_mut(),
        internal_data: std::ptr::null_mut(),
    };
}

/// A text in a vector. Texts of up to [`INLINED`] bytes are stored after the length; for longer
/// ones `pointer` refers to the bytes.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct duckdb_string_t {
    pub(crate) length: u32,
    pub(crate) prefix: [u8; 4],
    pub(crate) pointer: *const u8,
}

/// Maximum length of an inline text, in bytes.
pub(crate) const INLINED: u32 = 12;

/// Values of [`duckdb_type`] that this crate reads.
pub(crate) mod column_type {
    use super::duckdb_type;

    pub(crate) const BOOLEAN: duckdb_type = 1;
    pub(crate) const BIGINT: duckdb_type = 5;
    pub(crate) const DOUBLE: duckdb_type = 11;
    pub(crate) const VARCHAR: duckdb_type = 17;
}

/// Values of [`duckdb_statement_type`] that this crate distinguishes.
pub(crate) mod statement_type {
    use super::duckdb_statement_type;

    pub(crate) const SELECT: duckdb_statement_type = 1;
}

/// Defines a struct of functions, all of which are required. The function tables for GPU libraries
/// differ in that functions are optional, because most cases need only some of them.
macro_rules! functions {
    ($( $(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $result:ty)?; )*) => {
        /// The functions that this crate uses.
        pub(crate) struct DuckdbApi {
            loaded: Loaded,
            $( $(#[$doc])* pub(crate) $name: unsafe extern "C" fn($($argument: $type),*) $(-> $result)?, )*
        }

        impl DuckdbApi {
            /// Looks up every function. The error is the name of the first one that the library
            /// lacks.
            pub(crate) fn resolve(loaded: Loaded) -> Result<Self, &'static str> {
                Ok(Self { $( $name: loaded.function(stringify!($name)).ok_or(stringify!($name))?, )* loaded })
            }

            /// Returns the loaded library.
            pub(crate) fn loaded(&self) -> &Loaded {
                &self.loaded
            }
        }
    };
}

functions! {
    /// Returns the version, as a static string.
    fn duckdb_library_version() -> *const c_char;
    /// Creates a configuration without options.
    fn duckdb_create_config(config: *mut duckdb_config) -> duckdb_state;
    /// Sets an option by name.
    fn duckdb_set_config(config: duckdb_config, name: *const c_char, option: *const c_char) -> duckdb_state;
    /// Destroys a configuration.
    fn duckdb_destroy_config(config: *mut duckdb_config);
    /// Opens a database; in memory if the path is null. The caller must free the error.
    fn duckdb_open_ext(
        path: *const c_char, database: *mut duckdb_database, config: duckdb_config, error: *mut *mut c_char,
    ) -> duckdb_state;
    /// Closes a database.
    fn duckdb_close(database: *mut duckdb_database);
    /// Opens a connection.
    fn duckdb_connect(database: duckdb_database, connection: *mut duckdb_connection) -> duckdb_state;
    /// Closes a connection.
    fn duckdb_disconnect(connection: *mut duckdb_connection);
    /// Interrupts the running statement of a connection; callable from any thread.
    fn duckdb_interrupt(connection: duckdb_connection);
    /// Frees memory that the library allocated for the caller.
    fn duckdb_free(memory: *mut c_void);
    /// Runs a query. The result must be destroyed even if the query fails.
    fn duckdb_query(connection: duckdb_connection, sql: *const c_char, result: *mut duckdb_result) -> duckdb_state;
    /// Destroys a result.
    fn duckdb_destroy_result(result: *mut duckdb_result);
    /// Returns the error message of a result, which lives as long as the result.
    fn duckdb_result_error(result: *mut duckdb_result) -> *const c_char;
    /// Returns the number of columns.
    fn duckdb_column_count(result: *mut duckdb_result) -> idx_t;
    /// Returns the name of a column, which lives as long as the result.
    fn duckdb_column_name(result: *mut duckdb_result, column: idx_t) -> *const c_char;
    /// Returns the type of a column.
    fn duckdb_column_type(result: *mut duckdb_result, column: idx_t) -> duckdb_type;
    /// Returns the next chunk of rows; null at the end.
    fn duckdb_fetch_chunk(result: duckdb_result) -> duckdb_data_chunk;
    /// Destroys a chunk.
    fn duckdb_destroy_data_chunk(chunk: *mut duckdb_data_chunk);
    /// Returns the number of rows in a chunk.
    fn duckdb_data_chunk_get_size(chunk: duckdb_data_chunk) -> idx_t;
    /// Returns a column of a chunk.
    fn duckdb_data_chunk_get_vector(chunk: duckdb_data_chunk, column: idx_t) -> duckdb_vector;
    /// Returns the values of a column.
    fn duckdb_vector_get_data(vector: duckdb_vector) -> *mut c_void;
    /// Returns a bit mask of the values that are not NULL; a null pointer if no value is NULL.
    fn duckdb_vector_get_validity(vector: duckdb_vector) -> *mut u64;
    /// Splits a text into statements and returns their number, or 0 on failure.
    fn duckdb_extract_statements(
        connection: duckdb_connection, sql: *const c_char, statements: *mut duckdb_extracted_statements,
    ) -> idx_t;
    /// Returns the parse error, which lives as long as the statements.
    fn duckdb_extract_statements_error(statements: duckdb_extracted_statements) -> *const c_char;
    /// Destroys the statements.
    fn duckdb_destroy_extracted(statements: *mut duckdb_extracted_statements);
    /// Prepares a statement.
    fn duckdb_prepare_extracted_statement(
        connection: duckdb_connection, statements: duckdb_extracted_statements, index: idx_t,
        prepared: *mut duckdb_prepared_statement,
    ) -> duckdb_state;
    /// Returns the error of preparing a statement, which lives as long as the statement.
    fn duckdb_prepare_error(prepared: duckdb_prepared_statement) -> *const c_char;
    /// Returns the type of a prepared statement.
    fn duckdb_prepared_statement_type(prepared: duckdb_prepared_statement) -> duckdb_statement_type;
    /// Destroys a prepared statement.
    fn duckdb_destroy_prepare(prepared: *mut duckdb_prepared_statement);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result has six words and a text 16 bytes, as in `duckdb.h` of versions 0.10 and 1.2.
    #[test]
    fn sizes_are_those_of_the_header() {
        assert_eq!(
            (size_of::<duckdb_result>(), size_of::<duckdb_string_t>()),
            (6 * size_of::<usize>(), 16)
        );
        assert_eq!(std::mem::offset_of!(duckdb_string_t, pointer), 8);
    }
}
