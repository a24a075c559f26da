"""The compiled module: the private, typed interface to the Rust core.

Long calls release the interpreter, call `report(stage, done, total)` about ten times a second from the calling
thread, and stop within a fraction of a second on a signal or when `report` raises. `threads=0` means all cores.
Lone surrogates in text raise UnicodeEncodeError; an allocation that the system or `max_memory` refuses raises
MemoryError. In calls that take several texts or lists of ids, errors name the index of the invalid one. Mutable objects
(Counter, StreamEncoder, DecodeStream, PlainText, JsonLines, ByteLimit, BlockEncoder) serve one call at a time: a
concurrent call, from another thread or from a callback, raises RuntimeError.
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
"""The patterns of CLIP's words, as tokenizer.json files write them."""
DIGIT: str
"""The character class that the step Digits of a tokenizer.json splits on."""
PUNCTUATION: str
"""The character class that the step Punctuation of a tokenizer.json splits on."""

def cpu_tier() -> str:
    """Returns the instruction set that the hot loops use: "avx512", "avx2", "neon" or "portable".

    It is the best one that the processor has and that the environment variable PAIRLOOM_DISABLE_CPU_FEATURES
    (comma-separated names, read once) does not disable. Results do not depend on it.
    """

DEBUG_ASSERTIONS: bool

def map_file(descriptor: int) -> npt.NDArray[np.uint8]:
    """The bytes of an open file, mapped into memory read-only; keeps no descriptor, as mmap does. Not on Windows."""

_Report = Callable[[str, int, int], object] | None
_Pattern = str | tuple[str, ...]
_Specials = Sequence[tuple[str, int | None]]
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
        """Raises ValueError unless the columns are a valid tokenizer."""

    @staticmethod
    def from_pairs(
        pairs: npt.NDArray[np.uint32], *, byte_order: bytes, first_byte: int, first_merge: int
    ) -> ModelColumns:
        """Builds columns from uint32 [m, 2] pairs of symbols: 0..255 are byte values, 256 + r is the result of merge r.

        Bytes get ids from `first_byte` on, in `byte_order`; results get ids from `first_merge` on, above the bytes.
        """

    def tokens(self) -> dict[int, bytes]: ...
    def missing_bytes(self) -> list[int]: ...
    def check_special_tokens(self, special_tokens: list[tuple[str, int]]) -> None:
        """Raises ValueError if special tokens conflict with these tokens."""

    def canonical_form(self) -> ModelColumns | None:
        """Returns the canonical form of all columns that encode like these when whole pretokens are looked up first.

        None if the pairs differ from those that the ranks imply: then no other columns encode alike.
        """

    def lists(self) -> dict[str, bytes]:
        """Returns the long values of a schema 2 file as JSON, by key: lists of numbers, and the bytes of tokens."""

    def equals(self, other: ModelColumns) -> bool: ...

def format_of(head: bytes, name: str) -> str:
    """Returns the format of a file that begins with `head`: "pairloom", "huggingface", "tiktoken" or "tekken"; else
    raises FormatError.
    """

def read_model(
    format: str,
    data: bytes,
    name: str,
    pattern: _Pattern | None,
    special_tokens: _Specials,
    beside: bytes | None,
    are_ordinary: bool,
) -> dict[str, Any]:
    """Reads the fields of a `Model`, by name, from a file that messages call `name`; FormatError, MissingKeyError.

    post_processor and tokenizer_config are JSON as in the file. beside: a JSON list of two items from the files next to
    a tokenizer.json: its added_tokens_decoder or null, and the literals that have a role.
    """

def read_gpt2(
    vocab: bytes,
    vocab_name: str,
    merges: bytes,
    merges_name: str,
    pattern: _Pattern | None,
    special_tokens: _Specials,
) -> dict[str, Any]:
    """Reads the fields of a `Model`, by name, from a vocab.json and a merges.txt; FormatError."""

def model_of_ranks(columns: ModelColumns, name: str, pattern: _Pattern, special_tokens: _Specials) -> dict[str, Any]:
    """Returns the fields of a `Model`, by name, for tokens whose ids are ranks; a FormatError begins with `name`."""

def read_added_tokens(
    data: bytes, name: str, forms: list[str]
) -> tuple[dict[str, int], frozenset[str], tuple[tuple[str, str], ...]]:
    """Reads a JSON list of added tokens: (ids, literals that are not special, rules); a FormatError names `name`.

    forms: the normaliser's steps; tokens marked "normalized" are searched for after these.
    """

def pairs_of_ranks(
    token_bytes: bytes, token_ends: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """Returns (rows [m, 3] of left, right, merged; unreachable tokens; tokens with a byte that is not a token).

    All are indices of tokens in rank order.
    """

def pretokenize(text: str, pattern: _Pattern) -> list[bytes]:
    """Returns the pretokens of one document."""

def pattern_engine(pattern: _Pattern) -> Literal["scanner", "dfa", "backtracking"]:
    """Returns what runs a pattern: a handwritten scanner, automata, or a backtracking regex engine."""

def is_total(pattern: _Pattern) -> bool:
    """Whether the matches of a pattern are known to leave no gaps in any text."""

def check_run_as_written(pattern: str) -> None:
    """Raises FormatError if tiktoken's engine does not run the pattern as written, PatternError if it is invalid."""

def can_match_nothing(pattern: str) -> bool:
    r"""Whether a match can be empty, or can leave out text with `\K`; PatternError if the pattern does not parse."""

def matches(texts: list[str], pattern: str) -> list[list[tuple[int, int]]]:
    """Returns the nonempty matches of a pattern in each text, as (start, end) in characters."""

def normalized(texts: list[str], steps: list[str]) -> list[str]:
    """Returns each text after the steps of a normaliser; ValueError for an unknown step."""

def read_oniguruma(pattern: str) -> tuple[str, bool]:
    """Translates a pattern of a tokenizer.json: (pattern, whether it can match nothing); PatternError names what is
    not supported.
    """

def write_oniguruma(pattern: str) -> tuple[str, bool]:
    """Translates a pattern for a tokenizer.json: (pattern, whether it can match nothing); PatternError names what
    cannot be written.
    """

@final
class Counter:
    """Counts the pretokens of texts and files; `finish` returns the result and ends the counter."""

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
        """Counts texts, each a document; errors number them from `first` on."""

    def count_arrow(self, texts: Any) -> None:
        """Counts the rows of an Arrow column of text, each a document; skips nulls."""

    def add_counts(self, counts: PretokenCounts) -> None:
        """Adds the counts and their totals."""

    def add_rows(self, pretokens: Any, counts: npt.NDArray[np.uint64]) -> int:
        """Adds an Arrow column of pretokens with their counts, and returns their bytes; the totals do not change."""

    def add_totals(self, n_bytes: int, n_documents: int, n_special_literals: int) -> None:
        """Adds to the totals."""

    def count_files(self, paths: list[str]) -> None:
        """Counts UTF-8 files, each a document; OSError, CorpusError (file, byte offset)."""

    def count_block(self, documents: Documents, *, n_bytes_read: int = 0) -> None:
        """Counts the documents of a block; an open document continues in the next block.

        n_bytes_read: the memory that reading holds meanwhile, which counts towards `max_memory`.
        """

    def finish(self) -> PretokenCounts:
        """Returns the counts of everything added."""

@final
class PretokenCounts:
    """Distinct pretokens with their counts, as columns. Only `add` changes them; no other call can run meanwhile."""

    n_bytes: int
    n_documents: int
    n_special_literals: int

    def __len__(self) -> int: ...
    def sorted_columns(self) -> tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Returns (bytes, ends [n], counts [n]), sorted by the pretokens' bytes."""

    def unsorted_columns(self) -> tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Returns (bytes, ends [n], counts [n]) in any order, without sorting."""

    def pruned(self, min_count: int) -> PretokenCounts:
        """Returns the pretokens that occur at least `min_count` times, with unchanged totals."""

    def minus(self, other: PretokenCounts) -> PretokenCounts:
        """Returns these counts minus `other`; CountsError if any count or total of `other` is larger."""

    def add(self, other: PretokenCounts) -> None:
        """Adds `other`, a different object, in place; ValueError on overflow. After an error nothing has changed."""

    @staticmethod
    def merged(parts: list[PretokenCounts]) -> PretokenCounts:
        """Returns the sum of several counts; ValueError on overflow."""

    @staticmethod
    def from_columns(
        bytes: bytes | npt.NDArray[np.uint8],
        ends: npt.NDArray[np.uint64],
        counts: npt.NDArray[np.uint64],
        totals: tuple[int, int, int],
        are_distinct: bool = False,
    ) -> PretokenCounts:
        """Builds counts from columns; ValueError if they do not fit together.

        totals: n_bytes, n_documents, n_special_literals. Sums equal pretokens and drops zero counts. are_distinct
        promises that there are neither, and is not checked.
        """

class Rules(TypedDict, total=False):
    n_merges: Required[int]
    min_frequency: Required[int]
    max_token_bytes: Required[int | None]
    """The limit for one token; for `train_alphabet`, in units of the alphabet."""
    tie_break: str
    byte_order: bytes
    max_memory: int | None
    threads: int
    n_traced: int

def train(
    counts: PretokenCounts, rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None, npt.NDArray[np.uint32], npt.NDArray[np.uint64]]:
    """Learns merges: (uint32 [m, 2] of symbols, shortage, uint32 [m * n_traced, 2], uint64 [m * n_traced]).

    Symbols 0..255 are byte values; 256 + r is the result of merge r. The last two arrays hold, for each merge, the best
    n_traced pairs, beginning with the merged one, and their counts (0: no pair).

    byte_order: the 256 byte values in the order of their ids. shortage: None if m is n_merges, else whether pairs are
    left that are rarer than min_frequency, and whether pairs are left that make a token longer than max_token_bytes.
    """

def count_units(counts: PretokenCounts, are_bytes: bool) -> list[tuple[int, list[int]]]:
    """Counts units (bytes or code points): (unit, its count at each place of a pretoken), by ascending unit.

    The index of the place is 0 inside, plus 1 at the start, plus 2 at the end.
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
    """Like `train`, but over an alphabet; merges make the symbols max(n_symbols, 256), + 1, ...

    units: (unit, its symbol at each place of `count_units`, 2^32 - 1 for none); unlisted units are left out.
    named: (symbols of a token's units, the token's symbol): a merge that makes such a token gets that symbol, and does
    not count towards n_merges.
    """

def train_first_seen(
    pretokens: dict[bytes, int], rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None]:
    """Like `train`, but with minbpe's tie rule; `pretokens` is in the order of first occurrence in the corpus."""

def train_parity(
    groups: list[PretokenCounts], references: list[PretokenCounts], rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None]:
    """Like `train`, but each step merges for the group whose text costs most; references: empty, or one per group."""

def extend(
    counts: PretokenCounts, encoder: Encoder, rules: Rules, report: _Report
) -> tuple[npt.NDArray[np.uint32], tuple[bool, bool] | None]:
    """Learns the merges that follow those of `encoder`: (ids [m, 2], shortage as in `train`).

    The first new merge makes the id after the largest id of a token, the second the next one, and so on.
    """

def encode_counts(
    counts: PretokenCounts, encoder: Encoder, *, threads: int, report: _Report, max_memory: int | None = None
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Returns (ids, ends [n], counts [n]): the ids of all pretokens, each one's end offset, and how often it occurs."""

@final
class SpecialPolicy:
    """The special tokens to recognise, as (literal, id), and the literals that raise SpecialTokenError."""

    def __init__(
        self, *, allowed: list[tuple[str, int]], disallowed: list[str], rules: list[tuple[str, str]] = ...
    ) -> None: ...

@final
class Encoder:
    """Encoder and decoder of one tokenizer; immutable and thread-safe."""

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
        """skipped: the ids that decoding leaves out with skips=True."""

    def encode(self, text: str, specials: SpecialPolicy | None = None, threads: int | None = None) -> list[int]:
        """threads: used for a long text only; None means 0, but 1 in a worker process."""

    def encode_beginning(self, text: str, limit: int, specials: SpecialPolicy | None) -> tuple[list[int], int]:
        """Returns (ids, n_chars): more than `limit` ids, or all, and the number of characters they encode."""

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
        """Encodes an iterable of str, or the rows of an Arrow column of text: (ids [total], offsets int64 [n + 1])."""

    def encode_file(self, path: str | PathLike[str], threads: int, report: _Report, specials: str) -> npt.NDArray[Any]:
        """specials: how special tokens are treated, "recognise", "ordinary" or "error", as in `encode_stream`."""

    def count_tokens(
        self, text: str, limit: int | None, specials: SpecialPolicy | None = None, threads: int | None = None
    ) -> int: ...
    def count_tokens_batch(
        self, texts: Any, threads: int, specials: SpecialPolicy | None, are_rows: bool = False
    ) -> npt.NDArray[np.int64]:
        """Returns int64 [n] for an iterable of str, or for the rows of an Arrow column of text."""

    def encode_stream(self, specials: str) -> StreamEncoder: ...
    def session(self, specials: SpecialPolicy | None = None) -> Session:
        """Returns a session with an empty text."""

    def decode(self, ids: _Ids, errors: str | None = None, skips: bool = False) -> str: ...
    def decode_bytes(self, ids: _Ids) -> bytes: ...
    def decode_batch(self, list_of_ids: Iterable[_Ids], skips: bool) -> list[str]: ...
    def decode_stream(self, prompt: _Ids, skips: bool) -> DecodeStream: ...
    def id_to_token(self, id: int) -> bytes: ...
    def token_to_id(self, token: bytes) -> int | None: ...
    def merges(self) -> list[tuple[bytes, bytes]]: ...
    def token_byte_lengths(self) -> npt.NDArray[np.int64]:
        """Returns int64 [n_vocab], 0 for an unused id."""

@final
class Session:
    """A text that grows at its end, and its ids."""

    ids: npt.NDArray[Any]
    text: str
    n_chars: int

    def append(self, text: str) -> tuple[int, npt.NDArray[Any]]:
        """Appends text, and returns (keep, ids): the first `keep` ids stay, and `ids` follow them."""

    def truncate(self, n_chars: int) -> tuple[int, npt.NDArray[Any]]:
        """Cuts the text back to a prefix, and returns (keep, ids) as `append` does."""

    def fork(self) -> Session: ...
    def __len__(self) -> int:
        """Returns the number of ids."""

@final
class StreamEncoder:
    """Encodes the concatenation of the texts pushed, holding back ids that can still change."""

    def push(self, text: str) -> list[int]: ...
    def finish(self) -> list[int]: ...

@final
class DecodeStream:
    """Decodes id by id, holding back an incomplete character."""

    def push(self, token_id: int) -> str:
        """Returns the characters that are now complete."""

    def finish(self) -> str:
        """Returns the rest, decoding an incomplete character as malformed bytes."""

@final
class Documents:
    """A block of documents: text, and the offsets where documents end; immutable.

    Text after the last end belongs to an open document, which the next block continues.
    """

    n_bytes: int
    n_open_bytes: int
    is_empty: bool

    @staticmethod
    def joined(blocks: Sequence[Documents]) -> Documents:
        """Joins consecutive blocks."""

    @staticmethod
    def from_texts(texts: Iterable[str], *, first: int = 0) -> Documents:
        """Makes each text a document; messages number the texts from `first` on."""

    def __len__(self) -> int:
        """Returns the number of documents that end in this block."""

    def ends(self) -> npt.NDArray[np.int64]:
        """Returns the end offsets of documents, int64 [n], in bytes of the text."""

    def texts(self) -> list[str]:
        """Returns the documents that end in this block; of the first one, only the part in this block."""

    def open_text(self) -> str:
        """Returns the text after the last end."""

    def skip(self, first: int) -> Documents:
        """Returns the block without its first `first` documents."""

    def count_words(self, in_word: bool) -> tuple[int, bool]:
        """Returns (number of words that begin in this block, whether it ends inside a word); white space ends words.

        in_word: whether the previous block ended inside a word.
        """

@final
class TextColumns:
    """Makes documents of Arrow columns of text, one per row. In a row that is not UTF-8, malformed bytes are replaced,
    or the row is skipped, or a CorpusError names it.
    """

    def __init__(self, name: str, *, replace: bool, skip: bool) -> None: ...
    def read(self, texts: Any, first_row: int) -> tuple[Documents, npt.NDArray[np.uint64]]:
        """Reads an Arrow column of text: (documents, the numbers of the skipped rows).

        A null, or bytes that are not UTF-8, raise a CorpusError for row first_row + i, unless `skip` or `replace`
        allows them.
        """

def not_text(begin: bytes) -> str | None:
    """Names the type of a file that is not text, and the remedy; None for text. 512 bytes in `begin` are enough."""

@final
class ContentDigest:
    """The 128-bit XXH3 digest of the bytes pushed."""

    def push(self, data: bytes) -> None: ...
    def hex(self) -> str: ...

@final
class PlainText:
    """Reads one plain text file piece by piece; CorpusError (file, byte offset) for invalid UTF-8."""

    def __init__(self, name: str, *, separator: str | None, replace: bool, keeps_separator: bool = False) -> None: ...
    def push(self, data: bytes) -> Documents: ...
    def finish(self) -> Documents: ...

@final
class JsonLines:
    """Reads one field of a JSON lines file piece by piece; CorpusError (file, line) for a broken record."""

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
        """origins: whether to record line numbers and ids for `take_origins`."""

    def push(self, data: bytes) -> Documents: ...
    def finish(self) -> Documents: ...
    def take_origins(self) -> tuple[npt.NDArray[np.int64], list[str | None]]:
        """Returns (line numbers from 1, ids) of the documents since the last call; ids are [] without `id_field`."""

@final
class ByteLimit:
    """Truncates documents to doc_cap bytes each and max_bytes in total."""

    is_full: bool

    def __init__(self, *, doc_cap: int | None, max_bytes: int | None) -> None: ...
    def use_up(self, n_bytes: int) -> None: ...
    def apply(self, documents: Documents) -> Documents: ...

@final
class BlockEncoder:
    """Encodes documents block by block, with `begin_id` and `end_id` before and after each document."""

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
        """Returns (ids [n], ends int64, literals int64 [m, 3]).

        ends: the offsets in ids where documents end; ids after the last end belong to the open document. literals:
        (document, special token, count) of special tokens encoded as plain text; `document` is the number of ends
        before it. name, first: the file and the number of its documents before this block, for messages. After an
        error each further call is a ValueError, because text of an open document is lost.
        """

def check_ascending(bytes: bytes, ends: npt.NDArray[np.uint64]) -> None:
    """Raises ValueError that names the first row not greater than the previous one, compared byte by byte."""
