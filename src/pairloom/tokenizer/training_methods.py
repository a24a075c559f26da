"""The methods that make a tokenizer by training; `pairloom.training` does the work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from pairloom._internal.progress import Progress
from pairloom.model import Pattern
from pairloom.tokenizer.base import PathLike, TokenizerBase

if TYPE_CHECKING:
    from pairloom.counts.pretoken_counts import PretokenCounts
    from pairloom.training.trace import Trace


class TrainingMethods(TokenizerBase):
    """Trains on a corpus or on counts; extends, prunes and adapts a tokenizer."""

    __slots__ = ()

    @classmethod
    def train(
        cls,
        corpus: str | Iterable[Any] | None,
        vocab_size: int,
        profile: str = "bpetite",
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        trace: Trace | None = None,
        parity: Mapping[str, Any] | None = None,
        parity_reference: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> Self:
        """Trains on a str (one document) or an iterable of str (each one a document).

        Batches (lists of str, Arrow columns of text) also work, as the items of the iterable or instead of it.
        `open(path)` is an iterable of lines, so `train(open(path), n)` makes a document of every line; for whole
        files use `train_files`. `fields` are those of `TrainingConfig`.

        max_memory: bytes. trace: a function that is called after training with a `TrainingStep` for each merge
        (the pair, its count, the pairs that came next, ties).
        parity: a dict from name to corpus (str, iterable of str, `Corpus`) or PretokenCounts, one for each language,
        for example; pass corpus=None with it. Each step merges the best pair of the corpus that takes the most tokens
        per byte. parity_reference: a dict with the same names whose texts have the same meaning; each step then picks
        the corpus whose reference takes the most tokens (arXiv 2508.04796). Ties go to the first corpus; a corpus
        without a pair left is skipped.
        Warns if the vocabulary is smaller than `vocab_size`, or too large for uint16 only because of special tokens.
        Raises ValueError if vocab_size is too small, TypeError for wrong types, MemoryError if `max_memory` would be
        exceeded.
        """
        from pairloom.training.config import TrainingConfig
        from pairloom.training.train import check_reading, train_on_texts

        check_reading(corpus, fields)
        config = TrainingConfig.from_profile(profile, **fields)
        run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory}
        if parity is not None or parity_reference is not None:
            from pairloom.training.parity import train_parity

            if not (corpus is None and trace is None):
                raise ValueError("parity cannot be combined with a corpus or a trace; pass None for them")
            for each in (parity, parity_reference):
                for named in each.values() if isinstance(each, Mapping) else ():
                    check_reading(named, fields)
            return cls.from_model(train_parity(parity or {}, parity_reference, vocab_size, config, **run))
        return cls.from_model(train_on_texts(corpus, vocab_size, config, trace=trace, **run))

    @classmethod
    def train_files(
        cls,
        paths: PathLike | Iterable[PathLike],
        vocab_size: int,
        profile: str = "bpetite",
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        checkpoint: PathLike | None = None,
        trace: Trace | None = None,
        **fields: Any,
    ) -> Self:
        """Trains on UTF-8 files; each file is a document unless corpus_specials="split" cuts it.

        `fields` are those of `TrainingConfig`. For options that control reading, pass a `Corpus` to `train`.

        checkpoint: a folder that stores the counts; calling again with the same arguments resumes. max_memory: bytes.
        trace: as in `train`.
        Warns if the vocabulary is smaller than `vocab_size`, or too large for uint16 only because of special tokens.
        Raises OSError for a file that cannot be read, CorpusError for invalid UTF-8, ValueError if vocab_size is too
        small, MemoryError if `max_memory` would be exceeded, CheckpointError for a checkpoint that is damaged, belongs
        to another training run, or whose files have changed, FileExistsError for a checkpoint that is in use.
        """
        from pairloom.training.config import TrainingConfig
        from pairloom.training.train import train_on_files

        config = TrainingConfig.from_profile(profile, **fields)
        run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory}
        return cls.from_model(train_on_files(paths, vocab_size, config, checkpoint=checkpoint, trace=trace, **run))

    @classmethod
    def train_from_counts(
        cls,
        counts: PretokenCounts,
        vocab_size: int,
        profile: str = "bpetite",
        *,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        trace: Trace | None = None,
        **fields: Any,
    ) -> Self:
        """Trains on counts, which can come from another machine; the result is the same as training on their corpus.

        The pattern is that of the counts unless `fields` name one. trace: as in `train`. Raises CountsError if the
        counts were cut with another pattern or other special tokens than the configuration has, MemoryError if
        `max_memory` (bytes) would be exceeded.
        """
        from pairloom.counts.pretoken_counts import PretokenCounts
        from pairloom.training.config import TrainingConfig
        from pairloom.training.train import check_counts, prune, train_model

        if not isinstance(counts, PretokenCounts):
            raise TypeError(f"counts must be PretokenCounts, not {type(counts).__name__}")
        config = TrainingConfig.from_profile(profile, **{"pattern": counts.metadata.pattern, **fields})
        check_counts(counts, config)
        counts, config = prune(counts, config)
        run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory, "trace": trace}
        return cls.from_model(train_model(counts, vocab_size, config, **run))

    def extend(
        self,
        corpus: Any,
        vocab_size: int | None = None,
        *,
        n_tokens: int | None = None,
        keep_ids: bool = True,
        pattern: Pattern | None = None,
        profile: str | None = None,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        **fields: Any,
    ) -> Self:
        """Continues training on a corpus, and returns the tokenizer with the new tokens added; existing ids stay.

        corpus: a str, an iterable of str, a `Corpus`, or PretokenCounts. Texts are normalised as by this tokenizer, cut
        at its special tokens with corpus_specials="split" (counts are not; a warning says so if it matters), split by
        `pattern` (None: that of the counts, with a warning if it is another one; or this tokenizer's), and encoded.
        Training then continues to `vocab_size`, or for `n_tokens` more tokens. New tokens get the ids after the
        largest. keep_ids=False numbers tokens and special tokens as a single training run would, and warns with the
        number of ids that move; `changes_from` lists them. The new tokenizer uses the pattern; one that crosses words
        makes superwords.

        Training continues with the tokenizer's `config`, or with `profile`; `fields` are those of `TrainingConfig`
        (tie_break, min_frequency, max_token_bytes, ...). A tokenizer from another library's file that has special
        tokens needs n_tokens: nothing says whether vocab_size counts them. Raises ValueError for a smaller vocab_size,
        MissingByteError if the corpus holds a byte without a token, CountsError for counts that were cut in another
        way, OSError and CorpusError while reading the corpus, MemoryError if `max_memory` (bytes) would be exceeded.
        """
        from pairloom.counts.pretoken_counts import PretokenCounts
        from pairloom.training.extend import Extension, extend_counted, pattern_of_counts
        from pairloom.training.prune import counts_of
        from pairloom.training.train import check_reading

        check_reading(corpus, fields)
        if pattern is None and isinstance(corpus, PretokenCounts):
            pattern = pattern_of_counts(corpus, self._model)
        what = Extension.of(
            self._model, vocab_size, pattern, profile, n_tokens=n_tokens, keep_ids=keep_ids, fields=fields
        )
        run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory}
        count = partial(counts_of, corpus, tokenizer=self)
        return self.from_model(extend_counted(what, self._core, count, **run))

    def prune(
        self,
        corpus: Any,
        vocab_size: int | None = None,
        *,
        n_tokens: int | None = None,
        keep_ids: bool = True,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
    ) -> Self:
        """Removes the tokens that a corpus uses least: down to `vocab_size`, or `n_tokens` of them.

        corpus: as for `extend`; counts must be made with this tokenizer's pattern. A token can go only if no remaining
        token is merged from it; its uses then become uses of its parts (Purason et al. 2025). Bytes and special tokens
        stay. The remaining ids stay, with gaps; keep_ids=False closes the gaps, and warns with the number of ids that
        move; `changes_from` lists them. vocab_size means the same as in training. A tokenizer from another library's
        file that has special tokens needs n_tokens. Raises ValueError for a larger vocab_size, too many tokens, or a
        corpus without text, CountsError for other counts, MemoryError if `max_memory` (bytes) would be exceeded.
        """
        from pairloom.training.prune import counts_of_tokenizer, n_to_remove, pruned

        n_removed = n_to_remove(self._model, vocab_size, n_tokens)
        run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory}
        counts = counts_of_tokenizer(corpus, self, "split", **run)
        return self.from_model(pruned(self._model, self._core, counts, n_removed, keep_ids=keep_ids, **run))

    def adapt(
        self,
        corpus: Any,
        n_tokens: int,
        *,
        keep_ids: bool = True,
        profile: str | None = None,
        threads: int = 0,
        progress: Progress = None,
        max_memory: int | None = None,
        **fields: Any,
    ) -> Self:
        """Replaces the `n_tokens` tokens that a corpus uses least: `prune`, then `extend` on the same corpus.

        The remaining ids stay, and new tokens take the freed ids in ascending order, so the embedding keeps its shape;
        `changes_from` says which rows are new. keep_ids=False closes the gaps instead and puts new tokens after the
        others, as files of ranks need it. `fields` and `profile` are those of `extend`.
        """
        from dataclasses import replace

        from pairloom.training.extend import Extension, extend_counted
        from pairloom.training.prune import counts_of_tokenizer, n_to_remove, pruned
        from pairloom.training.train import check_reading
        from pairloom.vocabulary import as_pairs, refilled

        check_reading(corpus, fields)
        n_to_remove(self._model, None, n_tokens)
        what = Extension.of(self._model, None, None, profile, n_tokens=n_tokens, keep_ids=True, fields=fields)
        run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory}
        counts = counts_of_tokenizer(corpus, self, what.config.corpus_specials, **run)
        smaller = self.from_model(pruned(self._model, self._core, counts, n_tokens, keep_ids=keep_ids, **run))
        what = replace(what, model=as_pairs(smaller._model))
        adapted = self.from_model(extend_counted(what, smaller._core, lambda **_: counts, **run))
        if not keep_ids:
            return adapted
        return self.from_model(refilled(self._model, smaller._model, adapted._model))
