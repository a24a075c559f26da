//! The instructions that the processor has, detected once.

use std::sync::OnceLock;

use crate::error::{Error, Result};

/// The environment variable that turns tiers off: names of [`CpuTier::NAMES`], separated by commas.
pub const DISABLE_VARIABLE: &str = "PAIRLOOM_DISABLE_CPU_FEATURES";

/// A tier: the instructions that the hot loops use. All tiers return the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CpuTier {
    /// Instructions that every processor has; 64-bit words.
    Portable,
    /// x86-64-v3 with AES: AVX2, AES, BMI1, BMI2, LZCNT, POPCNT. Nearly all x86-64 processors since 2015.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX2 plus AVX-512 F, BW, VL, VBMI, VBMI2 and VAES: Ice Lake, Zen 4 and later.
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// 64-bit ARM with AES: Apple's processors, Graviton, Grace and nearly all others. NEON itself is in all of them.
    #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
    Neon,
}

impl CpuTier {
    /// The tiers that can be turned off, by name.
    pub const NAMES: [&str; 3] = ["avx512", "avx2", "neon"];

    /// Returns the tiers that this processor has and that [`DISABLE_VARIABLE`] does not turn off, the best first.
    pub fn available() -> impl Iterator<Item = CpuTier> {
        let best = CpuTier::best();
        #[cfg(target_arch = "x86_64")]
        let all = [CpuTier::Avx512, CpuTier::Avx2, CpuTier::Portable];
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        let all = [CpuTier::Neon, CpuTier::Portable];
        #[cfg(not(any(target_arch = "x86_64", all(target_arch = "aarch64", target_endian = "little"))))]
        let all = [CpuTier::Portable];
        all.into_iter().filter(move |&tier| tier <= best)
    }

    /// Returns the best tier that this processor has and that [`DISABLE_VARIABLE`] does not turn off.
    #[inline]
    pub fn best() -> CpuTier {
        CpuTier::checked().unwrap_or(CpuTier::Portable)
    }

    /// Fails with [`Error::Invalid`] unless the tier is [`available`](Self::available). Anyone can name a variant, so
    /// code with instructions of a tier must run only after this check, or with a tier from `best` or `available`.
    pub(crate) fn check_available(self) -> Result<()> {
        match CpuTier::available().any(|available| available == self) {
            true => Ok(()),
            false => Err(Error::Invalid(format!("this processor has no {self:?} instructions"))),
        }
    }

    /// Like [`best`](Self::best), but [`Error::Invalid`] if the variable names something that is not a tier.
    pub fn checked() -> Result<CpuTier> {
        static BEST: OnceLock<std::result::Result<CpuTier, String>> = OnceLock::new();
        let best = BEST.get_or_init(|| {
            let disabled = std::env::var_os(DISABLE_VARIABLE).unwrap_or_default();
            CpuTier::detect(&disabled.to_string_lossy())
        });
        best.clone().map_err(Error::Invalid)
    }

    /// Returns the best tier of this processor except those in `disabled`. Turning off a tier turns off all above it.
    fn detect(disabled: &str) -> std::result::Result<CpuTier, String> {
        let names = || disabled.split(',').map(str::trim).filter(|name| !name.is_empty());
        let is_known = |name: &&str| CpuTier::NAMES.iter().any(|known| known.eq_ignore_ascii_case(name));
        if let Some(unknown) = names().find(|name| !is_known(name)) {
            let known = CpuTier::NAMES.join(", ");
            return Err(format!(
                "{DISABLE_VARIABLE} contains {unknown:?}; allowed are {known}, separated by commas"
            ));
        }
        #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
        if std::arch::is_aarch64_feature_detected!("aes")
            && !names().any(|name| name.eq_ignore_ascii_case("neon"))
        {
            return Ok(CpuTier::Neon);
        }
        #[cfg(target_arch = "x86_64")]
        {
            let is_off = |tier: &str| names().any(|name| name.eq_ignore_ascii_case(tier));
            let has_avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("aes")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vbmi")
                && is_x86_feature_detected!("avx512vbmi2")
                && is_x86_feature_detected!("vaes");
            if has_avx2 && !is_off("avx2") {
                return Ok(if has_avx512 && !is_off("avx512") { CpuTier::Avx512 } else { CpuTier::Avx2 });
            }
        }
        Ok(CpuTier::Portable)
    }

    /// Returns the tier's name, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            CpuTier::Portable => "portable",
            #[cfg(target_arch = "x86_64")]
            CpuTier::Avx2 => "avx2",
            #[cfg(target_arch = "x86_64")]
            CpuTier::Avx512 => "avx512",
            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            CpuTier::Neon => "neon",
        }
    }

    /// Returns whether the tier has AES, AVX2 and BMI.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn has_avx2(self) -> bool {
        self > CpuTier::Portable
    }
}

/// Defines a function that runs its body compiled for a tier; the tier becomes its first argument.
///
/// In the body `$isa` is the type that `$module` calls `Portable`, `Avx2`, `Avx512` or `Neon`. Functions that the body
/// calls must be `#[inline(always)]`, or they are compiled without the instructions. The arguments are passed one by
/// one: the hot loops would reload the fields of a struct after each store.
macro_rules! at_tier {
    (
        $(#[$attribute:meta])*
        unsafe fn $name:ident<$isa:ident in $module:ident $(, $generic:ident: $bound:path)*>(
            $($argument:ident: $type:ty),* $(,)?
        ) $(-> $result:ty)? $body:block
    ) => {
        $(#[$attribute])*
        ///
        /// # Safety
        /// The processor has the tier.
        #[inline(always)]
        unsafe fn $name<$($generic: $bound),*>(
            tier: $crate::cpu::CpuTier,
            $($argument: $type),*
        ) $(-> $result)? {
            // Not inlined: in its caller there would not be enough registers.
            #[inline(never)]
            fn portable<$($generic: $bound),*>($($argument: $type),*) $(-> $result)? {
                type $isa = $module::Portable;
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,aes,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2<$($generic: $bound),*>($($argument: $type),*) $(-> $result)? {
                type $isa = $module::Avx2;
                $body
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,aes,bmi1,bmi2,lzcnt,popcnt")]
            #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,vaes")]
            fn avx512<$($generic: $bound),*>($($argument: $type),*) $(-> $result)? {
                type $isa = $module::Avx512;
                $body
            }

            #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
            #[target_feature(enable = "neon,aes")]
            fn neon<$($generic: $bound),*>($($argument: $type),*) $(-> $result)? {
                type $isa = $module::Neon;
                $body
            }

            match tier {
                $crate::cpu::CpuTier::Portable => portable($($argument),*),
                // SAFETY: The caller vouches for the tier, which has all instructions of these functions.
                #[cfg(target_arch = "x86_64")]
                $crate::cpu::CpuTier::Avx2 => unsafe { avx2($($argument),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::cpu::CpuTier::Avx512 => unsafe { avx512($($argument),*) },
                // SAFETY: as above.
                #[cfg(all(target_arch = "aarch64", target_endian = "little"))]
                $crate::cpu::CpuTier::Neon => unsafe { neon($($argument),*) },
            }
        }
    };
}

pub(crate) use at_tier;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disabled_tiers_turn_off_those_above_and_unknown_names_are_told() {
        let best = CpuTier::detect("").unwrap();
        assert!(CpuTier::detect("avx512").unwrap() <= best);
        assert_eq!(CpuTier::detect(" AVX2 ,neon").unwrap(), CpuTier::Portable);
        assert!(
            CpuTier::detect("avx2,sse9").unwrap_err().contains("\"sse9\"; allowed are avx512, avx2, neon")
        );
        assert_ne!(CpuTier::detect("avx512").unwrap().name(), "avx512");
    }
}
