//! Where a file or folder lies: a store and a path inside it.
//!
//! In: text as Paimon and its users write it, with a scheme (`s3://bucket/a`, `file:/a`, `FILE:///a`) or without
//! (`/a`, `a`). Paths are taken literally, as Hadoop's `Path` prints them: a `%` is a percent sign. Out: a [`Location`].

use std::fmt;

use object_store::path::Path;
use url::Url;

use crate::error::{Error, Result};

/// A file or folder of an object store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Location {
    /// Scheme and authority, lower-case: `s3://bucket`, `file://`.
    store: String,
    path: Path,
}

impl Location {
    /// Reads a path or URL. A relative path is below the current folder of the process.
    pub fn parse(text: &str) -> Result<Self> {
        let wrong = |why: &str| Error::invalid_option(format!("'{text}' is no path or URL: {why}"));
        let scheme = text.split_once(':').map(|(scheme, _)| scheme).filter(|s| is_scheme(s));
        let Some(scheme) = scheme.map(str::to_ascii_lowercase) else {
            return Ok(Self { store: "file://".into(), path: path_of(&absolute(text)?, text)? });
        };
        let rest = text.get(scheme.len() + 1..).unwrap_or_default();
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        if scheme == "file" {
            return Ok(Self { store: "file://".into(), path: path_of(path, text)? });
        }
        if authority.is_empty() && scheme != "memory" {
            return Err(wrong("a bucket or host must follow the scheme"));
        }
        Ok(Self { store: format!("{scheme}://{authority}"), path: path_of(path, text)? })
    }

    /// A location inside this folder; `relative` may have several parts.
    pub fn join(&self, relative: &str) -> Result<Self> {
        let parts = self.path.parts().map(|p| p.as_ref().to_owned()).collect::<Vec<_>>().join("/");
        Ok(Self { store: self.store.clone(), path: path_of(&format!("{parts}/{relative}"), relative)? })
    }

    /// The folder that this lies in; `None` for the root of the store.
    pub fn parent(&self) -> Option<Self> {
        let text = self.path.as_ref();
        let end = text.rfind('/').unwrap_or(0);
        let path = Path::parse(text.get(..end).unwrap_or_default()).ok()?;
        (!text.is_empty()).then(|| Self { store: self.store.clone(), path })
    }

    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.filename().unwrap_or_default()
    }

    /// Whether it is on a disk of this machine.
    pub fn is_local(&self) -> bool {
        self.store == "file://"
    }

    /// The path inside the store.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Scheme and authority as a URL, the key of DataFusion's object store registry.
    pub fn store_url(&self) -> Result<Url> {
        let text = if self.store == "file://" { "file:///" } else { &self.store };
        Url::parse(text).map_err(|e| Error::invalid_option(format!("'{text}' is no URL")).caused_by(e))
    }
}

impl fmt::Display for Location {
    /// A plain absolute path on the local disk, else a URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store = if self.store == "file://" { "" } else { &self.store };
        write!(f, "{store}/{}", self.path)
    }
}

/// One letter is a drive of Windows, not a scheme.
fn is_scheme(text: &str) -> bool {
    text.len() > 1
        && text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

fn absolute(text: &str) -> Result<String> {
    if text.starts_with('/') {
        return Ok(text.to_owned());
    }
    let here = std::env::current_dir().map_err(|e| Error::invalid_option("there is no current folder").caused_by(e))?;
    Ok(format!("{}/{text}", here.display()))
}

/// Empty parts and `.` fall away, `..` takes back one part.
fn path_of(text: &str, whole: &str) -> Result<Path> {
    let mut parts: Vec<&str> = vec![];
    for part in text.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Path::parse(parts.join("/")).map_err(|e| Error::invalid_option(format!("'{whole}' is no path")).caused_by(e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_urls_are_read_literally() {
        for (text, printed) in [
            ("/a/b c/é%20+x", "/a/b c/é%20+x"),
            ("/a//b/./c/../d/", "/a/b/d"),
            ("file:///a/b", "/a/b"),
            ("FILE:/a/b", "/a/b"),
            ("s3://Bucket/a/b%3D1", "s3://Bucket/a/b%3D1"),
            ("S3A://bucket", "s3a://bucket/"),
        ] {
            assert_eq!(Location::parse(text).unwrap().to_string(), printed, "{text}");
        }
        assert!(Location::parse("s3:///x").is_err());
    }

    #[test]
    fn joins_and_parents() {
        let l = Location::parse("/a").unwrap().join("p=x%3A/bucket-0/f").unwrap();
        assert_eq!(l.to_string(), "/a/p=x%3A/bucket-0/f");
        assert_eq!((l.name(), l.parent().unwrap().to_string().as_str()), ("f", "/a/p=x%3A/bucket-0"));
        assert!(Location::parse("/").unwrap().parent().is_none());
    }
}
