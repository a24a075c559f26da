//! What files of other libraries hold, in pairloom's terms.

pub mod oniguruma;
