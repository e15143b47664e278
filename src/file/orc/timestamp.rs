//! TIMESTAMP and TIMESTAMP WITH LOCAL TIME ZONE.
//!
//! In: the seconds and nanoseconds of ORC, the writer's zone. Out: Arrow timestamps in the unit of the table's type.
//!
//! ```text
//! DATA       seconds since 2015-01-01 00:00:00: of the writer's zone for `timestamp`, of UTC for an instant
//! SECONDARY  digits << 3 | z; nanoseconds = digits × 10^(z+1), or digits where z = 0
//! ```
//! The writer of a time before 1970 cuts the seconds towards zero, the nanoseconds count on from the second below: where
//! more than 999,999 of them follow negative seconds, the second is one too late. (In the last second before 1970 the
//! seconds are 0, nothing tells it from the first one after: such times stay a second too late, as in Java.) Arrow's writer
//! stores negative nanoseconds instead.
//!
//! Then a `timestamp` becomes the wall clock of the writer's zone. Java gave LTZ values to ORC as if their UTC clock were
//! the writer's (`orc.timestamp-ltz.legacy.type`): then the wall clock of the writer's zone is what was UTC. Files from
//! before ORC had instants have LTZ as `timestamp`, always in that way.

use arrow::array::{ArrayRef, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{
    ArrowTimestampType, DataType as ArrowType, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use std::sync::Arc;

use super::byte_rle::Present;
use super::decode::{Decode, spread};
use super::int_rle::Integers;
use super::projection::{Node, NodeKind};
use super::stripe::{StreamKind, Stripe};
use super::zone::{Clock, ORC_EPOCH, Zone};
use crate::error::{Error, Result};

const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Decodes a column of timestamps.
pub(super) struct Timestamps {
    present: Present,
    seconds: Integers,
    nanos: Integers,
    conversion: Conversion,
    unit: TimeUnit,
    zone: Option<Arc<str>>,
}

impl Timestamps {
    pub(super) fn new(node: &Node, stripe: &mut Stripe, legacy_ltz: bool) -> Result<Self> {
        let ArrowType::Timestamp(unit, zone) = &node.arrow else {
            return Err(Error::internal("a timestamp is wanted as another type"));
        };
        let conversion = match node.kind {
            NodeKind::Timestamp => Conversion::local(stripe.zone()?),
            _ if legacy_ltz => Conversion::legacy_instant(stripe.zone()?),
            _ => Conversion::instant(),
        };
        let version_2 = stripe.encoding(node.column)?.version_2;
        Ok(Self {
            present: Present::new(stripe.take(node.column, StreamKind::Present)?),
            seconds: Integers::new(stripe.take_or_empty(node.column, StreamKind::Data)?, version_2, true),
            nanos: Integers::new(stripe.take_or_empty(node.column, StreamKind::Secondary)?, version_2, false),
            conversion,
            unit: *unit,
            zone: zone.clone(),
        })
    }

    fn array<T: ArrowTimestampType>(
        &self,
        values: Vec<i64>,
        rows: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef> {
        let array: PrimitiveArray<T> = spread(values, rows, nulls)?;
        Ok(Arc::new(array.with_timezone_opt(self.zone.clone())))
    }
}

impl Decode for Timestamps {
    fn next(&mut self, rows: usize, parent: Option<&NullBuffer>) -> Result<ArrayRef> {
        let (nulls, count) = self.present.read(rows, parent)?;
        let (mut values, mut nanos) = (vec![], vec![]);
        self.seconds.read(count, &mut values)?;
        self.nanos.read(count, &mut nanos)?;
        let per_second = units_per_second(self.unit);
        for (value, nanos) in values.iter_mut().zip(&nanos) {
            *value = self.conversion.convert(*value, *nanos, per_second)?;
        }
        match self.unit {
            TimeUnit::Second => self.array::<TimestampSecondType>(values, rows, nulls),
            TimeUnit::Millisecond => self.array::<TimestampMillisecondType>(values, rows, nulls),
            TimeUnit::Microsecond => self.array::<TimestampMicrosecondType>(values, rows, nulls),
            TimeUnit::Nanosecond => self.array::<TimestampNanosecondType>(values, rows, nulls),
        }
    }
}

fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => NANOS_PER_SECOND,
    }
}

/// From ORC's numbers to a time since 1970.
struct Conversion {
    /// From where the seconds count, in seconds since 1970.
    epoch: i64,
    /// The clock on which the time is read; `None` = UTC.
    clock: Option<Clock>,
}

impl Conversion {
    fn local(zone: Zone) -> Self {
        Self { epoch: zone.orc_epoch(), clock: clock(zone) }
    }

    fn legacy_instant(zone: Zone) -> Self {
        Self { epoch: ORC_EPOCH, clock: clock(zone) }
    }

    fn instant() -> Self {
        Self { epoch: ORC_EPOCH, clock: None }
    }

    #[inline]
    fn convert(&mut self, seconds: i64, encoded_nanos: i64, per_second: i64) -> Result<i64> {
        let nanos = decode_nanos(encoded_nanos)
            .ok_or_else(|| Error::corrupt(format!("{encoded_nanos} as the nanoseconds of a timestamp")))?;
        let time = self.wall_seconds(seconds, nanos).and_then(|seconds| {
            let fraction = nanos.div_euclid(NANOS_PER_SECOND / per_second);
            scale(seconds, per_second, fraction)
        });
        time.ok_or_else(|| {
            let message =
                format!("a timestamp of {seconds} seconds from 2015 does not fit into 64 bits of 1/{per_second} s");
            Error::unsupported(message)
        })
    }

    #[inline]
    fn wall_seconds(&mut self, seconds: i64, nanos: i64) -> Option<i64> {
        let seconds = seconds.checked_add(self.epoch)?;
        let seconds = if seconds < 0 && nanos > 999_999 { seconds.checked_sub(1)? } else { seconds };
        match &mut self.clock {
            Some(clock) => clock.wall(seconds),
            None => Some(seconds),
        }
    }
}

/// `seconds × per_second + fraction`, of which only the result must fit.
#[inline]
fn scale(seconds: i64, per_second: i64, fraction: i64) -> Option<i64> {
    match seconds.checked_mul(per_second) {
        Some(units) => units.checked_add(fraction),
        None => i64::try_from(i128::from(seconds) * i128::from(per_second) + i128::from(fraction)).ok(),
    }
}

fn clock(zone: Zone) -> Option<Clock> {
    (zone != Zone::Fixed(0)).then(|| Clock::new(zone))
}

/// Nanoseconds out of their encoding: less than a second of them, of either sign.
#[inline]
fn decode_nanos(encoded: i64) -> Option<i64> {
    const FACTORS: [i64; 8] = [1, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    let nanos = (encoded >> 3).checked_mul(*FACTORS.get((encoded & 7) as usize)?)?;
    (-NANOS_PER_SECOND < nanos && nanos < NANOS_PER_SECOND).then_some(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn epoch_seconds(text: &str) -> i64 {
        chrono::NaiveDateTime::parse_from_str(text, "%Y-%m-%d %H:%M:%S").unwrap().and_utc().timestamp()
    }

    fn zone(name: &str) -> Zone {
        Zone::parse(name).unwrap()
    }

    #[test]
    fn nanoseconds_without_their_zeros() {
        for (encoded, want) in [
            (0, Some(0)),
            (5 << 3, Some(5)),
            (1 << 3 | 1, Some(100)),
            (1 << 3 | 5, Some(1_000_000)),
            (999_999_999 << 3, Some(999_999_999)),
            (-5 << 3 | 7, Some(-500_000_000)),
            (10 << 3 | 7, None),
            (i64::MAX, None),
            (i64::MIN, None),
        ] {
            assert_eq!(decode_nanos(encoded), want, "{encoded}");
        }
    }

    /// What Java writes for a time: seconds cut towards zero, nanoseconds counted from the second below.
    fn written(epoch: i64, nanos: i128) -> (i64, i64) {
        let millis = nanos.div_euclid(1_000_000) as i64;
        let fraction = nanos.rem_euclid(1_000_000_000) as i64;
        (millis / 1000 - epoch, fraction << 3)
    }

    #[test]
    fn times_before_1970_are_not_a_second_late_but_for_the_last_one() {
        for (nanos, want) in [
            (0i128, 0i128),
            (1_500_000_000, 1_500_000_000),
            (-1_000_000_000, -1_000_000_000),
            (-1_500_000_000, -1_500_000_000),
            (-1_999_000_000, -1_999_000_000),
            (-86_400_000_000_000, -86_400_000_000_000),
            // Nothing tells it from the second after.
            (-1_000_000, 999_000_000),
        ] {
            let (seconds, fraction) = written(ORC_EPOCH, nanos);
            let got = Conversion::instant().convert(seconds, fraction, NANOS_PER_SECOND).unwrap();
            assert_eq!(i128::from(got), want, "{nanos}");
        }
        // Arrow's writer: -1.5 s is -1 s and -500,000,000 ns.
        let got = Conversion::instant().convert(-1 - ORC_EPOCH, -5 << 3 | 7, 1000).unwrap();
        assert_eq!(got, -1500);
    }

    #[test]
    fn the_unit_is_rounded_down_and_only_nanoseconds_run_out() {
        let mut instant = Conversion::instant();
        assert_eq!(instant.convert(-2 - ORC_EPOCH, 999_999_999 << 3, 1).unwrap(), -3);
        assert_eq!(instant.convert(-2 - ORC_EPOCH, 999_999_999 << 3, 1000).unwrap(), -2001);
        let year_9999 = epoch_seconds("9999-12-31 23:59:59") - ORC_EPOCH;
        assert!(instant.convert(year_9999, 0, 1_000_000).is_ok());
        assert!(instant.convert(year_9999, 0, NANOS_PER_SECOND).is_err());
        assert!(instant.convert(i64::MAX, 0, 1).is_err());
        assert!(instant.convert(i64::MIN, 0, NANOS_PER_SECOND).is_err());
    }

    #[test]
    fn zones_shift_timestamps_and_legacy_instants() {
        for (name, wall) in [
            ("UTC", "2024-02-29 12:00:01"),
            ("Asia/Shanghai", "2024-02-29 12:00:01"),
            ("Asia/Shanghai", "1970-01-01 00:00:00"),
            ("America/New_York", "2024-07-01 00:00:00"),
            ("GMT-03:30", "1969-12-31 23:00:00"),
        ] {
            let (zone, wall) = (zone(name), epoch_seconds(wall));
            let instant = wall - zone.offset_at(wall - zone.offset_at(wall));
            let (seconds, _) = written(zone.orc_epoch(), i128::from(instant) * 1_000_000_000);
            assert_eq!(Conversion::local(zone).convert(seconds, 0, 1).unwrap(), wall, "{name}");
            let (seconds, _) = written(ORC_EPOCH, i128::from(instant) * 1_000_000_000);
            assert_eq!(Conversion::legacy_instant(zone).convert(seconds, 0, 1).unwrap(), wall, "{name}");
            assert_eq!(Conversion::instant().convert(seconds, 0, 1).unwrap(), instant, "{name}");
        }
    }

    proptest! {
        #[test]
        fn no_numbers_panic(seconds: i64, nanos: i64, unit in prop_oneof![Just(1i64), Just(1000), Just(1_000_000), Just(NANOS_PER_SECOND)]) {
            for zone in [zone("UTC"), zone("Asia/Shanghai")] {
                let _ = Conversion::local(zone).convert(seconds, nanos, unit);
                let _ = Conversion::legacy_instant(zone).convert(seconds, nanos % 8_000_000_000, unit);
            }
        }

        #[test]
        fn what_java_writes_is_read(nanos in -4_000_000_000_000_000_000i64..4_000_000_000_000_000_000) {
            let (seconds, fraction) = written(ORC_EPOCH, i128::from(nanos));
            // From 999,999 ns on a negative second is known; below, Java's writer cuts nothing off.
            let lost = (-1_000_000_000..0).contains(&nanos);
            let early = nanos < 0 && nanos.rem_euclid(1_000_000_000) <= 999_999 && nanos % 1_000_000_000 != 0;
            if !lost && !early {
                prop_assert_eq!(Conversion::instant().convert(seconds, fraction, NANOS_PER_SECOND).unwrap(), nanos);
            }
        }
    }
}
