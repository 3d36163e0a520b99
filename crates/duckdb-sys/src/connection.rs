//! Questions and their answers, in safe terms.

use std::ffi::{CStr, CString, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use crate::raw::{
    DuckdbApi, INLINED, column_type, duckdb_connection, duckdb_data_chunk, duckdb_database,
    duckdb_result, duckdb_string_t, duckdb_type, idx_t, statement_type,
};
use crate::search::DuckdbLibrary;

const SUCCESS: i32 = 0;

/// What DuckDB says of a question that it does not answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DuckdbError {
    /// Its own words, which begin with the kind of error.
    pub message: String,
}

impl DuckdbError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    /// Whether an [`Interrupter`] stopped it.
    pub fn is_interrupt(&self) -> bool {
        self.message.starts_with("INTERRUPT")
    }
}

/// A value of an answer.
#[derive(Debug, Clone, PartialEq)]
pub enum DuckdbValue {
    /// Nothing.
    Null,
    /// Of BOOLEAN.
    Boolean(bool),
    /// Of BIGINT.
    Integer(i64),
    /// Of DOUBLE.
    Double(f64),
    /// Of VARCHAR.
    Text(String),
}

/// What a text holds, by statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementKind {
    /// None.
    Nothing,
    /// One that only reads tables; functions in it may still reach files.
    Select,
    /// One of another kind.
    Other,
    /// More than one.
    Several,
}

/// A database and the connection to it; both are closed when the last one who has it is gone.
struct Handle {
    api: Arc<DuckdbApi>,
    database: duckdb_database,
    connection: duckdb_connection,
}

// SAFETY: DuckDB locks a connection while a statement runs on it, and `duckdb_interrupt` is for
// other threads.
unsafe impl Send for Handle {}
// SAFETY: as above.
unsafe impl Sync for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: both are of this library or null, which these functions take, and nobody else has
        // them.
        unsafe {
            (self.api.duckdb_disconnect)(&raw mut self.connection);
            (self.api.duckdb_close)(&raw mut self.database);
        }
    }
}

/// A database in memory.
pub struct DuckdbConnection {
    handle: Arc<Handle>,
}

impl std::fmt::Debug for DuckdbConnection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DuckdbConnection").finish_non_exhaustive()
    }
}

/// Stops what runs on a connection.
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
    /// Stops the statement that runs now, if there is one.
    pub fn interrupt(&self) {
        // SAFETY: the connection is open as long as this has it, and any thread may interrupt.
        unsafe { (self.handle.api.duckdb_interrupt)(self.handle.connection) };
    }
}

/// The text at `text`; none at null.
///
/// # Safety
/// It must be null, or a text that ends and lives until this returns.
unsafe fn text_at(text: *const c_char) -> Option<String> {
    // SAFETY: by the promise of the caller.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

fn c_text(text: &str) -> Result<CString, DuckdbError> {
    CString::new(text).map_err(|_| DuckdbError::new("a zero byte stands in it"))
}

impl DuckdbLibrary {
    /// Opens an empty database in memory, with these options.
    ///
    /// # Errors
    /// When DuckDB does not know an option, or cannot start.
    pub fn in_memory(&self, options: &[(&str, &str)]) -> Result<DuckdbConnection, DuckdbError> {
        let api = &self.api;
        let mut config = ptr::null_mut();
        // SAFETY: it is made here, given back below, and used in between alone.
        if unsafe { (api.duckdb_create_config)(&raw mut config) } != SUCCESS {
            return Err(DuckdbError::new("it has no memory for its options"));
        }
        let set = options.iter().try_for_each(|(name, option)| {
            let (c_name, c_option) = (c_text(name)?, c_text(option)?);
            // SAFETY: the options are there, and both texts end and live until it returns.
            let state =
                unsafe { (api.duckdb_set_config)(config, c_name.as_ptr(), c_option.as_ptr()) };
            if state == SUCCESS {
                Ok(())
            } else {
                Err(DuckdbError::new(format!("it has no option {name} = {option}")))
            }
        });
        let mut handle =
            Handle { api: Arc::clone(api), database: ptr::null_mut(), connection: ptr::null_mut() };
        let opened = set.and_then(|()| open(&mut handle, config));
        // SAFETY: it was made above, and a database keeps none of it.
        unsafe { (api.duckdb_destroy_config)(&raw mut config) };
        opened.map(|()| DuckdbConnection { handle: Arc::new(handle) })
    }
}

fn open(handle: &mut Handle, config: crate::raw::duckdb_config) -> Result<(), DuckdbError> {
    let api = Arc::clone(&handle.api);
    let mut said: *mut c_char = ptr::null_mut();
    // SAFETY: no path is a database in memory; what is given out is written to places of ours.
    let state = unsafe {
        (api.duckdb_open_ext)(ptr::null(), &raw mut handle.database, config, &raw mut said)
    };
    if state != SUCCESS {
        // SAFETY: an error is null or a text that ends and is the caller's.
        let message = unsafe { text_at(said) };
        // SAFETY: as above; freeing null does nothing.
        unsafe { (api.duckdb_free)(said.cast::<c_void>()) };
        return Err(DuckdbError::new(message.unwrap_or_else(|| "it does not start".to_owned())));
    }
    // SAFETY: the database is open.
    let state = unsafe { (api.duckdb_connect)(handle.database, &raw mut handle.connection) };
    if state == SUCCESS { Ok(()) } else { Err(DuckdbError::new("it gives no connection")) }
}

impl DuckdbConnection {
    /// What stops a statement from another thread.
    pub fn interrupter(&self) -> Interrupter {
        Interrupter { handle: Arc::clone(&self.handle) }
    }

    /// What kind of statement `sql` is, without executing it.
    ///
    /// # Errors
    /// When it is none, or is of tables that are not there.
    pub fn kind(&self, sql: &str) -> Result<StatementKind, DuckdbError> {
        let (api, connection) = (&self.handle.api, self.handle.connection);
        let sql = c_text(sql)?;
        let mut statements = ptr::null_mut();
        // SAFETY: the connection is open, the text ends and lives until it returns, and what is
        // given out is given back below.
        let count = unsafe {
            (api.duckdb_extract_statements)(connection, sql.as_ptr(), &raw mut statements)
        };
        let kind = match count {
            0 => {
                // SAFETY: the statements are there; their error lives as long.
                let error = unsafe { text_at((api.duckdb_extract_statements_error)(statements)) };
                error
                    .filter(|error| !error.is_empty())
                    .map_or(Ok(StatementKind::Nothing), |error| Err(DuckdbError::new(error)))
            }
            1 => {
                let mut prepared = ptr::null_mut();
                // SAFETY: there is a first statement.
                let state = unsafe {
                    (api.duckdb_prepare_extracted_statement)(
                        connection,
                        statements,
                        0,
                        &raw mut prepared,
                    )
                };
                let kind = if state == SUCCESS {
                    // SAFETY: it is prepared.
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
                        error.unwrap_or_else(|| "it cannot be prepared".to_owned()),
                    ))
                };
                // SAFETY: it was given out above, and is not used any more.
                unsafe { (api.duckdb_destroy_prepare)(&raw mut prepared) };
                kind
            }
            _ => Ok(StatementKind::Several),
        };
        // SAFETY: as above.
        unsafe { (api.duckdb_destroy_extracted)(&raw mut statements) };
        kind
    }

    /// Executes `sql`, whatever it is.
    ///
    /// # Errors
    /// When DuckDB refuses.
    pub fn execute(&self, sql: &str) -> Result<(), DuckdbError> {
        self.answer(sql).map(drop)
    }

    /// Asks `sql`, and hands each row to `take` until that says no. Gives the names of the columns.
    ///
    /// # Errors
    /// When DuckDB refuses, or a column is neither BOOLEAN, BIGINT, DOUBLE nor VARCHAR.
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
        // SAFETY: the connection is open, the text ends and lives until it returns; the result is
        // destroyed with the answer.
        let state = unsafe {
            (answer.api.duckdb_query)(self.handle.connection, sql.as_ptr(), &raw mut answer.result)
        };
        if state == SUCCESS { Ok(answer) } else { Err(answer.error()) }
    }
}

fn names(columns: Vec<(String, duckdb_type)>) -> Vec<String> {
    columns.into_iter().map(|(name, _)| name).collect()
}

/// What a question gave, until it is given back.
struct Answer<'c> {
    api: &'c DuckdbApi,
    result: duckdb_result,
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        // SAFETY: it is this library's or empty, and nothing of it is used any more.
        unsafe { (self.api.duckdb_destroy_result)(&raw mut self.result) };
    }
}

impl<'c> Answer<'c> {
    fn error(&mut self) -> DuckdbError {
        // SAFETY: the error lives as long as the result.
        let message = unsafe { text_at((self.api.duckdb_result_error)(&raw mut self.result)) };
        DuckdbError::new(message.unwrap_or_else(|| "it gives no reason".to_owned()))
    }

    fn columns(&mut self) -> Vec<(String, duckdb_type)> {
        // SAFETY: the result is one.
        let count = unsafe { (self.api.duckdb_column_count)(&raw mut self.result) };
        let mut columns = Vec::new();
        for at in 0..count {
            // SAFETY: there is such a column; its name lives as long as the result.
            columns.push(unsafe {
                let name = text_at((self.api.duckdb_column_name)(&raw mut self.result, at));
                (name.unwrap_or_default(), (self.api.duckdb_column_type)(&raw mut self.result, at))
            });
        }
        columns
    }

    fn next(&mut self) -> Result<Option<Chunk<'c>>, DuckdbError> {
        // SAFETY: the result is one, and passed as the header says, by value.
        let chunk = unsafe { (self.api.duckdb_fetch_chunk)(self.result) };
        if !chunk.is_null() {
            return Ok(Some(Chunk { api: self.api, chunk }));
        }
        // SAFETY: as in `error`.
        let error = unsafe { text_at((self.api.duckdb_result_error)(&raw mut self.result)) };
        error
            .filter(|error| !error.is_empty())
            .map_or(Ok(None), |error| Err(DuckdbError::new(error)))
    }
}

/// Some rows, until they are given back.
struct Chunk<'c> {
    api: &'c DuckdbApi,
    chunk: duckdb_data_chunk,
}

impl Drop for Chunk<'_> {
    fn drop(&mut self) {
        // SAFETY: it is this library's, and nothing of it is used any more.
        unsafe { (self.api.duckdb_destroy_data_chunk)(&raw mut self.chunk) };
    }
}

impl Chunk<'_> {
    fn rows(&self) -> usize {
        // SAFETY: the chunk is one.
        usize::try_from(unsafe { (self.api.duckdb_data_chunk_get_size)(self.chunk) }).unwrap_or(0)
    }

    /// The value in `row`, which there is, of `column`, which there is and is of `kind`.
    fn value(
        &self,
        column: usize,
        row: usize,
        kind: duckdb_type,
    ) -> Result<DuckdbValue, DuckdbError> {
        // SAFETY: there is such a column.
        let vector =
            unsafe { (self.api.duckdb_data_chunk_get_vector)(self.chunk, column as idx_t) };
        // SAFETY: the vector lives as long as the chunk.
        let (data, validity) = unsafe {
            (
                (self.api.duckdb_vector_get_data)(vector),
                (self.api.duckdb_vector_get_validity)(vector),
            )
        };
        // SAFETY: where there is a mask, it has a bit for every row, in words of 64.
        let is_there =
            validity.is_null() || (unsafe { *validity.add(row / 64) } >> (row % 64)) & 1 == 1;
        if !is_there {
            return Ok(DuckdbValue::Null);
        }
        // SAFETY: the data are as many values of the kind as there are rows.
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
                        "a column of type {other} is not read here"
                    )));
                }
            }
        })
    }
}

/// The text that a vector has at `cell`.
///
/// # Safety
/// A text of a vector must stand there.
unsafe fn text_of(cell: *const duckdb_string_t) -> String {
    // SAFETY: by the promise of the caller; a short text follows its length, a long one is where
    // the pointer leads.
    let bytes = unsafe {
        let length = (*cell).length;
        let inlined = cell.cast::<u8>().add(std::mem::offset_of!(duckdb_string_t, prefix));
        let begin = if length <= INLINED { inlined } else { (*cell).pointer };
        std::slice::from_raw_parts(begin, length as usize)
    };
    String::from_utf8_lossy(bytes).into_owned()
}
