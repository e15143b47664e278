//! Facts from Java: what the classes of release 1.4.2 answer, and where this crate answers otherwise on purpose.
//!
//! A line of `java_cases.txt` is `function | type | options | steps | result`; `!` is an error. Lists are compared as
//! multisets, since Java's come out of hash maps.

use arrow::array::{Array, ArrayRef, AsArray};
use serde_json::Value;

use super::hll::HllSketch;
use super::testing::{function, json_column, run, same, step};
use crate::error::Result;
use crate::spec::data_type::DataType;

fn answer(name: &str, data_type: &str, options: &str, steps: &str, inputs: usize) -> Result<ArrayRef> {
    let steps: Vec<Vec<Value>> = serde_json::from_str(steps).unwrap();
    let key = steps.iter().map(|s| (step(s[0].as_str().unwrap()), s.get(1).cloned().unwrap_or_default())).collect();
    run(&*function(name, data_type, options)?, &DataType::parse(data_type)?, &[key], inputs)
}

fn check(line: &str) {
    let [name, data_type, options, steps, want] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
    for inputs in 1..=3 {
        let got = answer(name, data_type, options, steps, inputs);
        if want == "!" {
            assert!(got.is_err(), "{line}: {got:?}");
            continue;
        }
        let got = got.unwrap_or_else(|e| panic!("{line}: {e}"));
        let want = json_column(&DataType::parse(data_type).unwrap(), &[serde_json::from_str(want).unwrap()]);
        let equal = if name == "hll_sketch" && want.is_valid(0) {
            let sketch = |a: &ArrayRef| HllSketch::read(a.as_binary_view().value(0)).unwrap();
            sketch(&want) == sketch(&got)
        } else {
            same(&want, &got, 0)
        };
        assert!(equal, "{line}: {got:?}");
    }
}

#[test]
fn functions_answer_as_java() {
    let lines = include_str!("java_cases.txt").lines();
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).for_each(check);
}

#[test]
fn what_java_refuses_or_later_releases_do() {
    let nested = "nested_update | ARRAY<ROW<k INT, s INT, v STRING>>";
    let partial = "nested_partial_update | ARRAY<ROW<k INT, a INT>>";
    for line in [
        r#"max | BOOLEAN |  | [["+",false],["+",true],["+",false]] | true"#,
        r#"min | BOOLEAN |  | [["+",true],["+",false],["+",null]] | false"#,
        r#"collect | ARRAY<ROW<a DOUBLE>> | distinct=true | [["+",[["0.0"],["-0.0"],["NaN"],["NaN"]]]] | [["0.0"],["-0.0"],["NaN"]]"#,
        r#"collect | ARRAY<VARBINARY(5)> | distinct=true | [["+",["01","01"]],["+",["02","01"]]] | ["01","02"]"#,
        r#"collect | ARRAY<VARBINARY(5)> |  | [["+",["01","01"]],["-",["01"]]] | ["01"]"#,
        r#"merge_map | MAP<VARBINARY(5), INT> |  | [["+",[["01",1]]],["+",[["01",2]]]] | [["01",2]]"#,
        &format!(
            r#"{nested} | nested-key=k; nested-sequence-field=s | [["+",[[1,5,"a"],null,[1,4,"b"]]],["+",[[1,5,"c"],[2,null,"d"]]],["+",[[2,null,"e"],[1,null,"f"]]]] | [[1,5,"c"],[2,null,"e"]]"#
        ),
        &format!(
            r#"{nested} | nested-key=k; nested-sequence-field=s; count-limit=1 | [["+",[[1,5,"a"],[2,1,"x"]]],["+",[[1,6,"b"],[3,1,"y"]]]] | [[1,6,"b"]]"#
        ),
        &format!(
            r#"{nested} | nested-key=k; nested-sequence-field=s, v | [["+",[[1,5,"b"]]],["+",[[1,5,"a"]]]] | [[1,5,"b"]]"#
        ),
        &format!(
            r#"{nested} | nested-key=k; nested-key-null-strategy=ignore | [["+",[[null,5,"a"],[2,1,"x"]]],["-",[[null,5,"a"]]]] | [[2,1,"x"]]"#
        ),
        &format!(r#"{nested} | nested-key=k; nested-key-null-strategy=error | [["+",[[null,5,"a"]]]] | !"#),
        &format!(
            r#"{nested} | nested-key=k; nested-key-null-strategy=merge | [["+",[[null,5,"a"],[null,6,"b"]]]] | [[null,6,"b"]]"#
        ),
        &format!(r#"{nested} | nested-sequence-field=s | [] | !"#),
        &format!(
            r#"{partial} | nested-key=k; nested-key-null-strategy=ignore | [["+",[[1,null],[1,2],[null,3]]]] | [[1,2]]"#
        ),
        &format!(r#"{partial} | nested-key=k; nested-key-null-strategy=error | [["+",[[null,3]]]] | !"#),
        r#"rbm64 | VARBINARY(5) |  | [["+","02"],["+","00"]] | !"#,
        r#"hll_sketch | VARBINARY(5) |  | [["+","02"],["+","00"]] | !"#,
        r#"theta_sketch | VARBINARY(20) |  | [["+","0203"],["+","00000000000000000000000000000000"]] | !"#,
    ] {
        check(line);
    }
}

#[test]
fn errors_name_function_column_and_type() {
    for (name, data_type) in [("summ", "INT"), ("sum", "STRING"), ("max", "ARRAY<INT>"), ("listagg", "VARCHAR(3)")] {
        let error = function(name, data_type, "").unwrap_err().to_string();
        assert!(error.contains(&format!("'{name}'")) && error.contains("'c'"), "{error}");
        assert!(error.contains(&DataType::parse(data_type).unwrap().to_string()), "{error}");
    }
    let error = answer("max", "INT", "", r#"[["+",1],["-",1]]"#, 1).unwrap_err().to_string();
    assert!(error.contains("'max'") && error.contains("fields.c.ignore-retract"), "{error}");
}
