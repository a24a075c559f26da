"""Corpus files damaged at random, in every container: what reading gives is right, or the error is documented.

Each case takes a small sound file (plain text, JSON lines, Parquet or Arrow, plain or in one of the compressions),
changes a few bytes of it or cuts it short, and reads it with random options. Where the container has checksums, what is
read without an error must be what was written.
"""

import io
import random
import tempfile
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow
from pyarrow import parquet

from pairloom import Corpus
from pairloom.errors import CorpusError
from tests.corpus.files import COMPRESSORS, DOCUMENTS, SEPARATOR, write_all, write_arrow
from tests.soak.harness import Result
from tests.soak.isolation import run_by_kind
from tests.soak.mutations import changed_bytes

SUMMARY = (
    "damaged corpus files, read to the end; a failure is another error than CorpusError, a process that dies, wrong"
    " documents in spite of checksums, more than 2 s of processor time, or more memory than 200 MB"
)
QUICK = 300
FULL = 50_000


_PARQUET_COMPRESSIONS = ("none", "snappy", "gzip", "zstd")
# Every byte of them stands under a checksum, but for some of their headers.
_CHECKED = (".gz", ".bz2", ".xz", ".zst")


def run(count: int, seed: int) -> Iterator[Result]:
    """Runs `count` cases, by container."""
    with tempfile.TemporaryDirectory(prefix="pairloom-soak-") as folder:
        yield from run_by_kind(
            tuple(originals()), count, seed, lambda number: (run_case(seed, number, Path(folder)), 0)
        )


def run_case(seed: int, number: int, folder: Path) -> str:
    """What became of a case: "read", "refused: ...", "skipped" or "FAILED ..."."""
    rng = random.Random(f"{seed} {number}")
    name, data = list(originals().items())[number % len(originals())]
    path = folder / name
    path.write_bytes(changed_bytes(data, rng))
    options: dict[str, Any] = {
        "skip_bad": rng.random() < 0.3,
        "skip_bad_files": rng.random() < 0.3,
        "input_errors": rng.choice(("strict", "replace")),
        "separator": SEPARATOR if ".txt" in name else None,
    }
    try:
        reading = Corpus(path, **options).read()
        documents = _documents(reading)
    except CorpusError as error:
        return f"refused: {error}" if name in str(error) else f"FAILED message without the file: {error}"
    except Exception as error:
        return f"FAILED {type(error).__name__}: {str(error)[:300]}"
    if reading.skipped_files and documents:
        return f"FAILED {len(documents)} documents of a file that was left out"
    if reading.n_skipped or reading.skipped_files:
        return "skipped"
    if name.endswith(_CHECKED) and documents != DOCUMENTS:
        return f"FAILED {len(documents)} documents, which are not those that were written"
    return "read"


def _documents(reading: Any) -> list[str]:
    documents, open_text = [], ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for block in reading:
            texts = block.documents.texts()
            documents.extend([open_text + text if at == 0 else text for at, text in enumerate(texts)])
            open_text = ("" if texts else open_text) + block.documents.open_text()
    return documents


@cache
def originals() -> dict[str, bytes]:
    """The sound files: name -> bytes. All hold DOCUMENTS."""
    with tempfile.TemporaryDirectory() as folder:
        written = write_all(Path(folder))
        found = {name: path.read_bytes() for name, path in written.items() if name.startswith(("a.txt", "a.jsonl"))}
    columns = {"id": list(range(len(DOCUMENTS))), "meta": [{"a": [n], "b": str(n)} for n in range(len(DOCUMENTS))]}
    for compression in _PARQUET_COMPRESSIONS:
        for version in ("1.0", "2.0"):
            buffer = io.BytesIO()
            options: dict[str, Any] = {"row_group_size": 23, "data_page_size": 1000, "compression": compression}
            options |= {"data_page_version": version, "use_dictionary": version == "1.0"}
            parquet.write_table(pyarrow.table({**columns, "text": DOCUMENTS}), buffer, **options)
            found[f"a-{compression}-{version[0]}.parquet"] = buffer.getvalue()
    found["a.parquet.gz"] = COMPRESSORS[".gz"](found["a-none-1.parquet"])
    kinds: dict[str, Any] = {
        "string": pyarrow.string(),
        "large_string": pyarrow.large_string(),
        "string_view": pyarrow.string_view(),
        "dictionary": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    }
    for kind, type_ in kinds.items():
        table = pyarrow.table({**columns, "text": pyarrow.array(DOCUMENTS).cast(type_)})
        for stream in (False, True):
            for codec in (None, "zstd", "lz4") if kind == "string" else (None,):
                with tempfile.NamedTemporaryFile() as file:
                    write_arrow(Path(file.name), table, stream=stream, rows=23, compression=codec)
                    layout = "stream" if stream else "file"
                    found[f"a-{kind}-{layout}-{codec or 'none'}.arrow"] = file.read()
    return found
