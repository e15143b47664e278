//! Text as Java prints values: floating point numbers, decimals, dates and times.
//!
//! In: a value. Out: what `Double.toString`, `BigDecimal.toPlainString`, `LocalDateTime.toString` and Paimon's own date
//! formats give. Names of partition folders and casts to text are made of it. Floating point numbers are printed as
//! Java up to 18 does it, the reference's; Java 19 and later print fewer digits of some ([`shortest_double`]).

mod digits;

use std::fmt::{LowerExp, Write};

use digits::{Binary, Digits};

/// `Float.toString` up to Java 18.
pub fn float_to_string(value: f32) -> String {
    special(value.into()).unwrap_or_else(|| floating(value.is_sign_negative(), &Binary::from(value).digits()))
}

/// `Double.toString` up to Java 18.
pub fn double_to_string(value: f64) -> String {
    special(value).unwrap_or_else(|| floating(value.is_sign_negative(), &Binary::from(value).digits()))
}

/// `Float.toString` of Java 19 and later.
pub fn shortest_float(value: f32) -> String {
    special(value.into()).unwrap_or_else(|| floating(value.is_sign_negative(), &shortest(&value.abs())))
}

/// `Double.toString` of Java 19 and later.
pub fn shortest_double(value: f64) -> String {
    special(value).unwrap_or_else(|| floating(value.is_sign_negative(), &shortest(&value.abs())))
}

fn special(value: f64) -> Option<String> {
    let text = match value {
        v if v.is_nan() => "NaN",
        f64::INFINITY => "Infinity",
        f64::NEG_INFINITY => "-Infinity",
        0.0 if value.is_sign_negative() => "-0.0",
        0.0 => "0.0",
        _ => return None,
    };
    Some(text.to_owned())
}

/// Plain notation from 10^-3 up to 10^7, else one digit, a point, and an exponent.
fn floating(negative: bool, number: &Digits) -> String {
    let digits: String = number.digits.iter().map(|d| char::from(b'0' + d)).collect();
    let mut out = String::with_capacity(26);
    out.push_str(if negative { "-" } else { "" });
    if (-3..7).contains(&number.exponent) {
        plain(&mut out, &digits, number.exponent);
    } else {
        let (first, rest) = digits.split_at_checked(1).unwrap_or_default();
        let rest = if rest.is_empty() { "0" } else { rest };
        let _ = write!(out, "{first}.{rest}E{}", number.exponent);
    }
    out
}

/// The fewest digits that read back as the number.
fn shortest<F: LowerExp>(value: &F) -> Digits {
    let mut text = format!("{value:e}");
    if !text.contains('.') {
        // Java takes the nearest number of two digits where one digit would do: 4.9E-324, not 5.0E-324.
        text = format!("{value:.1e}");
    }
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits = mantissa.trim_end_matches('0').bytes().filter(u8::is_ascii_digit).map(|d| d - b'0').collect();
    Digits { digits, exponent: exponent.parse().unwrap_or(0) }
}

fn plain(out: &mut String, digits: &str, exponent: i32) {
    let Ok(point) = usize::try_from(exponent + 1) else {
        let zeros = exponent.unsigned_abs() as usize - 1;
        let _ = write!(out, "0.{:0<zeros$}{digits}", "");
        return;
    };
    let _ = match digits.split_at_checked(point) {
        Some(("", fraction)) => write!(out, "0.{fraction}"),
        Some((whole, "")) => write!(out, "{whole}.0"),
        Some((whole, fraction)) => write!(out, "{whole}.{fraction}"),
        None => write!(out, "{digits:0<point$}.0"),
    };
}

/// `BigDecimal.toPlainString`: all digits of the scale.
pub fn decimal_to_string(unscaled: i128, scale: u8) -> String {
    let sign = if unscaled < 0 { "-" } else { "" };
    let scale = usize::from(scale);
    let digits = format!("{:0>width$}", unscaled.unsigned_abs(), width = scale + 1);
    match digits.split_at_checked(digits.len() - scale) {
        Some((whole, fraction)) if scale > 0 => format!("{sign}{whole}.{fraction}"),
        _ => format!("{sign}{digits}"),
    }
}

/// Year, month and day of a day since 1970-01-01.
fn civil(epoch_day: i64) -> (i64, i64, i64) {
    // Years that begin in March put the leap day last; 400 of them have 146 097 days.
    let shifted = i128::from(epoch_day) + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + i128::from(month <= 2);
    (year as i64, month as i64, day as i64)
}

/// `LocalDateTime.toString` of milliseconds since 1970: parts that are zero are left out from the seconds on.
pub fn iso_local_date_time(millis: i64, nano_of_milli: i32) -> String {
    let (year, month, day) = civil(millis.div_euclid(86_400_000));
    let of_day = millis.rem_euclid(86_400_000);
    let mut out = String::with_capacity(29);
    let _ = match year {
        0..=9999 => write!(out, "{year:04}"),
        10_000.. => write!(out, "+{year}"),
        _ => write!(out, "-{:04}", year.unsigned_abs()),
    };
    let _ = write!(out, "-{month:02}-{day:02}T{:02}:{:02}", of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, nano) = (of_day / 1000 % 60, of_day % 1000 * 1_000_000 + i64::from(nano_of_milli));
    if second > 0 || nano > 0 {
        let _ = write!(out, ":{second:02}");
    }
    let _ = match nano {
        0 => Ok(()),
        n if n % 1_000_000 == 0 => write!(out, ".{:03}", n / 1_000_000),
        n if n % 1000 == 0 => write!(out, ".{:06}", n / 1000),
        n => write!(out, ".{n:09}"),
    };
    out
}

/// A date as Paimon casts it to text: `yyyy-MM-dd`.
pub fn date_to_string(epoch_day: i64) -> String {
    let (year, month, day) = civil(epoch_day);
    let mut out = String::with_capacity(10);
    for power in [1000, 100, 10, 1] {
        // Java adds the digit to '0', and its remainder is negative for negative years.
        out.push(char::from((i64::from(b'0') + year / power % 10) as u8));
    }
    let _ = write!(out, "-{month:02}-{day:02}");
    out
}

/// A timestamp as Paimon casts it to text: `yyyy-MM-dd HH:mm:ss`, and at least `precision` fractional digits.
pub fn timestamp_to_string(millis: i64, nano_of_milli: i32, precision: u8) -> String {
    let mut out = date_to_string(millis.div_euclid(86_400_000));
    let of_day = millis.rem_euclid(86_400_000);
    let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
    let _ = write!(out, " {hour:02}:{minute:02}:{second:02}");
    let fraction = format!("{:09}", of_day % 1000 * 1_000_000 + i64::from(nano_of_milli));
    let needed = fraction.trim_end_matches('0').len().max(usize::from(precision));
    if let Some(fraction) = fraction.get(..needed).filter(|f| !f.is_empty()) {
        let _ = write!(out, ".{fraction}");
    }
    out
}

/// A time as Paimon casts it to text: `HH:mm:ss`, and up to `precision` fractional digits, at least one unless the
/// precision is 0.
pub fn time_to_string(millis_of_day: i32, precision: u8) -> String {
    let millis = i64::from(millis_of_day);
    let (hour, minute, second) = (millis / 3_600_000, millis / 60_000 % 60, millis / 1000 % 60);
    let mut out = format!("{hour:02}:{minute:02}:{second:02}");
    let fraction = format!("{:03}", (millis % 1000).unsigned_abs());
    let fraction = fraction.get(..usize::from(precision).min(3)).unwrap_or_default();
    let significant = fraction.trim_end_matches('0').len().max(1);
    if let Some(fraction) = fraction.get(..significant) {
        let _ = write!(out, ".{fraction}");
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers, and how Java up to 18 and Java from 19 on print them.
    const DOUBLES: &[(f64, &str, &str)] = &[
        (0.0, "0.0", "0.0"),
        (-0.0, "-0.0", "-0.0"),
        (1.0, "1.0", "1.0"),
        (-1.5, "-1.5", "-1.5"),
        (100.0, "100.0", "100.0"),
        (1_234_567.125, "1234567.125", "1234567.125"),
        (9_999_999.0, "9999999.0", "9999999.0"),
        (1e7, "1.0E7", "1.0E7"),
        (12_345_678.9, "1.23456789E7", "1.23456789E7"),
        (1e10, "1.0E10", "1.0E10"),
        (0.1, "0.1", "0.1"),
        (0.012, "0.012", "0.012"),
        (1e-3, "0.001", "0.001"),
        (2e-3, "0.002", "0.002"),
        (9.999e-4, "9.999E-4", "9.999E-4"),
        (1e-5, "1.0E-5", "1.0E-5"),
        (1e23, "9.999999999999999E22", "1.0E23"),
        (-167_507_382_944_086_336.0, "-1.67507382944086336E17", "-1.6750738294408634E17"),
        (123_456_789_012_345_680.0, "1.2345678901234568E17", "1.2345678901234568E17"),
        (f64::MIN_POSITIVE, "2.2250738585072014E-308", "2.2250738585072014E-308"),
        (f64::MAX, "1.7976931348623157E308", "1.7976931348623157E308"),
        (5e-324, "4.9E-324", "4.9E-324"),
        (1e-323, "1.0E-323", "9.9E-324"),
        (f64::NAN, "NaN", "NaN"),
        (f64::INFINITY, "Infinity", "Infinity"),
        (f64::NEG_INFINITY, "-Infinity", "-Infinity"),
    ];

    #[test]
    fn floating_point_numbers_print_as_in_java() {
        for (value, old, new) in DOUBLES {
            assert_eq!((double_to_string(*value).as_str(), shortest_double(*value).as_str()), (*old, *new));
        }
        for (value, old, new) in [
            (1e10f32, "1.0E10", "1.0E10"),
            (123_456.7, "123456.7", "123456.7"),
            (2.088_601e9, "2.08860096E9", "2.088601E9"),
            (-6.234_953e17, "-6.2349532E17", "-6.234953E17"),
            (f32::MAX, "3.4028235E38", "3.4028235E38"),
            (f32::from_bits(1), "1.4E-45", "1.4E-45"),
            (1.1, "1.1", "1.1"),
        ] {
            assert_eq!((float_to_string(value).as_str(), shortest_float(value).as_str()), (old, new));
        }
    }

    #[test]
    fn decimals_keep_their_scale() {
        for (unscaled, scale, want) in
            [(0, 0, "0"), (0, 2, "0.00"), (-5, 2, "-0.05"), (110, 2, "1.10"), (7, 0, "7"), (-123, 1, "-12.3")]
        {
            assert_eq!(decimal_to_string(unscaled, scale), want);
        }
        assert_eq!(decimal_to_string(i128::MIN, 38), "-1.70141183460469231731687303715884105728");
    }

    #[test]
    fn dates_and_times_print_as_in_java() {
        for (millis, nanos, iso, text) in [
            (0, 0, "1970-01-01T00:00", "1970-01-01 00:00:00.000"),
            (1000, 0, "1970-01-01T00:00:01", "1970-01-01 00:00:01.000"),
            (-1, 0, "1969-12-31T23:59:59.999", "1969-12-31 23:59:59.999"),
            (1_709_164_800_100, 0, "2024-02-29T00:00:00.100", "2024-02-29 00:00:00.100"),
            (0, 120_000, "1970-01-01T00:00:00.000120", "1970-01-01 00:00:00.00012"),
            (0, 1, "1970-01-01T00:00:00.000000001", "1970-01-01 00:00:00.000000001"),
            (-62_167_219_201_000, 0, "-0001-12-31T23:59:59", "000/-12-31 23:59:59.000"),
            (253_402_300_800_001, 0, "+10000-01-01T00:00:00.001", "0000-01-01 00:00:00.001"),
            (99_999_999_999_999_999, 0, "+3170843-11-07T09:46:39.999", "0843-11-07 09:46:39.999"),
        ] {
            assert_eq!(iso_local_date_time(millis, nanos), iso);
            assert_eq!(timestamp_to_string(millis, nanos, 3), text);
        }
        assert_eq!(timestamp_to_string(0, 0, 0), "1970-01-01 00:00:00");
        for (millis, precision, want) in [
            (12_345_678, 9, "03:25:45.678"),
            (3_474_054, 0, "00:57:54"),
            (49_897_000, 3, "13:51:37.0"),
            (40_674_840, 3, "11:17:54.84"),
            (40_674_048, 2, "11:17:54.04"),
        ] {
            assert_eq!(time_to_string(millis, precision), want);
        }
    }

    proptest! {
        #[test]
        fn any_number_reads_back(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            for text in [double_to_string(value), shortest_double(value)] {
                prop_assert!(text.parse::<f64>().unwrap().to_bits() == bits || value.is_nan());
            }
            let small = f32::from_bits(bits as u32);
            for text in [float_to_string(small), shortest_float(small)] {
                prop_assert!(text.parse::<f32>().unwrap().to_bits() == bits as u32 || small.is_nan());
            }
        }

        #[test]
        fn no_moment_panics(millis in any::<i64>(), day in any::<i64>(), time in any::<i32>(), p in any::<u8>()) {
            let _ = (iso_local_date_time(millis, 999_999), date_to_string(day), time_to_string(time, p));
            let _ = timestamp_to_string(millis, 0, p.min(9));
        }
    }
}
