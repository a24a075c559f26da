use std::collections::BTreeMap;
use std::sync::Arc;

use super::*;
use crate::monitor::Silent;
use crate::pretokens::GPT2_PATTERN;

fn options(pretokenizer: &Arc<Pretokenizer>, specials: &Arc<SpecialTokens>) -> CountOptions {
    CountOptions {
        pretokenizer: Arc::clone(pretokenizer),
        specials: Arc::clone(specials),
        corpus_specials: CorpusSpecials::Text,
        input_errors: InputErrors::Strict,
        threads: 0,
        max_memory: None,
        total_hint: None,
    }
}

fn items(counts: &PretokenCounts) -> BTreeMap<Vec<u8>, u64> {
    counts.iter().map(|(pretoken, count)| (pretoken.to_vec(), count)).collect()
}

#[test]
fn a_small_text() {
    let pretokenizer = Arc::new(Pretokenizer::new(GPT2_PATTERN).unwrap());
    let specials = Arc::new(SpecialTokens::none());
    let mut counter = Counter::new(options(&pretokenizer, &specials)).unwrap();
    counter.count_texts(&["ab ab ab"], &Silent).unwrap();
    let counts = counter.finish().unwrap();
    assert_eq!(items(&counts), BTreeMap::from([(b"ab".to_vec(), 1), (b" ab".to_vec(), 2)]));
    assert_eq!((counts.n_bytes(), counts.n_documents()), (8, 1));
}
