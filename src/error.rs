//! The one error type of the crate.
//!
//! Every fallible function below `sql/` returns [`Result`]; at the border to DataFusion an [`Error`] becomes a
//! [`DataFusionError::External`] through the single `From` below, so that callers can downcast it again; one that says that
//! memory does not suffice becomes DataFusion's own.
//! A message says what was wrong with which file or option and what was expected instead.

use std::fmt;

use datafusion::error::DataFusionError;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is: what a caller may want to tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A table, snapshot, tag, branch or file that was asked for does not exist.
    NotFound,
    /// Bytes that are not what the format says they are.
    Corrupt,
    /// A feature of the format that this reader does not have; the message names it.
    Unsupported,
    /// An option whose value cannot be used, or options that contradict each other.
    InvalidOption,
    /// The object store failed.
    Storage,
    /// The memory that the session allows does not suffice.
    ResourcesExhausted,
    /// A broken invariant of this crate: a bug.
    Internal,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ErrorKind::NotFound => "not found",
            ErrorKind::Corrupt => "corrupt",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::InvalidOption => "invalid option",
            ErrorKind::Storage => "storage",
            ErrorKind::ResourcesExhausted => "resources exhausted",
            ErrorKind::Internal => "internal error",
        })
    }
}

/// A failure, with the file it concerns where there is one.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
    file: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// An error of the given kind.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), file: None, source: None }
    }

    /// Something that was asked for does not exist.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    /// Bytes that break a rule of the format; add the file with [`Error::in_file`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Corrupt, message)
    }

    /// A feature of the format that is not supported, by name.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, message)
    }

    /// An unusable value of an option.
    pub fn invalid_option(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidOption, message)
    }

    /// A broken invariant of this crate.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Names the file that the error concerns; the innermost name is kept.
    #[must_use]
    pub fn in_file(mut self, file: impl fmt::Display) -> Self {
        self.file.get_or_insert_with(|| file.to_string());
        self
    }

    /// Keeps the error that caused this one.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The file it concerns, where there is one.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind)?;
        if let Some(file) = &self.file {
            write!(f, "{file}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.source {
            Some(source) => write!(f, ": {source}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref().map(|e| e as _)
    }
}

impl From<Error> for DataFusionError {
    fn from(e: Error) -> Self {
        match e.kind {
            ErrorKind::ResourcesExhausted => DataFusionError::ResourcesExhausted(e.to_string()),
            _ => DataFusionError::External(Box::new(e)),
        }
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(e: arrow::error::ArrowError) -> Self {
        Error::corrupt("data could not be brought to Arrow").caused_by(e)
    }
}

impl From<object_store::Error> for Error {
    fn from(e: object_store::Error) -> Self {
        match &e {
            object_store::Error::NotFound { path, .. } => {
                let path = path.clone();
                Error::not_found("no such file").in_file(path).caused_by(e)
            }
            _ => Error::new(ErrorKind::Storage, "the object store failed").caused_by(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_its_kind_its_innermost_file_and_its_cause() {
        let e = Error::corrupt("magic is wrong").in_file("a/b").in_file("outer").caused_by("io");
        assert_eq!(e.to_string(), "corrupt: a/b: magic is wrong: io");
        assert_eq!((e.kind(), e.file()), (ErrorKind::Corrupt, Some("a/b")));
    }
}
