//! Safe interface for queries and their results.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use crate::raw::{
    DuckdbApi, INLINED, column_type, duckdb_connection, duckdb_data_chunk, duckdb_database,
    duckdb_result, duckdb_string_t, duckdb_type, idx_t, statement_type,
};
use crate::search::DuckdbLibrary;

const SUCCESS: i32 = 0;

/// An error returned by DuckDB.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DuckdbError {
    /// Error message of DuckDB. It begins with the kind of error.
    pub message: String,
}

impl DuckdbError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// Returns whether an [`Interrupter`] stopped the statement.
    pub fn is_interrupt(&self) -> bool {
        self.message.starts_with("INTERRUPT")
    }
}

/// A value of a query result.
#[derive(Debug, Clone, PartialEq)]
pub enum DuckdbValue {
    /// NULL.
    Null,
    /// A BOOLEAN.
    Boolean(bool),
    /// A BIGINT.
    Integer(i64),
    /// A DOUBLE.
    Double(f64),
    /// A VARCHAR.
    Text(String),
}

/// Kind of statement in an SQL text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// No statement.
    Nothing,
    /// One SELECT statement. It cannot modify tables, but its functions may access files.
    Select,
    /// One statement of another kind.
    Other,
    /// Several statements.
    Several,
}

/// A database and its connection, both closed when the last reference is dropped.
struct Handle {
    api: Arc<DuckdbApi>,
    database: duckdb_database,
    connection: duckdb_connection,
}

// SAFETY: DuckDB locks the connection while a statement runs, and allows `duckdb_interrupt` in
// other threads.
unsafe impl Send for Handle {}
// SAFETY: DuckDB locks the connection while a statement runs, and allows `duckdb_interrupt` in
// other threads.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: both were created by this library or are null, which these functions accept, and
        // there are no other references to them.
        unsafe {
            (self.api.duckdb_disconnect)(&raw mut self.connection);
            (self.api.duckdb_close)(&raw mut self.database);
        }
    }
}

/// A connection to an in-memory database.
pub struct DuckdbConnection {
    handle: Arc<Handle>,
}

impl std::fmt::Debug for DuckdbConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DuckdbConnection").finish_non_exhaustive()
    }
}

/// A handle that can stop the running statement of a connection.
#[derive(Clone)]
pub struct Interrupter {
    handle: Arc<Handle>,
}

impl std::fmt::Debug for Interrupter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Interrupter").finish_non_exhaustive()
    }
}

impl Interrupter {
    /// Stops the running statement, if any.
    pub fn interrupt(&self) {
        // SAFETY: `self` keeps the connection open, and DuckDB allows interrupts from any thread.
        unsafe { (self.handle.api.duckdb_interrupt)(self.handle.connection) };
    }
}

/// Returns a copy of the text at `text`; `None` if it is null.
///
/// # Safety
/// `text` must be null, or point to a zero-terminated string that lives until this function
/// returns.
unsafe fn text_at(text: *const c_char) -> Option<String> {
    // SAFETY: guaranteed by the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

fn c_text(text: &str) -> Result<CString, DuckdbError> {
    CString::new(text).map_err(|_| DuckdbError::new("the text contains a zero byte"))
}

impl DuckdbLibrary {
    /// Opens an empty in-memory database with these options.
    ///
    /// # Errors
    /// If DuckDB does not support an option, or cannot start.
    pub fn in_memory(&self, options: &[(&str, &str)]) -> Result<DuckdbConnection, DuckdbError> {
        let api = &self.api;
        let mut config = ptr::null_mut();
        // SAFETY: the pointer is to a live variable; the configuration is destroyed below.
        if unsafe { (api.duckdb_create_config)(&raw mut config) } != SUCCESS {
            return Err(DuckdbError::new("out of memory for the options"));
        }
        let set = options.iter().try_for_each(|(name, option)| {
            let (c_name, c_option) = (c_text(name)?, c_text(option)?);
            // SAFETY: the configuration was created above, and both texts are zero-terminated and
            // live during the call.
            let state =
                unsafe { (api.duckdb_set_config)(config, c_name.as_ptr(), c_option.as_ptr()) };
            if state == SUCCESS {
                Ok(())
            } else {
                Err(DuckdbError::new(format!("unsupported option {name} = {option}")))
            }
        });
        let mut handle =
            Handle { api: Arc::clone(api), database: ptr::null_mut(), connection: ptr::null_mut() };
        let opened = set.and_then(|()| open(&mut handle, config));
        // SAFETY: the configuration was created above, and an opened database keeps no reference to
        // it.
        unsafe { (api.duckdb_destroy_config)(&raw mut config) };
        opened.map(|()| DuckdbConnection { handle: Arc::new(handle) })
    }
}

fn open(handle: &mut Handle, config: crate::raw::duckdb_config) -> Result<(), DuckdbError> {
    let api = Arc::clone(&handle.api);
    let mut error: *mut c_char = ptr::null_mut();
    // SAFETY: a null path opens an in-memory database; the outputs are written to live variables.
    let state = unsafe {
        (api.duckdb_open_ext)(ptr::null(), &raw mut handle.database, config, &raw mut error)
    };
    if state != SUCCESS {
        // SAFETY: DuckDB sets the error to null or a zero-terminated text, which the caller owns.
        let message = unsafe { text_at(error) };
        // SAFETY: the error was allocated by DuckDB or is null, for which `duckdb_free` does
        // nothing.
        unsafe { (api.duckdb_free)(error.cast::<c_void>()) };
        return Err(DuckdbError::new(
            message.unwrap_or_else(|| "cannot open the database".to_owned()),
        ));
    }
    // SAFETY: the database is open, and the output pointer is to a live variable.
    let state = unsafe { (api.duckdb_connect)(handle.database, &raw mut handle.connection) };
    if state == SUCCESS { Ok(()) } else { Err(DuckdbError::new("cannot connect to the database")) }
}

impl DuckdbConnection {
    /// Returns a handle that can stop a statement from another thread.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { handle: Arc::clone(&self.handle) }
    }

    /// Returns the kind of statement in `sql`, without executing it.
    ///
    /// # Errors
    /// If `sql` cannot be parsed, or refers to tables that do not exist.
    pub fn kind(&self, sql: &str) -> Result<StatementKind, DuckdbError> {
        let (api, connection) = (&self.handle.api, self.handle.connection);
        let sql = c_text(sql)?;
        let mut statements = ptr::null_mut();
        // SAFETY: the connection is open, the text is zero-terminated and lives until the call
        // returns, and the statements are destroyed below.
        let count = unsafe {
            (api.duckdb_extract_statements)(connection, sql.as_ptr(), &raw mut statements)
        };
        let kind = match count {
            0 => {
                // SAFETY: the statements exist, and their error lives as long as they do.
                let error = unsafe { text_at((api.duckdb_extract_statements_error)(statements)) };
                error
                    .filter(|error| !error.is_empty())
                    .map_or(Ok(StatementKind::Nothing), |error| Err(DuckdbError::new(error)))
            }
            1 => {
                let mut prepared = ptr::null_mut();
                // SAFETY: the connection is open, and the statements contain one at index 0.
                let state = unsafe {
                    (api.duckdb_prepare_extracted_statement)(
                        connection,
                        statements,
                        0,
                        &raw mut prepared,
                    )
                };
                let kind = if state == SUCCESS {
                    // SAFETY: preparing the statement has succeeded.
                    let kind = unsafe { (api.duckdb_prepared_statement_type)(prepared) };
                    Ok(if kind == statement_type::SELECT {
                        StatementKind::Select
                    } else {
                        StatementKind::Other
                    })
                } else {
                    // SAFETY: the error lives as long as the statement.
                    let error = unsafe { text_at((api.duckdb_prepare_error)(prepared)) };
                    Err(DuckdbError::new(
                        error.unwrap_or_else(|| "the statement cannot be prepared".to_owned()),
                    ))
                };
                // SAFETY: the prepared statement was created above and is not used afterwards.
                unsafe { (api.duckdb_destroy_prepare)(&raw mut prepared) };
                kind
            }
            _ => Ok(StatementKind::Several),
        };
        // SAFETY: the statements were created above and are not used afterwards.
        unsafe { (api.duckdb_destroy_extracted)(&raw mut statements) };
        kind
    }

    /// Executes `sql`, which may be any statement.
    ///
    /// # Errors
    /// If DuckDB returns an error.
    pub fn execute(&self, sql: &str) -> Result<(), DuckdbError> {
        self.answer(sql).map(drop)
    }

    /// Runs the query `sql` and passes each row to `take` until that returns false. Returns the
    /// column names.
    ///
    /// # Errors
    /// If DuckDB returns an error, or a column is not BOOLEAN, BIGINT, DOUBLE or VARCHAR.
    pub fn rows(
        &self,
        sql: &str,
        mut take: impl FnMut(Vec<DuckdbValue>) -> bool,
    ) -> Result<Vec<String>, DuckdbError> {
        let mut answer = self.answer(sql)?;
        let columns = answer.columns();
        let types: Vec<duckdb_type> = columns.iter().map(|(_, kind)| *kind).collect();
        while let Some(chunk) = answer.next()? {
            for row in 0..chunk.rows() {
                let mut values = Vec::with_capacity(types.len());
                for (column, kind) in types.iter().enumerate() {
                    values.push(chunk.value(column, row, *kind)?);
                }
                if !take(values) {
                    return Ok(names(columns));
                }
            }
        }
        Ok(names(columns))
    }

    fn answer(&self, sql: &str) -> Result<Answer<'_>, DuckdbError> {
        let sql = c_text(sql)?;
        let mut answer = Answer { api: &self.handle.api, result: duckdb_result::EMPTY };
        // SAFETY: the connection is open, and the text is zero-terminated and lives during the
        // call. Dropping the answer destroys the result.
        let state = unsafe {
            (answer.api.duckdb_query)(self.handle.connection, sql.as_ptr(), &raw mut answer.result)
        };
        if state == SUCCESS { Ok(answer) } else { Err(answer.error()) }
    }
}

fn names(columns: Vec<(String, duckdb_type)>) -> Vec<String> {
    columns.into_iter().map(|(name, _)| name).collect()
}

/// A query result, destroyed on drop.
struct Answer<'c> {
    api: &'c DuckdbApi,
    result: duckdb_result,
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        // SAFETY: the result belongs to this library or is empty, and is not used afterwards.
        unsafe { (self.api.duckdb_destroy_result)(&raw mut self.result) };
    }
}

impl<'c> Answer<'c> {
    fn error(&mut self) -> DuckdbError {
        // SAFETY: the result was written by DuckDB, and its error lives as long as it does.
        let message = unsafe { text_at((self.api.duckdb_result_error)(&raw mut self.result)) };
        DuckdbError::new(message.unwrap_or_else(|| "DuckDB returned no error message".to_owned()))
    }

    fn columns(&mut self) -> Vec<(String, duckdb_type)> {
        // SAFETY: the query has succeeded, so the result is valid.
        let count = unsafe { (self.api.duckdb_column_count)(&raw mut self.result) };
        let mut columns = Vec::new();
        for at in 0..count {
            // SAFETY: `at` is less than the number of columns, and the name lives as long as the
            // result.
            columns.push(unsafe {
                let name = text_at((self.api.duckdb_column_name)(&raw mut self.result, at));
                (name.unwrap_or_default(), (self.api.duckdb_column_type)(&raw mut self.result, at))
            });
        }
        columns
    }

    fn next(&mut self) -> Result<Option<Chunk<'c>>, DuckdbError> {
        // SAFETY: the query has succeeded, so the result is valid. The header declares it as passed
        // by value.
        let chunk = unsafe { (self.api.duckdb_fetch_chunk)(self.result) };
        if !chunk.is_null() {
            return Ok(Some(Chunk { api: self.api, chunk }));
        }
        // SAFETY: the result was written by DuckDB, and its error lives as long as it does.
        let error = unsafe { text_at((self.api.duckdb_result_error)(&raw mut self.result)) };
        error
            .filter(|error| !error.is_empty())
            .map_or(Ok(None), |error| Err(DuckdbError::new(error)))
    }
}

/// A chunk of rows, destroyed on drop.
struct Chunk<'c> {
    api: &'c DuckdbApi,
    chunk: duckdb_data_chunk,
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        // SAFETY: DuckDB returned the chunk, and it is not used afterwards.
        unsafe { (self.api.duckdb_destroy_data_chunk)(&raw mut self.chunk) };
    }
}

impl Chunk<'_> {
    fn rows(&self) -> usize {
        // SAFETY: the chunk is destroyed only on drop.
        usize::try_from(unsafe { (self.api.duckdb_data_chunk_get_size)(self.chunk) }).unwrap_or(0)
    }

    /// Returns the value in `row` of `column`, which must be within the chunk. `kind` must be the
    /// type of the column.
    fn value(
        &self,
        column: usize,
        row: usize,
        kind: duckdb_type,
    ) -> Result<DuckdbValue, DuckdbError> {
        // SAFETY: the chunk has this column.
        let vector =
            unsafe { (self.api.duckdb_data_chunk_get_vector)(self.chunk, column as idx_t) };
        // SAFETY: the vector lives as long as the chunk.
        let (data, validity) = unsafe {
            (
                (self.api.duckdb_vector_get_data)(vector),
                (self.api.duckdb_vector_get_validity)(vector),
            )
        };
        // SAFETY: if the mask is not null, it has a bit for every row, in 64-bit words.
        let is_there =
            validity.is_null() || (unsafe { *validity.add(row / 64) } >> (row % 64)) & 1 == 1;
        if !is_there {
            return Ok(DuckdbValue::Null);
        }
        // SAFETY: the column has type `kind`, so the data contain a value of this type for every
        // row.
        Ok(unsafe {
            match kind {
                column_type::BOOLEAN => DuckdbValue::Boolean(*data.cast::<u8>().add(row) != 0),
                column_type::BIGINT => DuckdbValue::Integer(*data.cast::<i64>().add(row)),
                column_type::DOUBLE => DuckdbValue::Double(*data.cast::<f64>().add(row)),
                column_type::VARCHAR => {
                    DuckdbValue::Text(text_of(data.cast::<duckdb_string_t>().add(row)))
                }
                other => {
                    return Err(DuckdbError::new(format!(
                        "columns of type {other} are not supported"
                    )));
                }
            }
        })
    }
}

/// Returns the text of the vector element at `cell`.
///
/// # Safety
/// `cell` must point to a valid text element of a vector.
unsafe fn text_of(cell: *const duckdb_string_t) -> String {
    // SAFETY: the caller guarantees a valid element. Up to [`INLINED`] bytes are stored after the
    // length; the pointer is valid for longer texts.
    let bytes = unsafe {
        let length = (*cell).length;
        let inlined = cell.cast::<u8>().add(std::mem::offset_of!(duckdb_string_t, prefix));
        let begin = if length <= INLINED { inlined } else { (*cell).pointer };
        std::slice::from_raw_parts(begin, length as usize)
    };
    String::from_utf8_lossy(bytes).into_owned()
}
