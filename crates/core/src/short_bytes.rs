//! Copies and compares the bytes of pretokens, most of which are short, 16 or 32 at a time; the last register can
//! overlap the one before. A call of `memcpy` or `memcmp` would take longer than the work.

/// Copies `from` to the start of `to`, which is at least as long.
#[inline(always)]
pub(crate) fn copy(from: &[u8], to: &mut [u8]) {
    let to = &mut to[..from.len()];
    match from.len() {
        16..=32 => copy_ends::<16>(from, to),
        33..=64 => copy_ends::<32>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes of `from` to `to`, which has the same length, at least `N`.
#[inline(always)]
fn copy_ends<const N: usize>(from: &[u8], to: &mut [u8]) {
    if let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) {
        if let Some(to) = to.first_chunk_mut() {
            *to = *first;
        }
        if let Some(to) = to.last_chunk_mut() {
            *to = *last;
        }
    }
}

/// Returns whether two slices of equal length are equal.
#[inline(always)]
pub(crate) fn are_equal(a: &[u8], b: &[u8]) -> bool {
    match (a.last_chunk::<16>(), b.last_chunk::<16>()) {
        (Some(a_last), Some(b_last)) => {
            let mut chunks = a.as_chunks::<16>().0.iter().zip(b.as_chunks::<16>().0);
            chunks.all(|(a, b)| a == b) && a_last == b_last
        }
        _ => a.is_empty() || a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_each_length_are_copied_and_compared() {
        let from: Vec<u8> = (1..=200).collect();
        for n in 0..=from.len() {
            let mut to = [0; 201];
            copy(&from[..n], &mut to);
            assert_eq!((&to[..n], &to[n..]), (&from[..n], &[0; 201][n..]));
            assert!(are_equal(&from[..n], &to[..n]));
            for index in 0..n {
                to[index] += 1;
                assert!(!are_equal(&from[..n], &to[..n]), "byte {index} of {n}");
                to[index] -= 1;
            }
        }
    }
}
