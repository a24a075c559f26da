"""The compiled module: the private, typed interface to the Rust core.

Long calls release the interpreter, call `report(stage, done, total)` about ten times a second from the calling
thread, and stop within a fraction of a second on a signal or when `report` raises. `threads=0` means all cores.
Text that is not valid Unicode (lone surrogates) is a UnicodeEncodeError; memory that the system or `max_memory`
refuses is a MemoryError. In calls that take several texts or lists of ids, errors name the index of the invalid one.
Objects that change (Counter, StreamEncoder, DecodeStream, PlainText, JsonLines, ByteLimit, BlockEncoder) serve one call
at a time: a concurrent call, from another thread or from a callback, is a RuntimeError.
"""

from collections.abc import Callable, Iterable, Sequence
from os import PathLike
from typing import Any, Literal, Required, TypedDict, final

import numpy as np
import numpy.typing as npt

__version__: str
NORMALIZERS: tuple[str, ...]
NORMALIZER_PREFIXES: tuple[str, str, str, str]
UNICODE_VERSION: str
CLIP_PATTERNS: tuple[str, ...]
"""What CLIP's words are, as tokenizer.json files write it."""
DIGIT: str
"""The digits by which a tokenizer.json's step Digits splits, as a class of characters."""
PUNCTUATION: str
"""The same of the step Punctuation."""

def cpu_tier() -> str:
    """The instructions that the hot loops use: "avx512", "avx2", "neon" or "portable".

    The best that the processor has and that the environment variable PAIRLOOM_DISABLE_CPU_FEATURES (names apart by
    commas, read once) leaves. Results do not depend on it.
    """

DEBUG_ASSERTIONS: bool

_Report = Callable[[str, int, int], object] | None
_Pattern = str | tuple[str, ...]
_Specials = list[tuple[str, int]] | list[str]
_Ids = Iterable[int] | npt.NDArray[Any]

@final
class ModelColumns:
    """The tokens and merges of a `Model`, checked; immutable. The arrays are read-only and share its memory."""

    token_ids: npt.NDArray[np.uint32]
    token_bytes: bytes
    token_ends: npt.NDArray[np.uint64]
    merges: npt.NDArray[np.uint32]
    ranks: bool
    priorities: npt.NDArray[np.uint32]
    has_priorities: bool
    n_tokens: int
    n_merges: int
    n_ids: int

    def __init__(
        self,
        *,
        token_ids: npt.NDArray[np.uint32],
        token_bytes: bytes,
        token_ends: npt.NDArray[np.uint64],
        merges: npt.NDArray[np.uint32],
        ranks: bool,
        priorities: npt.NDArray[np.uint32] | None = None,
    ) -> None:
        """Raises ValueError unless the columns are those of a tokenizer."""

    @staticmethod
    def from_pairs(
        pairs: npt.NDArray[np.uint32], *, byte_order: bytes, first_byte: int, first_merge: int
    ) -> ModelColumns:
        """The columns of uint32 [m, 2] pairs of symbols: 0..255 are byte values, 256 + r is the result of merge r.

        Bytes have ids from `first_byte` on, in `byte_order`; results have ids from `first_merge` on, above those.
        """

    def tokens(self) -> dict[int, bytes]: ...
    def missing_bytes(self) -> list[int]: ...
    def check_special_tokens(self, special_tokens: list[tuple[str, int]]) -> None:
        """Raises ValueError unless they can stand beside these tokens."""

    def one_form(self) -> ModelColumns | None:
        """The columns that stand for all which encode as these do when whole pretokens are looked up first.

        None: there are no others, since the pairs are not those of the ranks.
        """

    def lists(self) -> dict[str, bytes]:
        """The long values of a file of schema 2 as JSON, by key: its lists of numbers and the bytes of its tokens."""

    def equals(self, other: ModelColumns) -> bool: ...

def format_of(head: bytes, name: str) -> str:
    """The format of a file that begins so: "pairloom", "huggingface", "tiktoken" or "tekken"; FormatError if none."""

def read_model(
    format: str,
    data: bytes,
    name: str,
    pattern: _Pattern | None,
    special_tokens: _Specials,
    beside: bytes | None,
    are_ordinary: bool,
) -> dict[str, Any]:
    """The fields of a `Model` by name, from a file that messages call `name`; FormatError, MissingKeyError.

    post_processor and tokenizer_config are JSON as the file has it. beside: what other files say of a tokenizer.json's
    added tokens: a JSON list of added_tokens_decoder, or null, and of literals with a role.
    """

def read_gpt2(
    vocab: bytes,
    vocab_name: str,
    merges: bytes,
    merges_name: str,
    pattern: _Pattern | None,
    special_tokens: _Specials,
) -> dict[str, Any]:
    """The fields of a `Model` by name, from a vocab.json and a merges.txt; FormatError."""

def model_of_ranks(columns: ModelColumns, name: str, pattern: _Pattern, special_tokens: _Specials) -> dict[str, Any]:
    """The fields of a `Model` by name, of tokens whose ids are ranks; FormatError that begins with `name`."""

def read_added_tokens(
    data: bytes, name: str, forms: list[str]
) -> tuple[dict[str, int], frozenset[str], tuple[tuple[str, str], ...]]:
    """Ids, literals that are not special, and rules of a list of added tokens in JSON; FormatError naming `name`.

    forms: the steps of the normaliser, after which tokens that are normalized would be found.
    """

def pairs_of_ranks(
    token_bytes: bytes, token_ends: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """(rows [m, 3] of left, right, merged id; unreachable; tokens of a missing byte), by index in rank order."""

def pretokenize(text: str, pattern: _Pattern) -> list[bytes]:
    """The pretokens of one document."""

def pattern_engine(pattern: _Pattern) -> Literal["scanner", "dfa", "backtracking"]:
    """What runs a pattern: a scanner written by hand, automata, or a regex engine that backtracks."""

def is_total(pattern: _Pattern) -> bool:
    """Whether the matches of a pattern surely leave no gaps in any text."""

def check_run_as_written(pattern: str) -> None:
    """Raises FormatError for a pattern that tiktoken's engine runs otherwise than written, PatternError for none."""

def can_match_nothing(pattern: str) -> bool:
    r"""Whether a match may be empty, or leave text out by `\K`; PatternError if the pattern does not parse."""

def matches(texts: list[str], pattern: str) -> list[list[tuple[int, int]]]:
    """The matches of a pattern that are not empty, in each text, as (start, end) in characters."""

def normalized(texts: list[str], steps: list[str]) -> list[str]:
    """Each text as the steps of a normaliser leave it; ValueError for an unknown step."""

def read_oniguruma(pattern: str) -> tuple[str, bool]:
    """(pattern of a tokenizer.json for pairloom, if it may match nothing); PatternError names what is not taken."""

def write_oniguruma(pattern: str) -> tuple[str, bool]:
    """(the pattern for a tokenizer.json, if it may match nothing); PatternError names what cannot be written."""

@final
class Counter:
    """Counts batches of texts, or files; `finish` freezes the result and ends the counter."""

    def __init__(
        self,
        *,
        pattern: _Pattern,
        special_tokens: list[str],
        split: bool,
        threads: int,
        max_memory: int | None,
        report: _Report,
    ) -> None: ...
    def count_texts(self, texts: Iterable[str], first: int = 0) -> None:
        """Counts texts, each a document; errors count them from `first` on."""

    def count_arrow(self, texts: Any) -> None:
        """Counts the rows of an Arrow column of text, each a document; nulls are left out."""

    def add_counts(self, counts: PretokenCounts) -> None:
        """Adds counts and their totals."""

    def add_rows(self, pretokens: Any, counts: npt.NDArray[np.uint64]) -> int:
        """Adds an Arrow column of pretokens with their counts, not to the totals; returns the bytes that they count."""

    def add_totals(self, n_bytes: int, n_documents: int, n_special_literals: int) -> None:
        """Adds to the totals."""

    def count_files(self, paths: list[str]) -> None:
        """Counts UTF-8 files, each a document; OSError, CorpusError (file, byte offset)."""

    def count_block(self, documents: Documents, *, n_bytes_read: int = 0) -> None:
        """Counts the documents of a block; an open one is joined with the next block.

        n_bytes_read: what reading holds meanwhile, which counts towards `max_memory`.
        """

    def finish(self) -> PretokenCounts:
        """The counts of all that was given."""

@final
class PretokenCounts:
    """Distinct pretokens with their counts as columns; only `add` changes them, and no other call may run meanwhile."""

    n_bytes: int
    n_documents: int
    n_special_literals: int

    def __len__(self) -> int: ...
    def sorted_columns(self) -> tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """(bytes, ends [n], counts [n]) in the order of the pretokens' bytes."""

    def unsorted_columns(self) -> tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The same in any order, which takes no time."""

    def pruned(self, min_count: int) -> PretokenCounts:
        """The counts of at least `min_count`, with the totals of all."""

    def minus(self, other: PretokenCounts) -> PretokenCounts:
        """The counts less `other`; CountsError where it has more of anything."""

    def copied(self) -> PretokenCounts:
        """A copy."""

    def add(self, other: PretokenCounts) -> None:
        """Adds `other`, another object, in place; after an error nothing has changed. ValueError on overflow."""

    @staticmethod
    def merged(parts: list[PretokenCounts]) -> PretokenCounts:
        """The sum of several counts; ValueError on overflow."""

    @staticmethod
    def from_columns(
        bytes: bytes | npt.NDArray[np.uint8],
        ends: npt.NDArray[np.uint64],
        counts: npt.NDArray[np.uint64],
        totals: tuple[int, int, int],
        are_distinct: bool = False,
    ) -> PretokenCounts:
        """Counts from columns that fit together, else ValueError; totals: n_bytes, n_documents, n_special_literals.

        Equal pretokens are added, and zero counts dropped, unless there are neither, which is not checked.
        """

class Rules(TypedDict, total=False):
    n_merges: Required[int]
    min_frequency: Required[int]
    max_token_bytes: Required[int | None]
    """Most units of one, for `train_alphabet`."""
    tie_break: str
    byte_order: bytes
    max_memory: int | None
    threads: int
    n_traced: int

def train(
    counts: PretokenCounts, rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None, npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """Learns merges: (uint32 [m, 2] of symbols, shortage, uint32 [m * n_traced, 2], uint64 [m * n_traced]); symbols
    0..255 are byte values, 256 + r is the result of merge r.

    The last two are the best n_traced pairs at each merge, the one that is merged first, and their counts (0: no pair).

    byte_order: the 256 byte values in the order of their ids. shortage: None where m is n_merges, else whether pairs
    are left that are rarer than min_frequency, and pairs that would make a token longer than max_token_bytes.
    """

def count_units(counts: PretokenCounts, are_bytes: bool) -> list[tuple[int, list[int]]]:
    """(unit, how often it occurs at each place of a pretoken) by ascending unit, which is a byte or a code point.

    The places: 0 inside, plus 1 at the start, plus 2 at the end.
    """

def train_alphabet(
    counts: PretokenCounts,
    are_bytes: bool,
    units: list[tuple[int, list[int]]],
    n_symbols: int,
    named: list[tuple[list[int], int]],
    rules: Rules,
    report: _Report,
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None]:
    """As `train`, over an alphabet; a merge makes symbol max(n_symbols, 256), the next one the next.

    units: (unit, its symbol at each place of `count_units`), 2^32 - 1 for none; units that are not listed are left out.
    named: tokens as symbols of units, and the symbol that a merge takes which makes one; that one does not count.
    """

def train_first_seen(
    pretokens: dict[bytes, int], rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None]:
    """As `train`, under minbpe's tie rule; the pretokens come in the order in which the corpus first holds them."""

def train_parity(
    groups: list[PretokenCounts], references: list[PretokenCounts], rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None]:
    """As `train`, each step by the group whose text costs most; references: none, or one for each group."""

def extend(
    counts: PretokenCounts, encoder: Encoder, rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None]:
    """The merges that follow those of `encoder`, as ids [m, 2] (the first makes the largest id of a token + 1, and so
    on), and the reason as of `train`.
    """

def encode_counts(
    counts: PretokenCounts, encoder: Encoder, *, threads: int, report: _Report, max_memory: int | None = None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """(ids, ends [n], counts [n]): the ids of each pretoken, where they end in `ids`, and how often it occurs."""

@final
class SpecialPolicy:
    """Which special tokens are recognised (literal, id) and which literals raise SpecialTokenError."""

    def __init__(
        self, *, allowed: list[tuple[str, int]], disallowed: list[str], rules: list[tuple[str, str]] = ...
    ) -> None: ...

@final
class Encoder:
    """Encoder and decoder of one tokenizer; immutable, safe from many threads at once."""

    n_vocab: int

    def __init__(
        self,
        *,
        columns: ModelColumns,
        ignore_merges: bool,
        special_tokens: dict[str, int],
        pattern: _Pattern,
        decode_errors: str,
        normalizer: tuple[str, ...] = (),
        special_rules: list[tuple[str, str]] = ...,
        cache_bytes: int | None = None,
        skipped: list[int] = ...,
    ) -> None:
        """skipped: ids that decoding leaves out on request."""

    def encode(self, text: str, specials: SpecialPolicy | None = None, threads: int | None = None) -> list[int]:
        """threads: as everywhere for a long text; None is 0, but 1 in a worker process."""

    def encode_beginning(self, text: str, limit: int, specials: SpecialPolicy | None) -> tuple[list[int], int]:
        """More than `limit` ids, or all, and how many characters of the text these are."""

    def encode_with_dropout(
        self, text: str, threshold: int, seed: int, specials: SpecialPolicy | None = None
    ) -> list[int]:
        """threshold: the probability times 2^53."""

    def encode_ordinary(self, text: str) -> list[int]: ...
    def encode_to_numpy(
        self, text: str, specials: SpecialPolicy | None = None, threads: int | None = None
    ) -> npt.NDArray[Any]:
        """uint16 [n] when n_vocab <= 65536, else uint32 [n]."""

    def encode_batch(self, texts: Iterable[str], threads: int, specials: SpecialPolicy | None) -> list[list[int]]: ...
    def encode_batch_to_numpy(
        self, texts: Any, threads: int, specials: SpecialPolicy | None, are_rows: bool = False
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """(ids [total], offsets int64 [n + 1]) of an iterable of str, or of the rows of an Arrow column of text."""

    def encode_file(self, path: str | PathLike[str], threads: int, report: _Report, specials: str) -> npt.NDArray[Any]:
        """specials: "recognise", "ordinary" or "error" is what literals of special tokens are, as in all that reads."""

    def count_tokens(
        self, text: str, limit: int | None, specials: SpecialPolicy | None = None, threads: int | None = None
    ) -> int: ...
    def count_tokens_batch(
        self, texts: Any, threads: int, specials: SpecialPolicy | None, are_rows: bool = False
    ) -> npt.NDArray[np.int64]:
        """int64 [n], of an iterable of str or of the rows of an Arrow column of text."""

    def encode_stream(self, specials: str) -> StreamEncoder: ...
    def session(self, specials: SpecialPolicy | None = None) -> Session:
        """A session with an empty text."""

    def decode(self, ids: _Ids, errors: str | None = None, skips: bool = False) -> str: ...
    def decode_bytes(self, ids: _Ids) -> bytes: ...
    def decode_batch(self, list_of_ids: Iterable[_Ids], skips: bool) -> list[str]: ...
    def decode_stream(self, prompt: _Ids, skips: bool) -> DecodeStream: ...
    def id_to_token(self, id: int) -> bytes: ...
    def token_to_id(self, token: bytes) -> int | None: ...
    def merges(self) -> list[tuple[bytes, bytes]]: ...
    def token_byte_lengths(self) -> npt.NDArray[np.int64]:
        """int64 [n_vocab], 0 where an id is unused."""

@final
class Session:
    """A text that grows at its end, and its ids."""

    ids: npt.NDArray[Any]
    text: str
    n_chars: int

    def append(self, text: str) -> tuple[int, npt.NDArray[Any]]:
        """(keep, ids): the first `keep` ids stay, and `ids` follow them."""

    def truncate(self, n_chars: int) -> tuple[int, npt.NDArray[Any]]:
        """The same, back to a prefix of the text."""

    def fork(self) -> Session: ...
    def __len__(self) -> int:
        """The number of ids."""

@final
class StreamEncoder:
    """Encodes the concatenation of the texts it is given, holding back what may still change."""

    def push(self, text: str) -> list[int]: ...
    def finish(self) -> list[int]: ...

@final
class DecodeStream:
    """Decodes id by id, holding back a character that is not whole yet."""

    def push(self, token_id: int) -> str:
        """The characters that are whole by now."""

    def finish(self) -> str:
        """The rest; what is held back cannot become whole any more."""

@final
class Documents:
    """A block of documents: text, and where documents end in it; immutable.

    Text after the last end belongs to an open document, which the next block continues.
    """

    n_bytes: int
    n_open_bytes: int
    is_empty: bool

    @staticmethod
    def joined(blocks: Sequence[Documents]) -> Documents:
        """One block of consecutive ones."""

    @staticmethod
    def from_texts(texts: Iterable[str], *, first: int = 0) -> Documents:
        """Each text is a document; `first` is the index of the first one, for messages."""

    def __len__(self) -> int:
        """How many documents end here."""

    def ends(self) -> npt.NDArray[np.int64]:
        """int64 [n], in bytes of the text."""

    def texts(self) -> list[str]:
        """The documents that end here; the first may have begun in an earlier block."""

    def open_text(self) -> str:
        """The text after the last end."""

    def skip(self, first: int) -> Documents:
        """The documents from number `first` on."""

    def count_words(self, in_word: bool) -> tuple[int, bool]:
        """(words that begin here, whether the text ends in one); words are apart by white space."""

@final
class TextColumns:
    """Makes documents of Arrow's columns of text, a row each; a row that is not UTF-8 is replaced, left out, or a
    CorpusError that names it.
    """

    def __init__(self, name: str, *, replace: bool, skip: bool) -> None: ...
    def read(self, texts: Any, first_row: int) -> tuple[Documents, npt.NDArray[np.uint64]]:
        """(documents, the numbers of rows left out) of an Arrow column of text.

        CorpusError for a null, or bytes that are not UTF-8, unless `skip` or `replace`: of row first_row + i.
        """

def not_text(begin: bytes) -> str | None:
    """What a file is that begins with `begin` (512 bytes are enough) and is not text, and the remedy."""

@final
class ContentDigest:
    """XXH3, 128 bits, of the bytes that are pushed."""

    def push(self, data: bytes) -> None: ...
    def hex(self) -> str: ...

@final
class PlainText:
    """Reads one file of plain text, piece by piece; CorpusError (file, byte offset) for invalid UTF-8."""

    def __init__(self, name: str, *, separator: str | None, replace: bool, keeps_separator: bool = False) -> None: ...
    def push(self, data: bytes) -> Documents: ...
    def finish(self) -> Documents: ...

@final
class JsonLines:
    """Reads one field of a file of JSON lines, piece by piece; CorpusError (file, line) for a broken record."""

    n_skipped: int
    messages: list[str]

    def __init__(
        self,
        name: str,
        *,
        field: list[str],
        replace: bool,
        skip: bool,
        origins: bool = False,
        id_field: list[str] = [],
    ) -> None:
        """origins: whether they are noted."""

    def push(self, data: bytes) -> Documents: ...
    def finish(self) -> Documents: ...
    def take_origins(self) -> tuple[npt.NDArray[np.int64], list[str | None]]:
        """Of each document since the last call the number of its line, from 1, and its id: [] without `id_field`."""

@final
class ByteLimit:
    """Cuts documents to doc_cap bytes each and max_bytes together."""

    is_full: bool

    def __init__(self, *, doc_cap: int | None, max_bytes: int | None) -> None: ...
    def use_up(self, n_bytes: int) -> None: ...
    def apply(self, documents: Documents) -> Documents: ...

@final
class BlockEncoder:
    """Encodes documents block after block; `begin_id` and `end_id` are put before and after each document."""

    def __init__(
        self,
        encoder: Encoder,
        *,
        begin_id: int | None,
        end_id: int | None,
        specials: str,
        threads: int,
    ) -> None: ...
    def push(
        self, documents: Documents, *, name: str = "", first: int = 0
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(ids [n], ends int64, literals int64 [m, 3]).

        ends: where documents end in ids; ids after that belong to the open document. literals: (document, special
        token, how often) of what is plain text, documents counted by the ends before them. name and first: the file,
        and its documents before these, for messages.
        """

def check_ascending(bytes: bytes, ends: npt.NDArray[np.uint64]) -> None:
    """Raises ValueError naming the first row that is not greater, byte by byte, than the one before it."""
