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
    """Training from a corpus or from counts, and training on."""

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
        """Trains on a str (one document) or an iterable of str (each a document).

        Batches are taken as well: lists of str and Arrow columns of text, in the iterable or in its place.
        `open(path)` is an iterable of lines, so `train(open(path), n)` takes every line for a document; for whole
        files use `train_files`. `fields` are those of `TrainingConfig`.

        max_memory: bytes. trace: a function that gets a `TrainingStep` for each merge
        (the pair, its count, the pairs that came next, ties) when all are learned.
        parity: named corpora (str, iterables of str, `Corpus`) or PretokenCounts, as of languages, in the place of a
        corpus, which is None; each step merges the best pair of the one that takes the most tokens a byte, or with
        `parity_reference`, texts by the same names that say the same, the most tokens of those (arXiv 2508.04796). Of
        equal ones the first counts, and one without a pair left is passed over.
        Warns if the vocabulary is smaller than `vocab_size`, or too large for uint16 only because of special tokens.
        Raises ValueError when vocab_size is too small, TypeError for wrong types, MemoryError when `max_memory` would
        be exceeded.
        """
        from pairloom.training.config import TrainingConfig
        from pairloom.training.train import check_reading, train_on_texts

        check_reading(corpus, fields)
        config = TrainingConfig.from_profile(profile, **fields)
        run: dict[str, Any] = {"threads": threads, "progress": progress, "max_memory": max_memory}
        if parity is not None or parity_reference is not None:
            from pairloom.training.parity import train_parity

            if not (corpus is None and trace is None):
                raise ValueError("parity does not go with a corpus or a trace; pass None for them")
            for each in (parity, parity_reference):
                for named in each.values() if isinstance(each, Mapping) else ():
                    check_reading(named, fields)
            return cls.from_model(train_parity(parity or {}, parity_reference, vocab_size, config, **run))
        if corpus is None:
            raise TypeError("corpus must be a str or an iterable of str, not None")
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
        """Trains on UTF-8 files, each a document unless corpus_specials="split" cuts it.

        `fields` are those of `TrainingConfig`; for options of reading pass a `Corpus` to `train`.

        checkpoint: a folder that stores the counts; calling again with the same arguments resumes. max_memory: bytes.
        trace: as in `train`.
        Warns if the vocabulary is smaller than `vocab_size`, or too large for uint16 only because of special tokens.
        Raises OSError for a file that cannot be read, CorpusError for invalid UTF-8, ValueError when vocab_size is too
        small, MemoryError when `max_memory` would be exceeded, CheckpointError for a checkpoint that is damaged or of
        another training, or whose files have changed, FileExistsError for one that is in use.
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
        """Trains on counts made before, here or elsewhere; the same model as training on their corpus.

        The pattern is that of the counts unless `fields` name one. trace: as in `train`. Raises CountsError when the
        counts were cut in another way than the configuration asks for, MemoryError when `max_memory` (bytes) would be
        exceeded.
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
        """The tokenizer with the tokens that training learns next; all ids stay.

        corpus: a str, an iterable of str, a `Corpus`, or PretokenCounts. It is normalised, and cut by the rules of
        special tokens, where this tokenizer does so (counts are not, which a warning says), split by `pattern` (None:
        that of the counts, or this tokenizer's own), encoded, and training goes on to `vocab_size`, or until there are
        `n_tokens` more. New tokens take the ids after the largest. keep_ids=False numbers tokens and special tokens as
        one training would have, and warns with the number of ids that move; `changes_from` lists them. The new
        tokenizer splits by the pattern; one that crosses words makes superwords.

        It continues as it was trained (`config`), or by `profile`; `fields` are those of `TrainingConfig` (tie_break,
        min_frequency, max_token_bytes, ...). A tokenizer of another library's file with special tokens takes n_tokens:
        nothing says whether its vocab_size counts them. Raises ValueError for a smaller vocab_size and for a vocabulary
        that lacks some of the 256 bytes; CountsError for counts that were cut in another way; OSError and CorpusError
        as reading the corpus does; MemoryError when `max_memory` (bytes) would be exceeded.
        """
        from pairloom.counts.pretoken_counts import PretokenCounts
        from pairloom.training.extend import Extension, extend_counted
        from pairloom.training.prune import counts_of
        from pairloom.training.train import check_reading

        check_reading(corpus, fields)
        if pattern is None and isinstance(corpus, PretokenCounts):
            pattern = corpus.metadata.pattern
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
        """The tokenizer without the tokens that a corpus uses least: down to `vocab_size`, or `n_tokens` of them.

        corpus: as for `extend`; counts are those of this tokenizer's pattern. Only a token goes that no other token
        left is merged from; its uses are then uses of its parts (Purason et al. 2025). Bytes and special tokens stay.
        All ids stay, with gaps; keep_ids=False closes the gaps, and warns with the number of ids that move, which
        `changes_from` lists. vocab_size is counted as in training; a tokenizer of another library's file with special
        tokens takes n_tokens. Raises ValueError for a larger vocab_size, too many tokens, or a corpus without text,
        CountsError for other counts, MemoryError when `max_memory` (bytes) would be exceeded.
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
        """`prune` by `n_tokens`, then `extend` by as many on the same corpus: as many tokens, and no id beyond those.

        All ids stay, and new tokens take the ids that became free, in ascending order: the embedding keeps its shape,
        and `changes_from` says which rows are new. keep_ids=False closes the gaps instead, so that new tokens follow
        the others, as files of ranks need it. `fields` and `profile` are those of `extend`.
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
