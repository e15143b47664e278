//! Paimon's data types and fields, and their JSON and text forms.
//!
//! In: the `type` of a field of a schema file, a JSON string for an atomic type (`DECIMAL(10, 2) NOT NULL`) or an object
//! for a nested one (`{"type":"ARRAY","element":…}`); SQL-style nested text is read too. Out: [`DataType`] and back to
//! the JSON that Java writes. Java: `DataTypeJsonParser`, `DataTypes`, `DataField`.

use std::fmt;

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// The length that `STRING` and `BYTES` stand for.
pub const MAX_LENGTH: u32 = 2_147_483_647;

/// How deep types may be nested; deeper input is refused so that recursion stays bounded.
const MAX_DEPTH: usize = 64;

/// A data type with its nullability.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataType {
    /// What values it has.
    pub kind: TypeKind,
    /// Whether NULL is one of them.
    pub nullable: bool,
}

/// What values a [`DataType`] has. Precisions are decimal digits, lengths are characters or bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TypeKind {
    /// `BOOLEAN`
    Boolean,
    /// `TINYINT`, 8 bits signed
    TinyInt,
    /// `SMALLINT`, 16 bits signed
    SmallInt,
    /// `INT`, 32 bits signed
    Int,
    /// `BIGINT`, 64 bits signed
    BigInt,
    /// `FLOAT`, IEEE 32 bits
    Float,
    /// `DOUBLE`, IEEE 64 bits
    Double,
    /// `DECIMAL(precision, scale)`, precision 1..=38
    Decimal {
        /// All digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// `CHAR(n)`; values are not padded
    Char(u32),
    /// `VARCHAR(n)`; `STRING` has [`MAX_LENGTH`]
    VarChar(u32),
    /// `BINARY(n)`
    Binary(u32),
    /// `VARBINARY(n)`; `BYTES` has [`MAX_LENGTH`]
    VarBinary(u32),
    /// `DATE`, days since 1970-01-01
    Date,
    /// `TIME(p)`, always held as milliseconds of the day
    Time(u8),
    /// `TIMESTAMP(p)`, wall clock
    Timestamp(u8),
    /// `TIMESTAMP(p) WITH LOCAL TIME ZONE`, an instant
    TimestampLtz(u8),
    /// `ARRAY<element>`
    Array(Box<DataType>),
    /// `MULTISET<element>`, a map from element to count
    Multiset(Box<DataType>),
    /// `MAP<key, value>`
    Map(Box<DataType>, Box<DataType>),
    /// `ROW<fields>`
    Row(Vec<DataField>),
    /// `VECTOR<element, length>`
    Vector(Box<DataType>, u32),
    /// `VARIANT`, Parquet's variant encoding
    Variant,
    /// `BLOB`, stored in files of its own
    Blob,
    /// `GEOMETRY(crs)`, WKB
    Geometry(String),
    /// `GEOGRAPHY(crs, algorithm)`, WKB
    Geography(String, String),
}

/// A named, numbered column of a table or field of a `ROW`. The id, not the name, is its identity.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DataField {
    /// Unique in the table, nested fields included; never used again.
    pub id: i32,
    /// The name in this schema.
    pub name: String,
    /// The type in this schema.
    pub data_type: DataType,
    /// The comment.
    pub description: Option<String>,
    /// What writers put where a value is left out; readers ignore it.
    pub default_value: Option<String>,
}

impl DataField {
    /// A field without comment and default.
    pub fn new(id: i32, name: impl Into<String>, data_type: DataType) -> Self {
        Self { id, name: name.into(), data_type, description: None, default_value: None }
    }

    /// Reads a field's JSON object. `next_id` gives ids to fields that have none.
    pub fn from_json(value: &Value, next_id: &mut i32) -> Result<Self> {
        field_from_json(value, next_id, 0)
    }

    /// The JSON object that Java writes.
    pub fn to_json(&self) -> Value {
        let mut o = Map::new();
        o.insert("id".into(), json!(self.id));
        o.insert("name".into(), json!(self.name));
        o.insert("type".into(), self.data_type.to_json());
        if let Some(d) = &self.description {
            o.insert("description".into(), json!(d));
        }
        if let Some(d) = &self.default_value {
            o.insert("defaultValue".into(), json!(d));
        }
        Value::Object(o)
    }
}

impl TypeKind {
    /// The nullable type of this kind.
    pub fn nullable(self) -> DataType {
        DataType { kind: self, nullable: true }
    }

    /// The `NOT NULL` type of this kind.
    pub fn not_null(self) -> DataType {
        DataType { kind: self, nullable: false }
    }

    /// `STRING`.
    pub fn string() -> Self {
        TypeKind::VarChar(MAX_LENGTH)
    }
}

impl DataType {
    /// Whether values have parts. Formats count the NULLs of the parts then, not those of the whole.
    pub fn is_nested(&self) -> bool {
        use TypeKind::*;
        matches!(self.kind, Array(_) | Vector(..) | Map(..) | Multiset(_) | Row(_) | Variant)
    }

    /// Reads the JSON form of a type.
    pub fn from_json(value: &Value) -> Result<Self> {
        type_from_json(value, &mut 0, 0)
    }

    /// Reads the text form of a type.
    pub fn parse(text: &str) -> Result<Self> {
        Parser::new(text).whole_type(&mut 0)
    }

    /// The JSON form that Java writes.
    pub fn to_json(&self) -> Value {
        let not_null = if self.nullable { "" } else { " NOT NULL" };
        match &self.kind {
            TypeKind::Array(e) => json!({"type": format!("ARRAY{not_null}"), "element": e.to_json()}),
            TypeKind::Multiset(e) => json!({"type": format!("MULTISET{not_null}"), "element": e.to_json()}),
            TypeKind::Map(k, v) => {
                json!({"type": format!("MAP{not_null}"), "key": k.to_json(), "value": v.to_json()})
            }
            TypeKind::Row(fields) => {
                let fields: Vec<_> = fields.iter().map(DataField::to_json).collect();
                json!({"type": format!("ROW{not_null}"), "fields": fields})
            }
            TypeKind::Vector(e, n) => {
                json!({"type": format!("VECTOR{not_null}"), "element": e.to_json(), "length": n})
            }
            _ => Value::String(self.to_string()),
        }
    }

    /// The same values, and NULL.
    #[must_use]
    pub fn as_nullable(&self) -> Self {
        DataType { kind: self.kind.clone(), nullable: true }
    }
}

impl fmt::Display for DataType {
    /// The SQL text, as Java prints it (`DECIMAL(10, 2) NOT NULL`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        if self.nullable { Ok(()) } else { f.write_str(" NOT NULL") }
    }
}

impl fmt::Display for TypeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeKind::Boolean => f.write_str("BOOLEAN"),
            TypeKind::TinyInt => f.write_str("TINYINT"),
            TypeKind::SmallInt => f.write_str("SMALLINT"),
            TypeKind::Int => f.write_str("INT"),
            TypeKind::BigInt => f.write_str("BIGINT"),
            TypeKind::Float => f.write_str("FLOAT"),
            TypeKind::Double => f.write_str("DOUBLE"),
            TypeKind::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            TypeKind::Char(n) => write!(f, "CHAR({n})"),
            TypeKind::VarChar(MAX_LENGTH) => f.write_str("STRING"),
            TypeKind::VarChar(n) => write!(f, "VARCHAR({n})"),
            TypeKind::Binary(n) => write!(f, "BINARY({n})"),
            TypeKind::VarBinary(MAX_LENGTH) => f.write_str("BYTES"),
            TypeKind::VarBinary(n) => write!(f, "VARBINARY({n})"),
            TypeKind::Date => f.write_str("DATE"),
            TypeKind::Time(p) => write!(f, "TIME({p})"),
            TypeKind::Timestamp(p) => write!(f, "TIMESTAMP({p})"),
            TypeKind::TimestampLtz(p) => write!(f, "TIMESTAMP({p}) WITH LOCAL TIME ZONE"),
            TypeKind::Array(e) => write!(f, "ARRAY<{e}>"),
            TypeKind::Multiset(e) => write!(f, "MULTISET<{e}>"),
            TypeKind::Map(k, v) => write!(f, "MAP<{k}, {v}>"),
            TypeKind::Vector(e, n) => write!(f, "VECTOR<{e}, {n}>"),
            TypeKind::Row(fields) => {
                f.write_str("ROW<")?;
                for (i, field) in fields.iter().enumerate() {
                    let comma = if i == 0 { "" } else { ", " };
                    write!(f, "{comma}`{}` {}", field.name.replace('`', "``"), field.data_type)?;
                    if let Some(d) = &field.description {
                        write!(f, " '{}'", d.replace('\'', "''"))?;
                    }
                }
                f.write_str(">")
            }
            TypeKind::Variant => f.write_str("VARIANT"),
            TypeKind::Blob => f.write_str("BLOB"),
            TypeKind::Geometry(crs) => write!(f, "GEOMETRY({crs})"),
            TypeKind::Geography(crs, algorithm) => write!(f, "GEOGRAPHY({crs}, {algorithm})"),
        }
    }
}

fn field_from_json(value: &Value, next_id: &mut i32, depth: usize) -> Result<DataField> {
    let object =
        value.as_object().ok_or_else(|| Error::corrupt(format!("a field must be a JSON object, got {value}")))?;
    let name = object.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| Error::corrupt(format!("a field lacks the string 'name': {value}")))?;
    let id = match object.get("id") {
        None | Some(Value::Null) => {
            *next_id += 1;
            *next_id - 1
        }
        Some(id) => id
            .as_i64()
            .and_then(|id| i32::try_from(id).ok())
            .ok_or_else(|| Error::corrupt(format!("field '{name}': 'id' must be a 32-bit number, got {id}")))?,
    };
    let data_type = object.get("type").ok_or_else(|| Error::corrupt(format!("field '{name}' lacks 'type'")))?;
    let data_type = type_from_json(data_type, next_id, depth)
        .map_err(|e| Error::new(e.kind(), format!("field '{name}'")).caused_by(e))?;
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(DataField {
        id,
        name: name.to_owned(),
        data_type,
        description: text("description"),
        default_value: text("defaultValue"),
    })
}

fn type_from_json(value: &Value, next_id: &mut i32, depth: usize) -> Result<DataType> {
    if depth > MAX_DEPTH {
        return Err(Error::unsupported(format!("types nested deeper than {MAX_DEPTH}")));
    }
    let object = match value {
        Value::String(text) => return Parser::new(text).whole_type(next_id),
        Value::Object(object) => object,
        other => return Err(Error::corrupt(format!("a type must be a JSON string or object, got {other}"))),
    };
    let name = object.get("type").and_then(Value::as_str).unwrap_or_default();
    let mut child = |key: &str| match object.get(key) {
        Some(child) => type_from_json(child, next_id, depth + 1).map(Box::new),
        None => Err(Error::corrupt(format!("type {name} lacks '{key}'"))),
    };
    let kind = if name.starts_with("ARRAY") {
        TypeKind::Array(child("element")?)
    } else if name.starts_with("MULTISET") {
        TypeKind::Multiset(child("element")?)
    } else if name.starts_with("MAP") {
        TypeKind::Map(child("key")?, child("value")?)
    } else if name.starts_with("VECTOR") {
        let length = object.get("length").and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok());
        let length = length.filter(|n| (1..=MAX_LENGTH).contains(n));
        let length = length.ok_or_else(|| Error::corrupt("type VECTOR lacks a positive 'length'"))?;
        TypeKind::Vector(child("element")?, length)
    } else if name.starts_with("ROW") {
        let fields = object.get("fields").and_then(Value::as_array);
        let fields = fields.ok_or_else(|| Error::corrupt("type ROW lacks the array 'fields'"))?;
        TypeKind::Row(fields.iter().map(|f| field_from_json(f, next_id, depth + 1)).collect::<Result<_>>()?)
    } else {
        return Err(Error::unsupported(format!("data type '{name}'")));
    };
    Ok(DataType { kind, nullable: !name.contains("NOT NULL") })
}

/// A recursive-descent parser over the text form of types.
struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, rest: text, depth: 0 }
    }

    fn error(&self, expected: &str) -> Error {
        let at = self.text.len() - self.rest.len();
        Error::corrupt(format!("data type '{}': expected {expected} at byte {at}", self.text))
    }

    fn whole_type(mut self, next_id: &mut i32) -> Result<DataType> {
        let t = self.data_type(next_id)?;
        self.skip_blanks();
        if self.rest.is_empty() { Ok(t) } else { Err(self.error("the end")) }
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    /// Takes `symbol` when it comes next.
    fn symbol(&mut self, symbol: char) -> bool {
        self.skip_blanks();
        match self.rest.strip_prefix(symbol) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, symbol: char) -> Result<()> {
        if self.symbol(symbol) { Ok(()) } else { Err(self.error(&format!("'{symbol}'"))) }
    }

    /// The next bare word, left in place.
    fn peek_word(&mut self) -> &'a str {
        self.skip_blanks();
        let end = self.rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(self.rest.len());
        self.rest.get(..end).unwrap_or_default()
    }

    fn take(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// Takes `word` (any case) when it comes next.
    fn keyword(&mut self, word: &str) -> bool {
        let found = self.peek_word().eq_ignore_ascii_case(word);
        if found {
            self.take(word.len());
        }
        found
    }

    fn number(&mut self) -> Result<u32> {
        let word = self.peek_word();
        let n = word.parse::<u32>().map_err(|_| self.error("a number"))?;
        self.take(word.len());
        Ok(n)
    }

    /// `(n)` where present, checked against its bounds.
    fn argument(&mut self, default: u32, min: u32, max: u32) -> Result<u32> {
        if !self.symbol('(') {
            return Ok(default);
        }
        let n = self.number()?;
        self.expect(')')?;
        if (min..=max).contains(&n) { Ok(n) } else { Err(self.error(&format!("a number between {min} and {max}"))) }
    }

    fn precision(&mut self, default: u32) -> Result<u8> {
        self.argument(default, 0, 9).map(|p| p as u8)
    }

    fn decimal(&mut self) -> Result<TypeKind> {
        let (mut precision, mut scale) = (10, 0);
        if self.symbol('(') {
            precision = self.number()?;
            if self.symbol(',') {
                scale = self.number()?;
            }
            self.expect(')')?;
        }
        if !(1..=38).contains(&precision) || scale > precision {
            return Err(self.error("a precision from 1 to 38 and a scale up to it"));
        }
        Ok(TypeKind::Decimal { precision: precision as u8, scale: scale as u8 })
    }

    fn timestamp(&mut self) -> Result<TypeKind> {
        let p = self.precision(6)?;
        if self.keyword("WITHOUT") {
            self.zone_words(&["TIME", "ZONE"])?;
        } else if self.keyword("WITH") {
            self.zone_words(&["LOCAL", "TIME", "ZONE"])?;
            return Ok(TypeKind::TimestampLtz(p));
        }
        Ok(TypeKind::Timestamp(p))
    }

    fn zone_words(&mut self, words: &[&str]) -> Result<()> {
        words.iter().try_for_each(|w| if self.keyword(w) { Ok(()) } else { Err(self.error(w)) })
    }

    /// `<t>`.
    fn angle(&mut self, next_id: &mut i32) -> Result<Box<DataType>> {
        self.expect('<')?;
        let t = self.data_type(next_id)?;
        self.expect('>')?;
        Ok(Box::new(t))
    }

    /// Free text up to one of the closing characters, for the names of reference systems.
    fn free_text(&mut self, end: &[char]) -> Result<String> {
        let at = self.rest.find(end).ok_or_else(|| self.error("')'"))?;
        let text = self.rest.get(..at).unwrap_or_default().trim().to_owned();
        self.take(at);
        Ok(text)
    }

    fn geography(&mut self, geometry: bool) -> Result<TypeKind> {
        let (mut crs, mut algorithm) = ("OGC:CRS84".to_owned(), "spherical".to_owned());
        if self.symbol('(') {
            crs = self.free_text(&[',', ')'])?;
            if self.symbol(',') {
                algorithm = self.free_text(&[')'])?;
            }
            self.expect(')')?;
        }
        Ok(if geometry { TypeKind::Geometry(crs) } else { TypeKind::Geography(crs, algorithm) })
    }

    /// A string between quotes of one kind, with the quote doubled inside.
    fn quoted(&mut self, quote: char) -> Result<String> {
        self.expect(quote)?;
        let mut out = String::new();
        let mut chars = self.rest.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            if c != quote {
                out.push(c);
            } else if chars.peek().is_some_and(|(_, next)| *next == quote) {
                chars.next();
                out.push(quote);
            } else {
                self.take(at + quote.len_utf8());
                return Ok(out);
            }
        }
        Err(self.error("a closing quote"))
    }

    fn row(&mut self, next_id: &mut i32) -> Result<TypeKind> {
        let close = if self.symbol('<') {
            '>'
        } else {
            self.expect('(')?;
            ')'
        };
        let mut fields = vec![];
        if self.symbol(close) {
            return Ok(TypeKind::Row(fields));
        }
        loop {
            self.skip_blanks();
            let name = match self.rest.chars().next() {
                Some(q @ ('`' | '"')) => self.quoted(q)?,
                _ => {
                    let word = self.peek_word();
                    if word.is_empty() {
                        return Err(self.error("a field name"));
                    }
                    self.take(word.len());
                    word.to_owned()
                }
            };
            let id = *next_id;
            *next_id += 1;
            let mut field = DataField::new(id, name, self.data_type(next_id)?);
            self.skip_blanks();
            if self.rest.starts_with('\'') {
                field.description = Some(self.quoted('\'')?);
            }
            fields.push(field);
            if !self.symbol(',') {
                self.expect(close)?;
                return Ok(TypeKind::Row(fields));
            }
        }
    }

    fn atomic(&mut self, word: &str, next_id: &mut i32) -> Result<TypeKind> {
        Ok(match word {
            "CHAR" => TypeKind::Char(self.argument(1, 0, MAX_LENGTH)?),
            "VARCHAR" => TypeKind::VarChar(self.argument(1, 0, MAX_LENGTH)?),
            "STRING" => TypeKind::string(),
            "BOOLEAN" => TypeKind::Boolean,
            "BINARY" => TypeKind::Binary(self.argument(1, 0, MAX_LENGTH)?),
            "VARBINARY" => TypeKind::VarBinary(self.argument(1, 0, MAX_LENGTH)?),
            "BYTES" => TypeKind::VarBinary(MAX_LENGTH),
            "DECIMAL" | "DEC" | "NUMERIC" => self.decimal()?,
            "TINYINT" => TypeKind::TinyInt,
            "SMALLINT" => TypeKind::SmallInt,
            "INT" | "INTEGER" => TypeKind::Int,
            "BIGINT" => TypeKind::BigInt,
            "FLOAT" => TypeKind::Float,
            "DOUBLE" => {
                self.keyword("PRECISION");
                TypeKind::Double
            }
            "DATE" => TypeKind::Date,
            "TIME" => {
                let p = self.precision(0)?;
                if self.keyword("WITHOUT") {
                    self.zone_words(&["TIME", "ZONE"])?;
                }
                TypeKind::Time(p)
            }
            "TIMESTAMP" => self.timestamp()?,
            "TIMESTAMP_LTZ" => TypeKind::TimestampLtz(self.precision(6)?),
            "VARIANT" => TypeKind::Variant,
            "BLOB" => TypeKind::Blob,
            "GEOMETRY" => self.geography(true)?,
            "GEOGRAPHY" => self.geography(false)?,
            "ARRAY" => TypeKind::Array(self.angle(next_id)?),
            "MULTISET" => TypeKind::Multiset(self.angle(next_id)?),
            "MAP" => {
                self.expect('<')?;
                let key = self.data_type(next_id)?;
                self.expect(',')?;
                let value = self.data_type(next_id)?;
                self.expect('>')?;
                TypeKind::Map(Box::new(key), Box::new(value))
            }
            "VECTOR" => {
                self.expect('<')?;
                let element = self.data_type(next_id)?;
                self.expect(',')?;
                let length = self.number()?;
                self.expect('>')?;
                if length == 0 || length > MAX_LENGTH {
                    return Err(self.error("a positive length"));
                }
                TypeKind::Vector(Box::new(element), length)
            }
            "ROW" => self.row(next_id)?,
            _ => return Err(Error::unsupported(format!("data type '{}'", self.text))),
        })
    }

    fn data_type(&mut self, next_id: &mut i32) -> Result<DataType> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Error::unsupported(format!("types nested deeper than {MAX_DEPTH}")));
        }
        let word = self.peek_word();
        self.take(word.len());
        let kind = self.atomic(&word.to_ascii_uppercase(), next_id)?;
        let mut t = DataType { kind, nullable: self.nullability()? };
        // The postfix forms `T ARRAY` and `T MULTISET`.
        for _ in 0..MAX_DEPTH {
            if self.keyword("ARRAY") {
                t = DataType { kind: TypeKind::Array(Box::new(t)), nullable: self.nullability()? };
            } else if self.keyword("MULTISET") {
                t = DataType { kind: TypeKind::Multiset(Box::new(t)), nullable: self.nullability()? };
            } else {
                break;
            }
        }
        self.depth -= 1;
        Ok(t)
    }

    fn nullability(&mut self) -> Result<bool> {
        if self.keyword("NOT") {
            return if self.keyword("NULL") { Ok(false) } else { Err(self.error("NULL")) };
        }
        self.keyword("NULL");
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn texts_are_read_and_printed() {
        for (text, printed) in [
            ("INT", "INT"),
            ("integer not null", "INT NOT NULL"),
            ("VARCHAR", "VARCHAR(1)"),
            ("STRING", "STRING"),
            ("VARCHAR(2147483647)", "STRING"),
            ("BYTES NULL", "BYTES"),
            ("DECIMAL(10,2)", "DECIMAL(10, 2)"),
            ("numeric", "DECIMAL(10, 0)"),
            ("DOUBLE PRECISION", "DOUBLE"),
            ("TIME(3) WITHOUT TIME ZONE NOT NULL", "TIME(3) NOT NULL"),
            ("TIMESTAMP", "TIMESTAMP(6)"),
            ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
            ("TIMESTAMP_LTZ(9)", "TIMESTAMP(9) WITH LOCAL TIME ZONE"),
            ("ARRAY<MAP<STRING, INT NOT NULL>> NOT NULL", "ARRAY<MAP<STRING, INT NOT NULL>> NOT NULL"),
            ("INT NOT NULL ARRAY", "ARRAY<INT NOT NULL>"),
            ("ROW<a INT, `b c` STRING 'it''s'>", "ROW<`a` INT, `b c` STRING 'it''s'>"),
            ("VECTOR<FLOAT, 3>", "VECTOR<FLOAT, 3>"),
            ("GEOGRAPHY", "GEOGRAPHY(OGC:CRS84, spherical)"),
        ] {
            assert_eq!(DataType::parse(text).unwrap().to_string(), printed, "{text}");
        }
    }

    #[test]
    fn what_is_not_a_type_is_an_error() {
        for text in
            ["", "INT INT", "DECIMAL(39)", "DECIMAL(5,6)", "TIMESTAMP(10)", "ARRAY<INT", "FANCY", "CHAR(x)", "ROW<>x"]
        {
            assert!(DataType::parse(text).is_err(), "{text}");
        }
        assert!(DataType::parse(&"ARRAY<".repeat(100_000)).is_err());
        assert!(DataType::from_json(&json!({"type": "ROW"})).is_err());
        assert!(DataType::from_json(&json!(3)).is_err());
    }

    #[test]
    fn json_of_nested_types_goes_both_ways_and_ids_are_given_where_they_lack() {
        let j = json!({"type": "ROW NOT NULL", "fields": [
            {"id": 4, "name": "zip", "type": "INT NOT NULL"},
            {"id": 5, "name": "m", "type": {"type": "MAP", "key": "STRING NOT NULL", "value": {"type": "ARRAY", "element": "BIGINT"}}},
            {"id": 6, "name": "v", "type": {"type": "VECTOR", "element": "FLOAT", "length": 4}, "description": "d", "defaultValue": "1"}]});
        assert_eq!(DataType::from_json(&j).unwrap().to_json(), j);
        let j = json!({"type": "ROW", "fields": [{"name": "a", "type": "INT"}, {"name": "b", "type": "INT"}]});
        let TypeKind::Row(fields) = DataType::from_json(&j).unwrap().kind else { panic!() };
        assert_eq!((fields[0].id, fields[1].id), (0, 1));
    }

    fn any_type() -> impl Strategy<Value = DataType> {
        let leaf = prop_oneof![
            Just(TypeKind::Boolean),
            Just(TypeKind::Int),
            (1u8..=38, 0u8..=38).prop_map(|(p, s)| TypeKind::Decimal { precision: p, scale: s.min(p) }),
            (0u32..100).prop_map(TypeKind::Char),
            Just(TypeKind::string()),
            (0u8..=9).prop_map(TypeKind::Timestamp),
            (0u8..=9).prop_map(TypeKind::TimestampLtz),
            Just(TypeKind::Variant),
        ];
        let leaf = (leaf, any::<bool>()).prop_map(|(kind, nullable)| DataType { kind, nullable });
        leaf.prop_recursive(4, 24, 3, |inner| {
            let kind = prop_oneof![
                inner.clone().prop_map(|t| TypeKind::Array(Box::new(t))),
                (inner.clone(), inner.clone()).prop_map(|(k, v)| TypeKind::Map(Box::new(k), Box::new(v))),
                proptest::collection::vec((0..1000i32, "[a-zé`]{0,5}", inner), 0..3).prop_map(|fields| {
                    TypeKind::Row(fields.into_iter().map(|(id, n, t)| DataField::new(id, n, t)).collect())
                }),
            ];
            (kind, any::<bool>()).prop_map(|(kind, nullable)| DataType { kind, nullable })
        })
    }

    proptest! {
        #[test]
        fn json_round_trips(t in any_type()) {
            prop_assert_eq!(DataType::from_json(&t.to_json()).unwrap(), t);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = DataType::parse(&text);
        }
    }
}
