//! `listagg`: texts joined with a delimiter.
//!
//! In: versions of a STRING column. Out: each key's values, joined in order. NULL and the empty text add nothing. With
//! `distinct`, a later value is split at the delimiter and only its tokens that are not empty and not there yet are
//! appended; the first value stays as it is. Java: `FieldListaggAgg` of release 1.4, which cannot retract.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StringViewArray, StringViewBuilder};

use super::fold::{Operations, Subject, input_of, outside};
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// `listagg`.
#[derive(Debug)]
pub(super) struct ListAgg {
    pub subject: Subject,
    pub delimiter: String,
    pub distinct: bool,
}

/// A text that stands in an input, or one that was put together.
enum Text<'a> {
    Input(&'a str),
    Joined { text: String, tokens: Option<HashSet<String>> },
}

impl Aggregator for ListAgg {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let inputs: Option<Vec<_>> = versions.inputs.iter().map(|input| input.as_string_view_opt()).collect();
        let inputs = inputs.ok_or_else(|| Error::internal("a column that is not of text"))?;
        let mut texts = StringViewBuilder::with_capacity(versions.key_count());
        self.subject.fold(versions, &mut Join { function: self, inputs }, |text| {
            match &text {
                None => texts.append_null(),
                Some(text) => texts.try_append_value(text.as_str())?,
            }
            Ok(())
        })?;
        Ok(Arc::new(texts.finish()))
    }
}

struct Join<'a> {
    function: &'a ListAgg,
    inputs: Vec<&'a StringViewArray>,
}

impl<'a> Operations for Join<'a> {
    type Value = Text<'a>;

    fn read(&self, member: Member) -> Result<Option<Text<'a>>> {
        let array = *input_of(&self.inputs, member)?;
        let row = member.row as usize;
        if row >= array.len() {
            return Err(outside(member));
        }
        Ok(array.is_valid(row).then(|| Text::Input(array.value(row))))
    }

    fn aggregate(&mut self, acc: Option<Text<'a>>, input: Option<Text<'a>>) -> Result<Option<Text<'a>>> {
        Ok(match (acc, input) {
            (Some(acc), Some(input)) if input.as_str().is_empty() => Some(acc),
            (Some(acc), Some(input)) if acc.as_str().is_empty() => Some(input),
            (Some(acc), Some(input)) if self.function.distinct => Some(self.append_new(acc, &input)),
            (Some(acc), Some(input)) => Some(self.append(acc, &input)),
            (acc, input) => acc.or(input),
        })
    }
}

impl<'a> Join<'a> {
    fn append(&self, acc: Text<'a>, input: &Text<'a>) -> Text<'a> {
        let mut text = acc.into_string();
        text.push_str(&self.function.delimiter);
        text.push_str(input.as_str());
        Text::Joined { text, tokens: None }
    }

    /// Appends the tokens that are new.
    fn append_new(&self, acc: Text<'a>, input: &Text<'a>) -> Text<'a> {
        let mut known = match &acc {
            Text::Joined { tokens: Some(_), .. } => None,
            text => Some(self.tokens(text.as_str()).map(str::to_owned).collect()),
        };
        let mut text = match acc {
            Text::Input(text) => text.to_owned(),
            Text::Joined { text, tokens } => {
                known = known.or(tokens);
                text
            }
        };
        let mut known: HashSet<String> = known.unwrap_or_default();
        for token in self.tokens(input.as_str()) {
            if !token.is_empty() && !known.contains(token) {
                known.insert(token.to_owned());
                text.push_str(&self.function.delimiter);
                text.push_str(token);
            }
        }
        // Appended with an empty delimiter, tokens run into each other and are others when the text is split again.
        let tokens = (!self.function.delimiter.is_empty()).then_some(known);
        Text::Joined { text, tokens }
    }

    /// The tokens of a text; an empty delimiter stands for a blank.
    fn tokens<'t>(&'t self, text: &'t str) -> impl Iterator<Item = &'t str> + use<'t, 'a> {
        let delimiter = self.function.delimiter.as_str();
        text.split(if delimiter.is_empty() { " " } else { delimiter })
    }
}

impl Text<'_> {
    fn as_str(&self) -> &str {
        match self {
            Text::Input(text) => text,
            Text::Joined { text, .. } => text,
        }
    }

    fn into_string(self) -> String {
        match self {
            Text::Input(text) => text.to_owned(),
            Text::Joined { text, .. } => text,
        }
    }
}
