//! The schema that an Avro file was written with.
//!
//! In: its JSON. Out: a tree of [`Node`]s in which references by name are resolved. The depth is bounded and so is the
//! size after resolution, so that whoever walks the tree needs no bounds of its own; types that contain themselves are
//! refused. Defaults, aliases and documentation are of no use to a reader that goes by the writer's schema.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// How deep types may be nested.
const MAX_DEPTH: usize = 64;

/// How many types a schema may have, references counted as what they stand for.
const MAX_NODES: usize = 1 << 18;

/// A type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// What the bytes stand for, beyond their type.
    pub(crate) logical: Option<Logical>,
}

/// How values lie in the bytes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Null,
    Boolean,
    Int,
    Long,
    Float,
    Double,
    Bytes,
    String,
    /// So many bytes.
    Fixed(usize),
    /// The symbols.
    Enum(Arc<[String]>),
    Array(Arc<Node>),
    /// The values; keys are strings.
    Map(Arc<Node>),
    Union(Vec<Node>),
    Record(Arc<[Field]>),
}

/// A field of a record.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) node: Node,
}

/// The logical types that make a difference to a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Logical {
    Decimal { precision: u32, scale: u32 },
    Date,
    TimeMillis,
    TimeMicros,
    TimestampMillis,
    TimestampMicros,
    TimestampNanos,
}

impl Node {
    /// Reads a schema.
    pub(crate) fn parse(json: &[u8]) -> Result<Self> {
        let value: Value =
            serde_json::from_slice(json).map_err(|e| Error::corrupt("the Avro schema is no JSON").caused_by(e))?;
        Parser::default().node(&value, "", 0)
    }

    /// The fields of the records of a file: of the schema itself, or of the one record in its union with null.
    pub(crate) fn top_record(&self) -> Result<&Arc<[Field]>> {
        match &self.kind {
            Kind::Record(fields) => Ok(fields),
            Kind::Union(_) => match self.union()?.map(|u| &u.value.kind) {
                Some(Kind::Record(fields)) => Ok(fields),
                _ => Err(Error::corrupt(format!("expected an Avro file of records, found {self}"))),
            },
            _ => Err(Error::corrupt(format!("expected an Avro file of records, found {self}"))),
        }
    }

    /// The parts of a union of one type, with or without null; `None` for any other type.
    pub(crate) fn union(&self) -> Result<Option<OptionalType<'_>>> {
        let Kind::Union(branches) = &self.kind else { return Ok(None) };
        let null = branches.iter().position(|b| b.kind == Kind::Null);
        let mut values = branches.iter().enumerate().filter(|(i, _)| Some(*i) != null);
        match (values.next(), values.next()) {
            (Some((value_branch, value)), None) => Ok(Some(OptionalType {
                null_branch: null.map_or(-1, |i| i as i64),
                value_branch: value_branch as i64,
                value,
            })),
            (None, _) => Err(Error::unsupported("an Avro union of null alone")),
            _ => Err(Error::unsupported(format!("an Avro union of several types: {self}"))),
        }
    }

    /// Whether its values take no byte at all; of all other types every value takes one byte at least.
    pub(crate) fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Null | Kind::Fixed(0) => true,
            Kind::Record(fields) => fields.iter().all(|f| f.node.is_empty()),
            _ => false,
        }
    }
}

/// A union of null and one type.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OptionalType<'a> {
    /// −1 where null is no branch.
    pub(crate) null_branch: i64,
    pub(crate) value_branch: i64,
    pub(crate) value: &'a Node,
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.kind {
            Kind::Null => "null",
            Kind::Boolean => "boolean",
            Kind::Int => "int",
            Kind::Long => "long",
            Kind::Float => "float",
            Kind::Double => "double",
            Kind::Bytes => "bytes",
            Kind::String => "string",
            Kind::Fixed(_) => "fixed",
            Kind::Enum(_) => "enum",
            Kind::Record(_) => "record",
            Kind::Array(items) => return write!(f, "array<{items}>"),
            Kind::Map(values) => return write!(f, "map<{values}>"),
            Kind::Union(branches) => {
                let branches: Vec<_> = branches.iter().map(Node::to_string).collect();
                return write!(f, "[{}]", branches.join(", "));
            }
        };
        f.write_str(name)?;
        match self.logical {
            Some(Logical::Decimal { precision, scale }) => write!(f, " (decimal({precision}, {scale}))"),
            Some(logical) => write!(f, " ({logical:?})"),
            None => Ok(()),
        }
    }
}

/// A type that was defined under a name.
#[derive(Clone)]
struct Named {
    node: Node,
    /// How many types it is made of.
    nodes: usize,
    /// How deep they are nested in it.
    height: usize,
}

/// Types that have a name, by their full name; `None` while their definition is being read.
#[derive(Default)]
struct Parser {
    named: HashMap<String, Option<Named>>,
    nodes: usize,
    /// The largest depth since the innermost definition began.
    deepest: usize,
}

impl Parser {
    fn node(&mut self, value: &Value, namespace: &str, depth: usize) -> Result<Node> {
        self.count(1, depth)?;
        match value {
            Value::String(name) => self.reference(name, namespace, depth),
            Value::Array(branches) => {
                let branches: Result<_> = branches.iter().map(|b| self.node(b, namespace, depth + 1)).collect();
                Ok(Node { kind: Kind::Union(branches?), logical: None })
            }
            Value::Object(object) => self.object(object, namespace, depth),
            other => Err(Error::corrupt(format!("an Avro type must be a JSON string, array or object, got {other}"))),
        }
    }

    /// Takes types that reach down to `depth` into account.
    fn count(&mut self, nodes: usize, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("Avro types nested deeper than {MAX_DEPTH}")));
        }
        self.deepest = self.deepest.max(depth);
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            return Err(Error::unsupported(format!("an Avro schema of more than {MAX_NODES} types")));
        }
        Ok(())
    }

    fn reference(&mut self, name: &str, namespace: &str, depth: usize) -> Result<Node> {
        if let Some(kind) = primitive(name) {
            return Ok(Node { kind, logical: None });
        }
        let full = full_name(name, namespace);
        match self.named.get(&full).or_else(|| self.named.get(name)) {
            Some(Some(named)) => {
                let named = named.clone();
                self.count(named.nodes, depth + named.height)?;
                Ok(named.node)
            }
            Some(None) => Err(Error::unsupported(format!("Avro type '{full}' contains itself"))),
            None => Err(Error::corrupt(format!("Avro type '{full}' is not defined"))),
        }
    }

    fn object(&mut self, object: &Map<String, Value>, namespace: &str, depth: usize) -> Result<Node> {
        let of = |key: &str| {
            object.get(key).ok_or_else(|| Error::corrupt(format!("an Avro type lacks '{key}': {}", brief(object))))
        };
        let kind = match of("type")? {
            Value::String(name) => match name.as_str() {
                "array" => Kind::Array(Arc::new(self.node(of("items")?, namespace, depth + 1)?)),
                "map" => Kind::Map(Arc::new(self.node(of("values")?, namespace, depth + 1)?)),
                "record" | "error" | "enum" | "fixed" => return self.definition(name, object, namespace, depth),
                other => self.reference(other, namespace, depth)?.kind,
            },
            nested => self.node(nested, namespace, depth + 1)?.kind,
        };
        Ok(Node { logical: logical(object, &kind), kind })
    }

    /// The definition of a type with a name.
    fn definition(&mut self, what: &str, object: &Map<String, Value>, namespace: &str, depth: usize) -> Result<Node> {
        let name = object.get("name").and_then(Value::as_str);
        let name = name.ok_or_else(|| Error::corrupt(format!("an Avro {what} lacks 'name': {}", brief(object))))?;
        let namespace = object.get("namespace").and_then(Value::as_str).unwrap_or(namespace);
        let full = full_name(name, namespace);
        let namespace = full.rsplit_once('.').map_or("", |(n, _)| n).to_owned();
        if self.named.insert(full.clone(), None).is_some() {
            return Err(Error::corrupt(format!("Avro type '{full}' is defined twice")));
        }
        let (nodes, deepest) = (self.nodes, std::mem::replace(&mut self.deepest, depth));
        let kind = match what {
            "enum" => Kind::Enum(symbols(object, &full)?),
            "fixed" => Kind::Fixed(
                number(object, "size")
                    .and_then(|n| i32::try_from(n).ok())
                    .and_then(|n| usize::try_from(n).ok())
                    .ok_or_else(|| Error::corrupt(format!("Avro fixed '{full}' lacks a 'size'")))?,
            ),
            _ => Kind::Record(self.fields(object, &full, &namespace, depth)?),
        };
        let node = Node { logical: logical(object, &kind), kind };
        let (nodes, height) = (self.nodes.saturating_sub(nodes), self.deepest.saturating_sub(depth));
        self.named.insert(full, Some(Named { node: node.clone(), nodes, height }));
        self.deepest = self.deepest.max(deepest);
        Ok(node)
    }

    fn fields(
        &mut self,
        object: &Map<String, Value>,
        record: &str,
        namespace: &str,
        depth: usize,
    ) -> Result<Arc<[Field]>> {
        let wrong = |what: &str| Error::corrupt(format!("Avro record '{record}' {what}"));
        let list = object.get("fields").and_then(Value::as_array).ok_or_else(|| wrong("lacks the array 'fields'"))?;
        let mut seen = HashSet::new();
        let mut fields = Vec::with_capacity(list.len());
        for field in list {
            let name = field.get("name").and_then(Value::as_str).ok_or_else(|| wrong("has a field without name"))?;
            if !seen.insert(name) {
                return Err(wrong(&format!("has two fields '{name}'")));
            }
            let node = field.get("type").ok_or_else(|| wrong(&format!("has a field '{name}' without type")))?;
            fields.push(Field { name: name.to_owned(), node: self.node(node, namespace, depth + 1)? });
        }
        Ok(fields.into())
    }
}

fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "int" => Kind::Int,
        "long" => Kind::Long,
        "float" => Kind::Float,
        "double" => Kind::Double,
        "bytes" => Kind::Bytes,
        "string" => Kind::String,
        _ => return None,
    })
}

/// A name with a dot is full already; any other is in the namespace.
fn full_name(name: &str, namespace: &str) -> String {
    if name.contains('.') || namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") }
}

/// The beginning of an object, for messages.
fn brief(object: &Map<String, Value>) -> String {
    Value::Object(object.clone()).to_string().chars().take(80).collect()
}

fn number(object: &Map<String, Value>, key: &str) -> Option<u64> {
    object.get(key).and_then(Value::as_u64)
}

fn symbols(object: &Map<String, Value>, name: &str) -> Result<Arc<[String]>> {
    let wrong = || Error::corrupt(format!("Avro enum '{name}' lacks the array of strings 'symbols'"));
    let list = object.get("symbols").and_then(Value::as_array).ok_or_else(wrong)?;
    list.iter().map(|s| s.as_str().map(str::to_owned).ok_or_else(wrong)).collect()
}

/// A logical type that does not fit its type is none, as Avro has it.
fn logical(object: &Map<String, Value>, kind: &Kind) -> Option<Logical> {
    match (object.get("logicalType").and_then(Value::as_str)?, kind) {
        ("decimal", Kind::Bytes | Kind::Fixed(_)) => {
            let precision = u32::try_from(number(object, "precision")?).ok()?;
            let scale = u32::try_from(number(object, "scale").unwrap_or(0)).ok()?;
            Some(Logical::Decimal { precision, scale })
        }
        ("date", Kind::Int) => Some(Logical::Date),
        ("time-millis", Kind::Int) => Some(Logical::TimeMillis),
        ("time-micros", Kind::Long) => Some(Logical::TimeMicros),
        ("timestamp-millis" | "local-timestamp-millis", Kind::Long) => Some(Logical::TimestampMillis),
        ("timestamp-micros" | "local-timestamp-micros", Kind::Long) => Some(Logical::TimestampMicros),
        ("timestamp-nanos" | "local-timestamp-nanos", Kind::Long) => Some(Logical::TimestampNanos),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[test]
    fn names_are_resolved_in_their_namespace() {
        let schema = Node::parse(
            br#"["null", {"type": "record", "name": "a.b.top", "fields": [
            {"name": "x", "type": ["null", {"type": "record", "name": "stats", "fields": [
                {"name": "n", "type": {"type": "array", "items": ["null", "long"]}}]}]},
            {"name": "y", "type": "stats"}, {"name": "z", "type": {"type": "a.b.stats"}},
            {"name": "d", "type": {"type": "fixed", "name": "dec", "size": 5, "logicalType": "decimal", "precision": 9, "scale": 2}},
            {"name": "e", "type": {"type": "enum", "name": "other.e", "symbols": ["p", "q"]}},
            {"name": "t", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
            {"name": "u", "type": {"type": "string", "logicalType": "date"}}]}]"#,
        )
        .unwrap();
        let fields = schema.top_record().unwrap();
        assert_eq!(fields[1].node, fields[2].node);
        assert_eq!(fields[0].node.union().unwrap().unwrap().value, &fields[1].node);
        assert_eq!(fields[3].node.logical, Some(Logical::Decimal { precision: 9, scale: 2 }));
        assert_eq!(fields[4].node.kind, Kind::Enum(["p".to_owned(), "q".to_owned()].into()));
        assert_eq!(fields[5].node.to_string(), "long (TimestampMicros)");
        assert_eq!(fields[6].node.logical, None);
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        let deep = |n: usize| format!("{}\"int\"{}", r#"{"type":"array","items":"#.repeat(n), "}".repeat(n));
        let mut bomb = r#"{"type":"record","name":"r0","fields":[{"name":"a","type":"int"}]}"#.to_owned();
        for i in 1..40 {
            bomb = format!(
                r#"{{"type":"record","name":"r{i}","fields":[{{"name":"a","type":{bomb}}},{{"name":"b","type":"r{}"}}]}}"#,
                i - 1
            );
        }
        let chain: String = (1..100)
            .map(|i| {
                let f = format!(r#"{{"name":"a","type":"c{}"}}"#, i - 1);
                format!(r#",{{"name":"f{i}","type":{{"type":"record","name":"c{i}","fields":[{f}]}}}}"#)
            })
            .collect();
        let chain = format!(
            r#"{{"type":"record","name":"r","fields":[{{"name":"f0","type":{{"type":"record","name":"c0","fields":[]}}}}{chain}]}}"#
        );
        for (bad, kind) in [
            (chain.as_str(), ErrorKind::Unsupported),
            ("", ErrorKind::Corrupt),
            ("7", ErrorKind::Corrupt),
            ("\"x\"", ErrorKind::Corrupt),
            ("{}", ErrorKind::Corrupt),
            (r#"{"type":"array"}"#, ErrorKind::Corrupt),
            (r#"{"type":"fixed","name":"f","size":-1}"#, ErrorKind::Corrupt),
            (r#"{"type":"record","name":"r"}"#, ErrorKind::Corrupt),
            (r#"{"type":"record","fields":[]}"#, ErrorKind::Corrupt),
            (r#"{"type":"enum","name":"r","symbols":[1]}"#, ErrorKind::Corrupt),
            (
                r#"{"type":"record","name":"r","fields":[{"name":"a","type":"int"},{"name":"a","type":"int"}]}"#,
                ErrorKind::Corrupt,
            ),
            (r#"{"type":"record","name":"r","fields":[{"name":"a","type":["null","r"]}]}"#, ErrorKind::Unsupported),
            (&deep(100), ErrorKind::Unsupported),
            (&deep(1000), ErrorKind::Corrupt),
            (&bomb, ErrorKind::Unsupported),
        ] {
            let error = Node::parse(bad.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), kind, "{bad}: {error}");
        }
        assert!(Node::parse(deep(60).as_bytes()).is_ok());
        assert!(Node::parse(b"\"int\"").unwrap().top_record().is_err());
        assert!(Node::parse(br#"["int","string"]"#).unwrap().union().is_err());
    }
}
