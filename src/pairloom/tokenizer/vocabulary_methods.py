"""The methods that inspect and change the vocabulary."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Self

from pairloom import formats
from pairloom._internal.arguments import check_bool, check_iterable
from pairloom.tokenizer.base import Specials, TokenizerBase

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pairloom.vocabulary import VocabularyChanges


class VocabularyMethods(TokenizerBase):
    """Gives access to ids, token bytes, merges and special tokens, and changes them."""

    __slots__ = ()

    def __len__(self) -> int:
        return self._core.n_vocab

    @property
    def vocab_size(self) -> int:
        """The largest id + 1, special tokens included: the rows that an embedding needs. Equal to `n_vocab`."""
        return self._core.n_vocab

    def get_vocab(self) -> dict[str, int]:
        """Returns token -> id as HuggingFace does: tokens in GPT-2's byte alphabet, special tokens as their text."""
        return {text: token_id for token_id, text in formats.huggingface.texts_of(self._model).items()}

    @property
    def vocab(self) -> dict[int, bytes]:
        """id -> bytes, ids ascending, special tokens included as their UTF-8 bytes."""
        tokens = self._model.tokens()
        tokens.update((i, token.encode()) for token, i in self._model.special_tokens.items())
        return dict(sorted(tokens.items()))

    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """(left bytes, right bytes) in rank order; if ranks define merging, one canonical pair per reachable token."""
        return self._core.merges()

    @property
    def special_tokens(self) -> dict[str, int]:
        """Literal -> id."""
        return dict(self._model.special_tokens)

    @property
    def special_rules(self) -> dict[str, tuple[str, ...]]:
        """Literal -> rules, for special tokens that are recognised only in some places or that absorb white space.

        "lstrip", "rstrip": it absorbs the white space before or after it, which decoding does not restore.
        "single_word": recognised only if no word character is next to it. "normalized": searched for in the text
        between the others. "nfc": like "normalized", but not where NFC would join its end with a following mark.
        "any_case": like "nfc", and in any ASCII case. "after_space": recognised after a space, which it absorbs, or at
        the beginning of a text. "ordinary": stays text unless `allowed_special` names it.
        HuggingFace files have such tokens.
        """
        rules: dict[str, tuple[str, ...]] = {}
        for literal, rule in self._model.special_rules:
            rules[literal] = (*rules.get(literal, ()), rule)
        return rules

    def token_to_id(self, token: bytes | str) -> int | None:
        """Returns the id of a token, or None. A str is looked up as a special token first."""
        if isinstance(token, str):
            special = self._model.special_tokens.get(token)
            return special if special is not None else self._core.token_to_id(token.encode())
        if not isinstance(token, bytes):
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        found = self._core.token_to_id(token)
        if found is not None:
            return found
        return self._model.special_tokens.get(token.decode(errors="surrogateescape"))

    def id_to_token(self, id: int) -> bytes:
        """Returns the bytes of a token; raises UnknownTokenIdError (a KeyError)."""
        self._core.decode_bytes([id])  # raises if `id` is not an id
        token = self._core.id_to_token(id)
        if token.startswith(b" ") and self._model.unknown is not None:
            # If spaces only separate words, the core's special tokens begin with the space that decoding writes.
            literals = (literal for literal, special in self._model.special_tokens.items() if special == id)
            return next(map(str.encode, literals), token)
        return token

    def token_byte_lengths(self, *, count_specials: bool = False) -> npt.NDArray[np.int64]:
        """Returns the number of text bytes of each id: int64 [n_vocab], 0 for an unused id.

        A special token is not text and counts as 0, as bits per byte require; with count_specials it counts as
        the bytes of its literal.
        """
        lengths = self._core.token_byte_lengths()
        if not check_bool("count_specials", count_specials):
            lengths[list(self._model.special_tokens.values())] = 0
        return lengths

    def bits_per_byte(self, loss: npt.ArrayLike, targets: npt.ArrayLike) -> float:
        """Returns the bits per byte of text, which are comparable between models with different vocabularies.

        loss: the loss of each target in nats, [...]; targets: ids [...] of the same shape. Special tokens and negative
        targets (which losses ignore) have no bytes of text and do not count. Raises ValueError if the shapes differ or
        no target has bytes, UnknownTokenIdError (a KeyError) for an id of n_vocab or more.
        """
        import numpy as np

        nats, ids = np.asarray(loss), np.asarray(targets)
        if nats.shape != ids.shape or ids.dtype.kind not in "iu" or nats.dtype.kind not in "fiu":
            raise ValueError(
                f"loss {list(nats.shape)} of {nats.dtype} and targets {list(ids.shape)} of {ids.dtype} must be a "
                'number and an id for each token; compute the loss with reduction="none"'
            )
        if ids.size and ids.max() >= self.n_vocab:
            self.id_to_token(int(ids.max()))  # raises
        n_bytes = np.where(ids < 0, 0, self.token_byte_lengths()[np.maximum(ids, 0)])
        if not n_bytes.any():
            raise ValueError("no target has bytes of text, so there are no bits per byte")
        return float(nats[n_bytes > 0].sum(dtype=np.float64) / np.log(2) / n_bytes.sum())

    def truncate_vocab(self, vocab_size: int, *, keep_ids: bool = False, specials_counted: bool | None = None) -> Self:
        """Returns the tokenizer that training to the smaller `vocab_size` would have made; special tokens can move.

        vocab_size has the same meaning as in training. keep_ids: leave all ids as they are. specials_counted: whether
        vocab_size counts the special tokens; required for a tokenizer with special tokens that has no `config`.
        Warns with the number of ids that move. Raises ValueError if specials_counted is missing, if vocab_size is below
        the base vocabulary or above the current size, or if ranks and not merges define the tokenizer.
        """
        from pairloom.training.config import TrainingConfig
        from pairloom.vocabulary import truncated

        config = TrainingConfig.of_model(self._model)
        return self.from_model(truncated(self._model, vocab_size, config, specials_counted, keep_ids))

    def changes_from(self, old: TokenizerBase) -> VocabularyChanges:
        """Returns (new, moved, removed): the rows of an embedding for `old` that must change for this tokenizer.

        new: int64 [n], ids of tokens that `old` lacks. moved: int64 [m, 2], (old id, id here). removed: int64 [k],
        ids of `old` whose tokens are gone. Tokens are compared by their bytes, special tokens by their text.
        """
        from pairloom.vocabulary import changes

        if not isinstance(old, TokenizerBase):
            raise TypeError(f"old must be a Tokenizer, not {type(old).__name__}")
        return changes(old._model, self._model)

    def pieces_of(self, tokens: Iterable[bytes]) -> list[list[int]]:
        """Returns the ids that merging makes of the bytes of each token; the bytes need not be UTF-8.

        Use it with the tokens of a larger tokenizer that `changes_from` calls new: the mean of the rows of these ids
        can initialise a new token's embedding row. Raises TypeError for a str, MissingByteError.
        """
        import numpy as np

        from pairloom import _core
        from pairloom.counts.pretoken_counts import PretokenCounts

        check_iterable("tokens", "bytes", tokens)
        self._model.check_merges_bytes("pieces_of")
        listed = list(tokens)
        for token in listed:
            if not isinstance(token, bytes):
                raise TypeError(f"a token must be bytes, not {type(token).__name__}")
        # Sorted, because counts keep the order of ascending pretokens.
        distinct = sorted({*listed} - {b""})
        counts = PretokenCounts.from_items((token, 1) for token in distinct)
        ids, ends, _ = _core.encode_counts(counts.columns, self._core, threads=1, report=None)
        pieces = dict(zip(distinct, np.split(ids, ends.astype(np.int64)), strict=False))
        return [pieces[token].tolist() if token else [] for token in listed]

    def add_special_tokens(self, special_tokens: Specials) -> Self:
        """Returns a tokenizer with more special tokens: a list of them, or a dict with the id of each.

        Each of a list takes the id of the ordinary token with its bytes, as in HuggingFace, else the next id after the
        largest.
        """
        from pairloom.vocabulary import with_special_tokens

        return self.from_model(with_special_tokens(self._model, special_tokens))
