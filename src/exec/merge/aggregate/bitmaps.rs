//! Functions on serialized sets and sketches: `rbm32`, `rbm64`, `theta_sketch`, `hll_sketch`.
//!
//! In: versions of a VARBINARY column of such bytes. Out: the union of each key's. A key whose only value it is keeps the
//! bytes as they are, never looked at. Unions are kept as sets from version to version and serialized once. None can
//! retract. Java: `FieldRoaringBitmap32Agg`, `FieldRoaringBitmap64Agg`, `FieldThetaSketchAgg`, `FieldHllSketchAgg`.

use std::marker::PhantomData;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, BinaryViewBuilder};
use roaring::RoaringBitmap;

use super::art::Roaring64;
use super::fold::{Operations, Subject, input_of, outside};
use super::hll::HllSketch;
use super::theta::ThetaSketch;
use super::{Aggregator, Member, Versions};
use crate::error::{Error, Result};

/// What can be read from bytes, united, and written to bytes.
pub(super) trait Set: Sized + std::fmt::Debug + Send + Sync {
    /// Reads a set.
    fn read(bytes: &[u8]) -> Result<Self>;
    /// `union(acc, input)` of Java.
    fn unite(acc: Self, input: &Self) -> Result<Self>;
    /// Writes a set.
    fn write(self) -> Result<Vec<u8>>;
}

impl Set for RoaringBitmap {
    fn read(bytes: &[u8]) -> Result<Self> {
        RoaringBitmap::deserialize_from(bytes).map_err(|e| Error::corrupt("32-bit roaring bitmap").caused_by(e))
    }

    fn unite(mut acc: Self, input: &Self) -> Result<Self> {
        acc |= input;
        Ok(acc)
    }

    fn write(mut self) -> Result<Vec<u8>> {
        self.optimize();
        let mut bytes = Vec::with_capacity(self.serialized_size());
        self.serialize_into(&mut bytes).map_err(|e| Error::internal("32-bit roaring bitmap").caused_by(e))?;
        Ok(bytes)
    }
}

impl Set for Roaring64 {
    fn read(bytes: &[u8]) -> Result<Self> {
        Roaring64::read(bytes)
    }

    fn unite(mut acc: Self, input: &Self) -> Result<Self> {
        acc.union(input);
        Ok(acc)
    }

    fn write(mut self) -> Result<Vec<u8>> {
        Roaring64::write(&mut self)
    }
}

impl Set for ThetaSketch {
    fn read(bytes: &[u8]) -> Result<Self> {
        ThetaSketch::read(bytes)
    }

    fn unite(acc: Self, input: &Self) -> Result<Self> {
        Ok(acc.union(input))
    }

    fn write(self) -> Result<Vec<u8>> {
        Ok(ThetaSketch::write(&self))
    }
}

impl Set for HllSketch {
    fn read(bytes: &[u8]) -> Result<Self> {
        HllSketch::read(bytes)
    }

    fn unite(acc: Self, input: &Self) -> Result<Self> {
        Ok(acc.union(input))
    }

    fn write(self) -> Result<Vec<u8>> {
        Ok(HllSketch::write(&self))
    }
}

/// The union of sets of type `S`.
#[derive(Debug)]
pub(super) struct Union<S> {
    pub subject: Subject,
    pub set: PhantomData<S>,
}

/// A set as it stands in an input, or one that was united.
enum Bits<S> {
    Input(Member),
    United(S),
}

impl<S: Set> Aggregator for Union<S> {
    fn aggregate(&self, versions: &Versions<'_>) -> Result<ArrayRef> {
        let inputs: Option<Vec<_>> = versions.inputs.iter().map(|input| input.as_binary_view_opt()).collect();
        let inputs = inputs.ok_or_else(|| Error::internal("a column that is not of bytes"))?;
        let mut sets = BinaryViewBuilder::with_capacity(versions.key_count());
        let mut operations = UnionOperations { subject: &self.subject, inputs: &inputs, set: PhantomData::<S> };
        self.subject.fold(versions, &mut operations, |set| {
            match set {
                None => sets.append_null(),
                Some(Bits::Input(member)) => sets.try_append_value(bytes(&inputs, member)?)?,
                Some(Bits::United(set)) => sets.try_append_value(set.write()?)?,
            }
            Ok(())
        })?;
        Ok(Arc::new(sets.finish()))
    }
}

fn bytes<'a>(inputs: &[&'a BinaryViewArray], member: Member) -> Result<&'a [u8]> {
    let array = *input_of(inputs, member)?;
    let row = member.row as usize;
    if row < array.len() { Ok(array.value(row)) } else { Err(outside(member)) }
}

struct UnionOperations<'a, S> {
    subject: &'a Subject,
    inputs: &'a [&'a BinaryViewArray],
    set: PhantomData<S>,
}

impl<S: Set> UnionOperations<'_, S> {
    fn set(&self, bits: Bits<S>) -> Result<S> {
        match bits {
            Bits::United(set) => Ok(set),
            Bits::Input(member) => S::read(bytes(self.inputs, member)?)
                .map_err(|e| self.subject.error("a value that is none of its kind").caused_by(e)),
        }
    }
}

impl<S: Set> Operations for UnionOperations<'_, S> {
    type Value = Bits<S>;

    fn read(&self, member: Member) -> Result<Option<Bits<S>>> {
        let array = input_of(self.inputs, member)?;
        if member.row as usize >= array.len() {
            return Err(outside(member));
        }
        Ok(array.is_valid(member.row as usize).then_some(Bits::Input(member)))
    }

    fn aggregate(&mut self, acc: Option<Bits<S>>, input: Option<Bits<S>>) -> Result<Option<Bits<S>>> {
        match (acc, input) {
            (Some(acc), Some(input)) => Ok(Some(Bits::United(S::unite(self.set(acc)?, &self.set(input)?)?))),
            (acc, input) => Ok(acc.or(input)),
        }
    }
}
