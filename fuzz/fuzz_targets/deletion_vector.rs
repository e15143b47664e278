//! A deletion vector of either version. It has as many positions as it says.
#![no_main]

use datafusion_paimon::spec::deletion_vector::DeletionVector;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    drop(DeletionVector::check_version(data));
    // An index file's first byte is its version, 1.
    let Some((cut, bytes)) = data.split_first() else { return };
    let length = (bytes.len() as u64).saturating_sub(u64::from(cut.wrapping_sub(1) % 16));
    let Ok(vector) = DeletionVector::decode(bytes, length) else { return };
    assert_eq!(vector.iter().take(1 << 16).count() as u64, vector.cardinality().min(1 << 16));
    drop(vector.live_rows(0..1000));
});
