//! One seed for a run; an independent stream for each user and purpose.

/// The finaliser of `SplitMix64`: a bijection on 64 bits whose output bits each depend on every input bit.
///
/// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
#[must_use]
pub const fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The seed of stream `stream` of a run seeded with `seed`.
///
/// Streams are numbered by user, so what one user does never depends on how many threads run the
/// users, nor on what other users do.
#[must_use]
pub const fn stream(seed: u64, stream: u64) -> u64 {
    mix(mix(seed) ^ mix(stream.wrapping_mul(0xD6E8_FEB8_6659_FD93)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn streams_of_near_seeds_do_not_collide() {
        let all: HashSet<u64> =
            (0..100).flat_map(|s| (0..1_000).map(move |u| stream(s, u))).collect();
        assert_eq!(all.len(), 100_000);
    }
}
