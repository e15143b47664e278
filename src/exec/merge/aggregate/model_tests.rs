//! Properties: random programs over many keys give what a simple model gives that goes value by value.
//!
//! The model keeps JSON values and is written from the rules of each function, without indexes, sets or shared loops.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Step;
use super::testing::{function, json_column, run, same};
use crate::spec::data_type::DataType;

/// A function, the type of its column and its options.
type Case = (&'static str, &'static str, &'static str);

const CASES: [Case; 26] = [
    ("sum", "INT", ""),
    ("sum", "TINYINT", "ignore-retract=true"),
    ("sum", "DECIMAL(3, 0)", ""),
    ("product", "BIGINT", ""),
    ("max", "INT", ""),
    ("min", "DATE", "ignore-retract=true"),
    ("max", "STRING", ""),
    ("min", "STRING", "ignore-retract=true"),
    ("bool_and", "BOOLEAN", ""),
    ("bool_or", "BOOLEAN", "ignore-retract=true"),
    ("last_value", "STRING", ""),
    ("last_non_null_value", "STRING", ""),
    ("last_non_null_value", "ARRAY<INT>", "ignore-retract=true"),
    ("first_value", "INT", "ignore-retract=true"),
    ("first_non_null_value", "STRING", ""),
    ("primary-key", "INT", ""),
    ("listagg", "STRING", ""),
    ("listagg", "STRING", "list-agg-delimiter=--; ignore-retract=true"),
    ("collect", "ARRAY<INT>", ""),
    ("collect", "ARRAY<INT>", "distinct=true"),
    ("merge_map", "MAP<INT, STRING>", ""),
    ("merge_map_with_keytime", "MAP<INT, ROW<v INT, t STRING>>", "ignore-retract=true"),
    ("nested_update", "ARRAY<ROW<k INT, v STRING>>", ""),
    ("nested_update", "ARRAY<ROW<k INT, v STRING>>", "nested-key=k; count-limit=3"),
    ("nested_update", "ARRAY<ROW<k INT, v STRING>>", "nested-key=k; nested-sequence-field=v; count-limit=3"),
    ("nested_partial_update", "ARRAY<ROW<k INT, v STRING>>", "nested-key=k; ignore-retract=true"),
];

fn number(small: i64) -> BoxedStrategy<Value> {
    prop_oneof![1 => Just(Value::Null), 5 => (-small..=small).prop_map(Value::from)].boxed()
}

fn text() -> BoxedStrategy<Value> {
    let texts = prop::sample::select(vec!["", "a", "b", "é", "ab", "a longer text that is not inlined"]);
    prop_oneof![1 => Just(Value::Null), 5 => texts.prop_map(Value::from)].boxed()
}

fn list(element: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop_oneof![1 => Just(Value::Null), 5 => prop::collection::vec(element, 0..5).prop_map(Value::from)].boxed()
}

fn values(data_type: &str) -> BoxedStrategy<Value> {
    let pair = |a, b| (a, b).prop_map(|(a, b)| json!([a, b])).boxed();
    let key = || (0..4i64).prop_map(Value::from).boxed();
    let maybe = |row: BoxedStrategy<Value>| prop_oneof![1 => Just(Value::Null), 4 => row].boxed();
    match data_type {
        "BOOLEAN" => prop_oneof![Just(Value::Null), any::<bool>().prop_map(Value::from)].boxed(),
        "TINYINT" => number(127),
        "DECIMAL(3, 0)" => number(999).prop_map(|v| v.as_i64().map_or(v, |n| json!(n.to_string()))).boxed(),
        "INT" | "DATE" | "BIGINT" => number(3_000_000),
        "STRING" => text(),
        "ARRAY<INT>" => list(number(2)),
        "MAP<INT, STRING>" => list(pair(key(), text())).prop_map(without_duplicates).boxed(),
        "MAP<INT, ROW<v INT, t STRING>>" => {
            list(pair(key(), maybe(pair(number(9), text())))).prop_map(without_duplicates).boxed()
        }
        _ => list(maybe(pair(number(2), text()))),
    }
}

fn without_duplicates(map: Value) -> Value {
    let Value::Array(mut entries) = map else { return map };
    let mut seen = vec![];
    entries.retain(|e| {
        !seen.contains(&e[0]) && {
            seen.push(e[0].clone());
            true
        }
    });
    Value::Array(entries)
}

fn steps() -> impl Strategy<Value = Step> {
    use Step::*;
    prop_oneof![8 => Just(Aggregate), 3 => Just(AggregateReversed), 2 => Just(Retract), 1 => Just(Set), 1 => Just(Clear), 1 => Just(Skip)]
}

/// The model: its state is whether first values were had.
struct Model {
    case: Case,
    begun: bool,
}

/// What the model says of a step: `Err` where the function fails.
type Answer = Result<Value, ()>;

impl Model {
    fn key(case: Case, key: &[(Step, Value)]) -> Answer {
        let mut model = Model { case, begun: false };
        let ignore = case.2.contains("ignore-retract");
        key.iter().try_fold(Value::Null, |acc, (step, value)| {
            let value = value.clone();
            match step {
                Step::Skip => Ok(acc),
                Step::Clear => Ok(Value::Null),
                Step::Set => Ok(value),
                Step::Aggregate => model.agg(acc, value),
                Step::AggregateReversed if case.0 == "collect" && !ignore => model.agg(acc, value),
                Step::AggregateReversed => model.agg(value, acc),
                Step::Retract if ignore => Ok(acc),
                Step::Retract => model.retract(acc, value),
            }
        })
    }

    /// A number, wrapped or cut as the column's type does it.
    fn fit(&self, n: i128) -> Value {
        match self.case.1 {
            "TINYINT" => json!(n as i8),
            "INT" => json!(n as i32),
            "BIGINT" => json!(n as i64),
            _ => json!(n.to_string()),
        }
    }

    fn agg(&mut self, acc: Value, value: Value) -> Answer {
        let either = if acc.is_null() { value.clone() } else { acc.clone() };
        let one_is_null = acc.is_null() || value.is_null();
        Ok(match self.case.0 {
            "last_value" | "primary-key" => value,
            "last_non_null_value" => {
                if value.is_null() {
                    acc
                } else {
                    value
                }
            }
            "first_value" | "first_non_null_value" => {
                if self.begun || (self.case.0 == "first_non_null_value" && value.is_null()) {
                    acc
                } else {
                    self.begun = true;
                    value
                }
            }
            "collect" if self.distinct() && !(acc.is_null() && value.is_null()) => {
                let mut all: Vec<Value> = vec![];
                for element in rows(&acc).into_iter().chain(rows(&value)) {
                    if !all.contains(&element) {
                        all.push(element);
                    }
                }
                Value::Array(all)
            }
            "nested_update" if self.case.2.contains("sequence") => self.strict(acc, value),
            _ if one_is_null => either,
            "sum" => self.fit(int(&acc) + int(&value)),
            "product" => self.fit(int(&acc).wrapping_mul(int(&value))),
            "max" => {
                if order(&acc, &value).is_lt() {
                    value
                } else {
                    acc
                }
            }
            "min" => {
                if order(&acc, &value).is_lt() {
                    acc
                } else {
                    value
                }
            }
            "bool_and" => json!(acc == json!(true) && value == json!(true)),
            "bool_or" => json!(acc == json!(true) || value == json!(true)),
            "listagg" => match (acc.as_str().unwrap(), value.as_str().unwrap()) {
                (a, "") => json!(a),
                ("", b) => json!(b),
                (a, b) => json!(format!("{a}{}{b}", if self.case.2.is_empty() { "," } else { "--" })),
            },
            "collect" => Value::Array([rows(&acc), rows(&value)].concat()),
            "merge_map" => rows(&value).into_iter().fold(acc, put),
            "merge_map_with_keytime" => rows(&value).into_iter().fold(acc, put_later),
            "nested_update" => self.classic(&acc, &value),
            "nested_partial_update" => [rows(&acc), rows(&value)]
                .concat()
                .into_iter()
                .filter(|row| !row.is_null())
                .fold(json!([]), |all, row| {
                    let old = rows(&all).into_iter().find(|r| r[0] == row[0]);
                    let merged = match old {
                        Some(old) if row[1].is_null() => old,
                        _ => row,
                    };
                    put(all, merged)
                }),
            other => panic!("{other}"),
        })
    }

    fn distinct(&self) -> bool {
        self.case.2.contains("distinct")
    }

    fn limit(&self) -> usize {
        if self.case.2.contains("count-limit") { 3 } else { usize::MAX }
    }

    fn classic(&self, acc: &Value, value: &Value) -> Value {
        let remaining = self.limit().saturating_sub(rows(acc).len());
        if remaining == 0 {
            return acc.clone();
        }
        let mut all: Vec<_> = rows(acc).into_iter().filter(|row| !row.is_null()).collect();
        all.extend(rows(value).into_iter().filter(|row| !row.is_null()).take(remaining));
        if self.case.2.contains("nested-key") { all.into_iter().fold(json!([]), put) } else { Value::Array(all) }
    }

    fn strict(&self, acc: Value, value: Value) -> Value {
        if value.is_null() {
            return acc;
        }
        let all = rows(&acc).into_iter().map(|r| (r, false)).chain(rows(&value).into_iter().map(|r| (r, true)));
        all.filter(|(row, _)| !row.is_null()).fold(json!([]), |all, (row, new)| {
            match rows(&all).into_iter().find(|r| r[0] == row[0]) {
                Some(old) if order(&row[1], &old[1]).is_lt() => all,
                None if new && rows(&all).len() >= self.limit() => all,
                _ => put(all, row),
            }
        })
    }

    fn retract(&self, acc: Value, value: Value) -> Answer {
        let by_key = self.case.0 == "merge_map" || self.case.2.contains("nested-key");
        Ok(match self.case.0 {
            "sum" => match (acc.is_null(), value.is_null()) {
                (_, true) => acc,
                (true, _) => self.fit(-int(&value)),
                _ => self.fit(int(&acc) - int(&value)),
            },
            "product" if acc.is_null() || value.is_null() => acc,
            "product" => self.fit(int(&acc).checked_div(int(&value)).ok_or(())?),
            "last_value" => Value::Null,
            "last_non_null_value" => {
                if value.is_null() {
                    acc
                } else {
                    Value::Null
                }
            }
            "primary-key" => value,
            "collect" | "merge_map" | "nested_update" if acc.is_null() || value.is_null() => acc,
            "collect" => rows(&value).iter().fold(acc, |acc, element| {
                let mut all = rows(&acc);
                if let Some(place) = all.iter().position(|e| e == element) {
                    all.remove(place);
                }
                Value::Array(all)
            }),
            "merge_map" | "nested_update" => {
                let nested = self.case.0 == "nested_update";
                let mut all = rows(&acc);
                if nested {
                    all.retain(|row| !row.is_null());
                    if by_key {
                        all = rows(&match self.case.2.contains("sequence") {
                            // The limit is for new rows.
                            true => self.strict(Value::Array(all.clone()), json!([])),
                            false => all.into_iter().fold(json!([]), put),
                        });
                    }
                }
                let gone = rows(&value);
                all.retain(|row| !gone.iter().any(|g| !g.is_null() && if by_key { g[0] == row[0] } else { g == row }));
                Value::Array(all)
            }
            _ => return Err(()),
        })
    }
}

fn int(value: &Value) -> i128 {
    value.as_i64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap()).into()
}

fn order(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a.as_str(), b.as_str()) {
        (None, None) if a.is_null() => std::cmp::Ordering::Equal,
        (None, None) => int(a).cmp(&int(b)),
        (a, b) => a.cmp(&b),
    }
}

fn rows(list: &Value) -> Vec<Value> {
    list.as_array().cloned().unwrap_or_default()
}

/// Puts a row or entry over the one of equal first field.
fn put(all: Value, row: Value) -> Value {
    let mut all = rows(&all);
    match all.iter_mut().find(|r| r[0] == row[0]) {
        Some(old) => *old = row,
        None => all.push(row),
    }
    Value::Array(all)
}

fn put_later(all: Value, entry: Value) -> Value {
    let old = rows(&all).into_iter().find(|e| e[0] == entry[0]);
    if entry[1].is_null() {
        return Value::Array(rows(&all).into_iter().filter(|e| e[0] != entry[0]).collect());
    }
    match (entry[1][1].as_str(), old.as_ref().and_then(|old| old[1][1].as_str())) {
        (None, _) => all,
        (Some(new), Some(old)) if new <= old => all,
        _ => put(all, entry),
    }
}

fn programs() -> impl Strategy<Value = (Case, Vec<Vec<(Step, Value)>>, usize)> {
    prop::sample::select(CASES.to_vec()).prop_flat_map(|case| {
        let version = (steps(), values(case.1));
        let keys = prop::collection::vec(prop::collection::vec(version, 0..8), 0..6);
        (Just(case), keys, 1..4usize)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn programs_give_what_the_model_gives((case, keys, inputs) in programs()) {
        let data_type = DataType::parse(case.1).unwrap();
        let want: Result<Vec<Value>, ()> = keys.iter().map(|key| Model::key(case, key)).collect();
        let got = run(&*function(case.0, case.1, case.2).unwrap(), &data_type, &keys, inputs);
        match want {
            Err(()) => prop_assert!(got.is_err(), "{case:?} {keys:?}: {got:?}"),
            Ok(want) => {
                let (want, got) = (json_column(&data_type, &want), got.unwrap());
                prop_assert_eq!(want.len(), got.len());
                for (row, key) in keys.iter().enumerate() {
                    prop_assert!(same(&want, &got, row), "{:?} {:?}: want {:?}, got {:?}", case, key, want.slice(row, 1), got.slice(row, 1));
                }
            }
        }
    }

    #[test]
    fn foreign_bytes_of_sets_never_panic(
        set in prop::sample::select(vec!["rbm32", "rbm64", "theta_sketch", "hll_sketch"]),
        seed in prop::sample::select(vec![
            "3b3002000100000d1710000000ff7f00000300010000000500000064000b170000ffff",
            "0103000000000000000002000000007f00000200010000000100040000000000000000000000000000000000040000000000010000000100000000000000040000007fffffffffff020000000000000001000000fe030000000100f401000001000000f3010102010000000000010201000000ffff03000000000000000000000002000000",
            "02030300001acc93030000000000803f15f97dcbbd86a105c397fc1281709d1eba40b3c1da06695d",
            "0201070c030803002bf2fb06862ff90d75816607",
            "0301070c090800010200000002 22b4040588530f".trim_end(),
        ]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let seed: String = seed.chars().filter(|c| !c.is_whitespace()).collect();
        let mut bytes: Vec<u8> = (0..seed.len() / 2).map(|i| u8::from_str_radix(&seed[2 * i..2 * i + 2], 16).unwrap()).collect();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if cut.index(3) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        let key = vec![(Step::Aggregate, json!(hex)), (Step::Aggregate, json!(hex))];
        let _ = run(&*function(set, "BYTES", "").unwrap(), &DataType::parse("BYTES").unwrap(), &[key], 1);
    }
}
