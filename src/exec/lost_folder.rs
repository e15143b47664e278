//! Finds the folder of a partition that is not spelled as Java spells it.
//!
//! In: the path of a file that is not there, and the partition's values. Out: its path below the folders that are there,
//! matched by value level by level: other writers spell times and numbers differently. Only asked when a file is
//! missing, so that it costs nothing otherwise.

use chrono_tz::Tz;

use crate::error::{Error, Result};
use crate::spec::data_type::DataField;
use crate::spec::datum::Datum;
use crate::spec::partition_match::spells;
use crate::spec::partition_path::split_folder;
use crate::storage::{Location, Storage};

/// How a table's partitions are named.
#[derive(Debug, Clone, Copy)]
pub struct PartitionNames<'a> {
    /// The partition columns.
    pub fields: &'a [DataField],
    /// Table option `partition.default-name`.
    pub default_name: &'a str,
    /// The session's zone.
    pub zone: Tz,
}

/// Where the file at `missing` lies instead: `…/k1=v1/k2=v2/bucket-0/FILE` with other spellings of the values. `None`
/// where no folder has the partition's values; an error where several have.
pub async fn find(
    storage: &Storage,
    missing: &Location,
    names: PartitionNames<'_>,
    partition: &[Option<Datum>],
) -> Result<Option<Location>> {
    let Some(bucket) = missing.parent() else { return Ok(None) };
    let mut base = bucket.parent();
    for _ in names.fields {
        base = base.and_then(|folder| folder.parent());
    }
    let Some(mut folder) = base else { return Ok(None) };
    for (field, value) in names.fields.iter().zip(partition) {
        let is_it = |name: &String| {
            split_folder(name).is_some_and(|(key, text)| {
                key == field.name && spells(&field.data_type, value.as_ref(), &text, names.default_name, names.zone)
            })
        };
        let found: Vec<_> = storage.list(&folder).await?.folders.into_iter().filter(is_it).collect();
        folder = match found.as_slice() {
            [] => return Ok(None),
            [one] => folder.join(one)?,
            several => {
                let message = format!("{folder} has several folders of one partition: {}", several.join(", "));
                return Err(Error::corrupt(message).in_file(missing));
            }
        };
    }
    let found = folder.join(bucket.name())?.join(missing.name())?;
    Ok((found != *missing).then_some(found))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use datafusion::execution::runtime_env::RuntimeEnv;

    use super::*;
    use crate::spec::data_type::DataType;

    #[tokio::test]
    async fn a_folder_is_found_by_the_value_of_its_partition() {
        let root = tempfile::tempdir().unwrap();
        for folder in ["day=2024-01-02 03%3A04%3A05/n=1.50/bucket-0", "day=2024-01-03/n=2/bucket-0"] {
            fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        let field = |id, name, t| DataField::new(id, name, DataType::parse(t).unwrap());
        let fields = [field(0, "day", "TIMESTAMP(3)"), field(1, "n", "DECIMAL(5, 1)")];
        let names = PartitionNames { fields: &fields, default_name: "none", zone: Tz::UTC };
        let storage = Storage::new(&RuntimeEnv::default());
        let at = |folder: &str| Location::parse(&format!("{}/{folder}/bucket-0/f", root.path().display())).unwrap();
        let day = Datum::Timestamp { millis: 1_704_164_645_000, nano_of_milli: 0 };
        let n = |unscaled| Datum::Decimal { unscaled, precision: 5, scale: 1 };
        let missing = at("day=2024-01-02T03:04:05/n=1.5");
        let found = find(&storage, &missing, names, &[Some(day.clone()), Some(n(15))]).await.unwrap();
        assert_eq!(found, Some(at("day=2024-01-02 03%3A04%3A05/n=1.50")));
        assert_eq!(find(&storage, &missing, names, &[Some(day), Some(n(16))]).await.unwrap(), None);
        assert_eq!(find(&storage, &missing, names, &[None, None]).await.unwrap(), None);
    }
}
