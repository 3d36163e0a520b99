//! Errors and output files.

use std::path::Path;

use anyhow::anyhow;
use rsb_insight::trends::AlertError;
use rsb_store::SqlError;
use rsb_store::output::OutputError;

/// Error of a subcommand. Its kind determines the exit code of the program.
pub type AppError = rsb_engine::EngineError;

/// Returns `error` and its causes in one line, without causes that the preceding text contains.
pub fn error_chain(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |mut text, cause| {
        if !text.contains(&cause) {
            if !text.is_empty() {
                text.push_str(": ");
            }
            text.push_str(&cause);
        }
        text
    })
}

/// Converts an error of tracked alerts. A file that cannot be read or an unknown name is a usage
/// error.
pub fn alert_error(error: AlertError) -> AppError {
    match error {
        AlertError::Unreadable(error) => AppError::usage(error),
        AlertError::Name(error) => AppError::usage(error),
        error @ (AlertError::Decided(_) | AlertError::Cause(_)) => AppError::usage(error),
        AlertError::Store(error) => AppError::from(error),
    }
}

/// Converts an error of an output file. A link in its place or a missing directory is a usage
/// error.
pub fn output_error(error: OutputError) -> AppError {
    match error {
        OutputError::Link { .. } | OutputError::NoDirectory { .. } | OutputError::NoFile { .. } => {
            AppError::usage(error)
        }
        OutputError::Io { .. } => AppError::from(anyhow::Error::new(error)),
    }
}

/// Converts an error of a query. An invalid query, or one that exceeds a limit, is a usage error.
pub fn sql_error(error: SqlError) -> AppError {
    match error {
        SqlError::Store(error) => AppError::from(anyhow::Error::new(error)),
        broken @ SqlError::Engine { .. } => AppError::from(anyhow::Error::new(broken)),
        wrong => AppError::usage(wrong),
    }
}

/// Returns the file that an output option names; `None` without one and for `-`.
pub fn named_file(path: Option<&Path>) -> Option<&Path> {
    path.filter(|path| *path != Path::new("-"))
}

/// Returns the error of a build without `what`, naming the feature that adds it and the
/// alternatives in every build.
pub fn without_feature(what: &str, feature: &str, everywhere: &str) -> AppError {
    AppError::usage(anyhow!(
        "this build does not support {what}: `cargo install --path . --features {feature}` adds \
         it; {everywhere} work in every build"
    ))
}
