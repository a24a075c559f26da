//! Pretokens as 16-byte keys of hash tables.
//!
//! The key of a pretoken of 1 to [`MAX_BYTES`] bytes is its bytes, padded with 0xff, which no UTF-8 text contains. So
//! equal keys mean equal pretokens, and comparing two keys follows no pointer. The last byte is always padding, so
//! tables can use its bits as flags. Making a key is a load and an OR with a mask from a table, on every processor.
//!
//! Hashes are three rounds of AES or, without AES, a folded multiplication (as in wyhash). Each [`KeyHasher`] has new
//! random seeds, so nobody can prepare a text whose pretokens collide. Two rounds would not prevent that: for keys
//! that differ only in bytes 3, 4, 9 and 14, each four bytes of the hash depend on one byte of the previous round, so
//! 32 bits of the hash have only 256 values. No result depends on the seeds.

use std::hash::{BuildHasher, RandomState};

use crate::cpu::CpuTier;

/// The length of the longest pretoken that can be its own key.
pub(crate) const MAX_BYTES: usize = 15;

/// The number of bytes that loading a key reads, whatever the length of the pretoken.
pub(crate) const LOAD_BYTES: usize = 16;

/// Fills a key after the bytes of the pretoken.
const PADDING: u8 = 0xff;

/// The key of a short pretoken: its bytes in memory order, as two little-endian numbers, `lo` first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub(crate) struct PretokenKey {
    pub(crate) lo: u64,
    pub(crate) hi: u64,
}

/// The [`LOAD_BYTES`] bytes from index p on pad a pretoken that needs p bytes of padding.
static PADDINGS: [u8; 2 * LOAD_BYTES] = {
    let mut paddings = [0; 2 * LOAD_BYTES];
    let mut index = LOAD_BYTES;
    while index < 2 * LOAD_BYTES {
        paddings[index] = PADDING;
        index += 1;
    }
    paddings
};

impl PretokenKey {
    /// Not the key of any pretoken.
    pub(crate) const EMPTY: PretokenKey = PretokenKey { lo: 0, hi: 0 };

    /// Loads the key of the pretoken at `start`, which is `n_padding` bytes shorter than a key.
    ///
    /// # Safety
    /// [`LOAD_BYTES`] bytes must be readable at `start`, and `n_padding` must be at most [`LOAD_BYTES`].
    #[inline(always)]
    pub(crate) unsafe fn load(start: *const u8, n_padding: usize) -> PretokenKey {
        debug_assert!(n_padding <= LOAD_BYTES);
        // SAFETY: The caller vouches for 16 readable bytes at `start`; PADDINGS has 16 bytes at each index 0..=16.
        let (bytes, padding) = unsafe {
            let padding = PADDINGS.as_ptr().add(n_padding);
            (start.cast::<[[u8; 8]; 2]>().read_unaligned(), padding.cast::<[[u8; 8]; 2]>().read_unaligned())
        };
        let [lo, hi] = bytes.map(u64::from_le_bytes);
        let [padding_lo, padding_hi] = padding.map(u64::from_le_bytes);
        PretokenKey { lo: lo | padding_lo, hi: hi | padding_hi }
    }

    /// [`load`](Self::load) into `key`, which also stays in a register: reading back as a whole what was written in
    /// halves would wait for the stores.
    ///
    /// # Safety
    /// As for `load`.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn load_vector(
        start: *const u8,
        n_padding: usize,
        key: &mut PretokenKey,
    ) -> std::arch::x86_64::__m128i {
        use std::arch::x86_64::*;
        debug_assert!(n_padding <= LOAD_BYTES);
        // SAFETY: Every x86-64 processor has SSE2. The caller vouches for 16 readable bytes at `start`; PADDINGS has
        // 16 bytes at each index 0..=16; `key` has 16 bytes, aligned to 16.
        unsafe {
            let padding = _mm_loadu_si128(PADDINGS.as_ptr().wrapping_add(n_padding).cast());
            let bytes = _mm_or_si128(_mm_loadu_si128(start.cast()), padding);
            _mm_store_si128(std::ptr::from_mut(key).cast(), bytes);
            bytes
        }
    }

    /// Whether a pretoken with this last byte can be its own key. Any UTF-8 can; bytes that end like the padding would
    /// have the key of a shorter pretoken.
    #[inline(always)]
    pub(crate) fn can_end_in(byte: u8) -> bool {
        byte != PADDING
    }

    /// Returns the key of a pretoken that is short enough and whose last byte [`can_end_in`](Self::can_end_in).
    pub(crate) fn from_short(pretoken: &[u8]) -> Option<PretokenKey> {
        let n_bytes = pretoken.len();
        if n_bytes > MAX_BYTES || !pretoken.last().copied().is_some_and(PretokenKey::can_end_in) {
            return None;
        }
        let mut padded = [0; LOAD_BYTES];
        padded[..n_bytes].copy_from_slice(pretoken);
        // SAFETY: `padded` has 16 bytes.
        Some(unsafe { PretokenKey::load(padded.as_ptr(), LOAD_BYTES - n_bytes) })
    }

    /// Compares without a branch. The derived comparison branches after the first half, which is mispredicted half the
    /// time if two keys share a set.
    #[inline(always)]
    pub(crate) fn equals(self, other: PretokenKey) -> bool {
        (self.lo ^ other.lo) | (self.hi ^ other.hi) == 0
    }

    /// Returns the pretoken and its padding.
    pub(crate) fn padded(self) -> [u8; LOAD_BYTES] {
        (u128::from(self.hi) << 64 | u128::from(self.lo)).to_le_bytes()
    }

    /// Returns the length of the pretoken in bytes.
    pub(crate) fn n_bytes(self) -> usize {
        LOAD_BYTES - ((u128::from(self.hi) << 64 | u128::from(self.lo)).leading_ones() / 8) as usize
    }
}

/// A seeded hash function of keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyHasher {
    seeds: [u64; 4],
    tier: CpuTier,
}

impl KeyHasher {
    /// Creates a hasher with new seeds and the instructions of `tier`, which the processor must have.
    pub(crate) fn new(tier: CpuTier) -> Self {
        let state = RandomState::new();
        KeyHasher { seeds: [0u64, 1, 2, 3].map(|number| state.hash_one(number)), tier }
    }

    /// Returns the tier, which the processor was checked to have.
    #[inline(always)]
    pub(crate) fn tier(self) -> CpuTier {
        self.tier
    }

    /// Returns the hash of a key.
    #[inline]
    pub(crate) fn hash(self, key: PretokenKey) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if self.tier.has_avx2() {
            // SAFETY: The tier has AES.
            return unsafe { Aes::hash(self, &key) };
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if self.tier == CpuTier::Neon {
            // SAFETY: The tier has AES.
            return unsafe { ArmAes::hash(self, &key) };
        }
        self.folded(key)
    }

    #[inline(always)]
    fn folded(self, key: PretokenKey) -> u64 {
        fold(key.lo ^ self.seeds[0], key.hi ^ self.seeds[1])
    }

    /// Returns the hash of bytes of any length: of their blocks of 16, then of their last 16.
    #[inline(always)]
    pub(crate) fn hash_bytes(self, bytes: &[u8]) -> u64 {
        match (bytes.first_chunk(), bytes.last_chunk()) {
            // Most long pretokens are shorter than 32 bytes.
            (Some(first), Some(last)) if bytes.len() < 32 => {
                self.hash_block(self.hash_block(self.seeds[0] ^ bytes.len() as u64, first), last)
            }
            _ => self.hash_blocks(bytes),
        }
    }

    /// [`hash_bytes`](Self::hash_bytes) for any length.
    fn hash_blocks(self, bytes: &[u8]) -> u64 {
        let (blocks, _) = bytes.as_chunks::<16>();
        let mut short = [0; 16];
        let last = bytes.last_chunk::<16>().unwrap_or_else(|| {
            short[..bytes.len()].copy_from_slice(bytes);
            &short
        });
        let hash = self.seeds[0] ^ bytes.len() as u64;
        blocks.iter().chain([last]).fold(hash, |hash, block| self.hash_block(hash, block))
    }

    /// Extends a hash by a block.
    #[inline(always)]
    fn hash_block(self, hash: u64, block: &[u8; 16]) -> u64 {
        let block = u128::from_le_bytes(*block);
        fold(block as u64 ^ hash, (block >> 64) as u64 ^ self.seeds[1])
    }

    /// Returns the seeds: one to mix into a key before the multiplication or the AES rounds, and one for each round.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn seed_vectors(&self) -> (std::arch::x86_64::__m128i, std::arch::x86_64::__m128i) {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128};

        let seeds = self.seeds.as_ptr().cast::<__m128i>();
        // SAFETY: Every x86-64 processor has SSE2; the seeds have 32 bytes.
        unsafe { (_mm_loadu_si128(seeds), _mm_loadu_si128(seeds.add(1))) }
    }
}

/// Folds both halves of a product: a mixing step of the wyhash family.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Hashes keys in a loop, with the instructions of some tier.
pub(crate) trait HashKey {
    /// [`KeyHasher::hash`].
    ///
    /// # Safety
    /// The processor must have the instructions, and the hasher's tier must be theirs.
    unsafe fn hash(hasher: KeyHasher, key: &PretokenKey) -> u64;

    /// Loads a key into `key` ([`PretokenKey::load`]); returns its hash.
    ///
    /// # Safety
    /// As for [`hash`](Self::hash) and [`PretokenKey::load`].
    #[inline(always)]
    unsafe fn load(hasher: KeyHasher, start: *const u8, n_padding: usize, key: &mut PretokenKey) -> u64 {
        // SAFETY: The caller promises the same.
        unsafe {
            *key = PretokenKey::load(start, n_padding);
            Self::hash(hasher, key)
        }
    }
}

/// The [`HashKey`] of each tier.
pub(crate) mod hashes {
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    pub(crate) use super::ArmAes as Neon;
    pub(crate) use super::Folded as Portable;
    #[cfg(target_arch = "x86_64")]
    pub(crate) use super::{Aes as Avx2, Aes as Avx512};
}

/// Hashes by a folded multiplication.
pub(crate) struct Folded;

impl HashKey for Folded {
    #[inline(always)]
    unsafe fn hash(hasher: KeyHasher, key: &PretokenKey) -> u64 {
        hasher.folded(*key)
    }

    /// Mixes the seeds into both halves at once.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn load(hasher: KeyHasher, start: *const u8, n_padding: usize, key: &mut PretokenKey) -> u64 {
        use std::arch::x86_64::*;
        let (seeds, _) = hasher.seed_vectors();
        // SAFETY: Every x86-64 processor has SSE2; the caller promises the rest.
        unsafe {
            let mixed = _mm_xor_si128(PretokenKey::load_vector(start, n_padding, key), seeds);
            let high = _mm_unpackhi_epi64(mixed, mixed);
            fold(_mm_cvtsi128_si64(mixed) as u64, _mm_cvtsi128_si64(high) as u64)
        }
    }
}

/// Hashes by three rounds of AES.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Aes;

#[cfg(target_arch = "x86_64")]
impl Aes {
    #[inline]
    #[target_feature(enable = "sse2,aes")]
    fn mixed(hasher: KeyHasher, key: std::arch::x86_64::__m128i) -> u64 {
        use std::arch::x86_64::*;
        let (first, second) = hasher.seed_vectors();
        let once = _mm_aesenc_si128(_mm_xor_si128(key, first), second);
        let twice = _mm_aesenc_si128(once, second);
        _mm_cvtsi128_si64(_mm_aesenc_si128(twice, second)) as u64
    }
}

#[cfg(target_arch = "x86_64")]
impl HashKey for Aes {
    #[inline]
    #[target_feature(enable = "sse2,aes")]
    unsafe fn hash(hasher: KeyHasher, key: &PretokenKey) -> u64 {
        use std::arch::x86_64::_mm_load_si128;
        // SAFETY: A key has 16 bytes and is aligned to 16.
        Aes::mixed(hasher, unsafe { _mm_load_si128(std::ptr::from_ref(key).cast()) })
    }

    #[inline]
    #[target_feature(enable = "sse2,aes")]
    unsafe fn load(hasher: KeyHasher, start: *const u8, n_padding: usize, key: &mut PretokenKey) -> u64 {
        // SAFETY: The caller promises the same.
        Aes::mixed(hasher, unsafe { PretokenKey::load_vector(start, n_padding, key) })
    }
}

/// Hashes by three rounds of AES with ARM's instructions, which mix in the round key first, not last.
#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
pub(crate) struct ArmAes;

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
impl ArmAes {
    #[inline]
    #[target_feature(enable = "neon,aes")]
    fn mixed(hasher: KeyHasher, key: std::arch::aarch64::uint8x16_t) -> u64 {
        use std::arch::aarch64::*;
        let [a, b, c, d] = hasher.seeds;
        let pair = |lo, hi| vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(lo), vcreate_u64(hi)));
        let once = vaesmcq_u8(vaeseq_u8(key, pair(a, b)));
        let twice = vaesmcq_u8(vaeseq_u8(once, pair(c, d)));
        let thrice = vaesmcq_u8(vaeseq_u8(twice, pair(c, d)));
        vgetq_lane_u64::<0>(vreinterpretq_u64_u8(thrice))
    }
}

#[cfg(all(target_arch = "aarch64", target_endian = "little"))]
impl HashKey for ArmAes {
    #[inline]
    #[target_feature(enable = "neon,aes")]
    unsafe fn hash(hasher: KeyHasher, key: &PretokenKey) -> u64 {
        use std::arch::aarch64::*;
        let key = vcombine_u64(vcreate_u64(key.lo), vcreate_u64(key.hi));
        ArmAes::mixed(hasher, vreinterpretq_u8_u64(key))
    }

    /// The key stays in a register, as on x86-64.
    #[inline]
    #[target_feature(enable = "neon,aes")]
    unsafe fn load(hasher: KeyHasher, start: *const u8, n_padding: usize, key: &mut PretokenKey) -> u64 {
        use std::arch::aarch64::*;
        debug_assert!(n_padding <= LOAD_BYTES);
        // SAFETY: The caller vouches for 16 readable bytes at `start`; PADDINGS has 16 bytes at each index 0..=16; `key`
        // has 16 bytes.
        let bytes = unsafe {
            let padding = vld1q_u8(PADDINGS.as_ptr().add(n_padding));
            let bytes = vorrq_u8(vld1q_u8(start), padding);
            vst1q_u8(std::ptr::from_mut(key).cast(), bytes);
            bytes
        };
        ArmAes::mixed(hasher, bytes)
    }
}

/// A text from which [`LOAD_BYTES`] bytes can be loaded at each offset, with zeros after its end.
pub(crate) struct PaddedText<'a> {
    pub(crate) text: &'a [u8],
    /// At each offset below this one, [`LOAD_BYTES`] bytes of the text can be loaded.
    whole_end: usize,
    /// The offset of `tail` in the text.
    tail_start: usize,
    /// The last bytes of the text, followed by zeros.
    tail: [u8; 2 * LOAD_BYTES],
}

impl<'a> PaddedText<'a> {
    #[inline]
    pub(crate) fn new(text: &'a [u8]) -> Self {
        let mut tail = [0; 2 * LOAD_BYTES];
        let tail_start = text.len().saturating_sub(LOAD_BYTES);
        let last = &text[tail_start..];
        tail[..last.len()].copy_from_slice(last);
        PaddedText { text, whole_end: text.len().saturating_sub(LOAD_BYTES - 1), tail_start, tail }
    }

    /// Whether [`LOAD_BYTES`] bytes of the text itself can be loaded at `offset`, and so at any offset before it.
    #[inline(always)]
    pub(crate) fn is_inside(&self, offset: usize) -> bool {
        offset < self.whole_end
    }

    /// Returns the key of the pretoken from `start` to `end`, as [`PretokenKey::from_short`] does.
    #[inline]
    pub(crate) fn key(&self, start: usize, end: usize) -> Option<PretokenKey> {
        let pretoken = &self.text[start..end];
        if !self.is_inside(start) {
            return PretokenKey::from_short(pretoken);
        }
        if pretoken.len() > MAX_BYTES || !pretoken.last().copied().is_some_and(PretokenKey::can_end_in) {
            return None;
        }
        // SAFETY: 16 bytes of the text can be read at `start`, and the pretoken has at most 15.
        Some(unsafe { PretokenKey::load(pretoken.as_ptr(), LOAD_BYTES - pretoken.len()) })
    }

    /// Loads the key of the pretoken at `start`, which is `n_padding` bytes shorter than a key; returns its hash.
    ///
    /// # Safety
    /// As for [`HashKey::hash`]. `start` must be within the text, with `INSIDE` also [inside](Self::is_inside), and
    /// `n_padding` at most [`LOAD_BYTES`].
    #[inline(always)]
    pub(crate) unsafe fn load<H: HashKey, const INSIDE: bool>(
        &self,
        hasher: KeyHasher,
        start: usize,
        n_padding: usize,
        key: &mut PretokenKey,
    ) -> u64 {
        debug_assert!(start <= self.text.len() && (!INSIDE || self.is_inside(start)));
        let bytes = if INSIDE || self.is_inside(start) {
            self.text.as_ptr().wrapping_add(start)
        } else {
            self.tail.as_ptr().wrapping_add((start - self.tail_start).min(LOAD_BYTES))
        };
        // SAFETY: At an offset below `whole_end`, 16 bytes of the text can be read. Any other `start` is at most 16
        // bytes after `tail_start`, and 16 bytes of `tail` can be read there. The caller promises the rest.
        unsafe { H::load(hasher, bytes, n_padding, key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_equal_where_pretokens_are_and_say_their_length() {
        let text = "ab é 中文 0123456789abcdef \u{7f}x".as_bytes();
        let padded = PaddedText::new(text);
        for start in 0..text.len() {
            for end in start + 1..text.len().min(start + MAX_BYTES) + 1 {
                let mut key = PretokenKey::EMPTY;
                let hasher = KeyHasher::new(CpuTier::Portable);
                // SAFETY: Every processor can multiply.
                let hash = unsafe {
                    padded.load::<Folded, false>(hasher, start, LOAD_BYTES - (end - start), &mut key)
                };
                assert_eq!(hash, hasher.hash(key));
                assert_eq!(Some(key), PretokenKey::from_short(&text[start..end]));
                assert_eq!(Some(key), padded.key(start, end));
                assert_eq!(&key.padded()[..key.n_bytes()], &text[start..end]);
            }
        }
        assert_eq!(PretokenKey::from_short(b""), None);
        assert_eq!(PretokenKey::from_short(b"a\xff"), None);
        assert_eq!((padded.key(3, 3), padded.key(0, MAX_BYTES + 1)), (None, None));
        assert_eq!(PaddedText::new(b"a\xff and sixteen bytes more").key(0, 2), None);
    }

    /// With two rounds of AES, 32 bits of the hashes in each group of keys would have only 256 values.
    #[test]
    fn keys_that_differ_in_bytes_which_rounds_of_aes_mix_last_have_different_hashes() {
        for tier in CpuTier::available() {
            let hasher = KeyHasher::new(tier);
            for places in [[3, 4, 9, 14], [0, 5, 10, 13], [1, 6, 11, 12], [2, 7, 8, 13], [0, 1, 2, 3]] {
                let mut hashes: Vec<u32> = (0..4096u32)
                    .map(|number| {
                        let mut bytes = *b"a pretoken is it";
                        for (place, shift) in places.into_iter().zip([0, 3, 6, 9]) {
                            bytes[place] = b'a' + (number >> shift & 7) as u8;
                        }
                        hasher.hash(PretokenKey::from_short(&bytes[..MAX_BYTES]).unwrap()) as u32
                    })
                    .collect();
                hashes.sort_unstable();
                hashes.dedup();
                // Among so many random numbers, two are equal in two of a thousand tries.
                assert!(hashes.len() > 4000, "{tier:?} {places:?}: {}", hashes.len());
            }
        }
    }
}
