//! XXH64, the hash of text and bytes in Bloom filters.
//!
//! In: bytes. Out: their hash with seed 0, as the algorithm's specification has it.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// The hash of some bytes.
pub(super) fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, mut rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() { P5 } else { of_stripes(stripes) };
    hash = hash.wrapping_add(bytes.len() as u64);
    while let Some((lane, tail)) = rest.split_first_chunk::<8>() {
        hash = (hash ^ round(0, u64::from_le_bytes(*lane))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
        rest = tail;
    }
    if let Some((lane, tail)) = rest.split_first_chunk::<4>() {
        let lane = u64::from(u32::from_le_bytes(*lane)).wrapping_mul(P1);
        hash = (hash ^ lane).rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
        rest = tail;
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

fn of_stripes(stripes: &[[u8; 32]]) -> u64 {
    let mut lanes = [P1.wrapping_add(P2), P2, 0, 0u64.wrapping_sub(P1)];
    for stripe in stripes {
        for (lane, input) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = round(*lane, u64::from_le_bytes(*input));
        }
    }
    let [a, b, c, d] = lanes;
    let mixed = a.rotate_left(1).wrapping_add(b.rotate_left(7)).wrapping_add(c.rotate_left(12));
    let mixed = mixed.wrapping_add(d.rotate_left(18));
    lanes.iter().fold(mixed, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
}

fn round(lane: u64, input: u64) -> u64 {
    lane.wrapping_add(input.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        for (text, want) in [
            ("", 0xef46_db37_51d8_e999),
            ("a", 0xd24e_c4f1_a98c_6e5b),
            ("abc", 0x44bc_2cf5_ad77_0999),
            ("message digest", 0x066e_d728_fcee_b3be),
            ("abcdefghijklmnopqrstuvwxyz", 0xcfe1_f278_fa89_835c),
            ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789", 0xaaa4_6907_d304_7814),
        ] {
            assert_eq!(xxh64(text.as_bytes()), want, "{text}");
        }
    }
}
