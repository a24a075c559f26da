//! Takes captures out of a pattern where nothing refers to them.
//!
//! Pretokens are whole matches: a group has to be captured only for a back-reference or a condition. What has no captures is
//! searched by faster automata.

/// The pattern with each capturing group made one that does not capture, and how many those are. `None` if a group may be
/// referred to, or if the pattern has syntax that is not read here; the number tells the caller whether a parenthesis was
/// misread.
pub(super) fn without_captures(pattern: &str) -> Option<(String, usize)> {
    let mut rewritten = String::with_capacity(pattern.len() + 16);
    let (mut n_captures, mut n_classes) = (0, 0usize);
    let mut rest = pattern;
    while let Some(character) = rest.chars().next() {
        let mut taken = character.len_utf8();
        match character {
            '\\' => {
                let escaped = rest[1..].chars().next()?;
                if matches!(escaped, '1'..='9' | 'k' | 'g') {
                    return None;
                }
                taken += escaped.len_utf8();
            }
            '[' => {
                n_classes += 1;
                // A bracket that closes nothing yet is a character of the class.
                taken += rest[1..].len() - rest[1..].trim_start_matches('^').len();
                taken += usize::from(rest[taken..].starts_with(']'));
            }
            ']' => n_classes = n_classes.saturating_sub(1),
            '(' if n_classes == 0 => match rest[1..].strip_prefix('?') {
                None => {
                    n_captures += 1;
                    rewritten.push_str("(?:");
                    rest = &rest[1..];
                    continue;
                }
                Some(group) => {
                    let name = group.strip_prefix('P').unwrap_or(group);
                    if name.starts_with('<') && !name.starts_with("<=") && !name.starts_with("<!") {
                        n_captures += 1;
                        rewritten.push_str("(?:");
                        rest = &name[name.find('>')? + 1..];
                        continue;
                    }
                    // A condition, a call, a comment, or flags, of which `x` would change what is read here.
                    let flags = group.split([':', ')']).next()?;
                    let is_look = group.starts_with(['=', '!', '>', '<', ':']);
                    let is_flags = flags.chars().all(|flag| matches!(flag, 'i' | 'm' | 's' | '-'));
                    if !is_look && !is_flags {
                        return None;
                    }
                }
            },
            _ => {}
        }
        rewritten.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Some((rewritten, n_captures))
}
