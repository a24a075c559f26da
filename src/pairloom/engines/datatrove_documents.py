"""datatrove: documents whose text stays in Arrow's buffers until a step asks for it, and the reader that makes them.

`pairloom.engines.datatrove` exports the reader. A Document costs datatrove's ParquetReader more than decoding its text.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any

from pairloom._internal.optional_deps import import_optional
from pairloom.corpus.columns import open_parquet

__all__ = ["ArrowDocument", "PairloomParquetReader", "columns_of"]

_PURPOSE = "pairloom.engines.datatrove"
_data: Any = import_optional("datatrove.data", _PURPOSE)
_Document: Any = _data.Document
_ParquetReader: Any = import_optional("datatrove.pipeline.readers", _PURPOSE).ParquetReader


class ArrowDocument(_Document):  # type: ignore[misc]
    """A Document whose text is a row of an Arrow column; a str is made of it when it is first asked for.

    column: None once the text was set. n_characters: of the row.
    """

    __slots__ = ("_text", "column", "n_characters", "row")
    _text: Any
    column: Any
    n_characters: int
    row: int

    @classmethod
    def of_row(cls, column: Any, row: int, n_characters: int, fields: dict[str, Any] | None, id: str) -> ArrowDocument:
        """The document of row `row`; fields: id, media and metadata, where there are more columns than the text."""
        document = cls.__new__(cls)
        document._text, document.column, document.row, document.n_characters = None, column, row, n_characters
        if fields is None:
            document.id, document.media, document.metadata = id, [], {}
        else:
            document.id, document.metadata = fields["id"], fields["metadata"]
            document.media = [_data.Media(**media) for media in fields["media"] or ()]
        return document

    @property
    def text(self) -> Any:
        """The text; datatrove's steps may set it to anything."""
        if self.column is not None and self._text is None:
            self._text = self.column[self.row].as_py()
        return self._text

    @text.setter
    def text(self, text: Any) -> None:
        self._text, self.column = text, None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Document) and _fields(self) == _fields(other)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        # Not the column, which holds the texts of others too.
        return _Document, _fields(self)


def _fields(document: Any) -> tuple[Any, ...]:
    return document.text, document.id, document.media, document.metadata


class PairloomParquetReader(_ParquetReader):  # type: ignore[misc]
    """ParquetReader with its options and its documents, which make a str only where a step reads or sets their text.

    PretokenCounter and PairloomTokenizer take the others out of Arrow's buffers. With an `adapter`, and where the
    column is no text, it is ParquetReader itself.
    """

    name = "📒 Parquet (Arrow)"

    def read_file(self, filepath: str) -> Iterator[Any]:
        """The documents of a file."""
        pyarrow = import_optional("pyarrow", _PURPOSE)
        # A buffer: without one, new memory is taken for each column of a row group.
        with self.data_folder.open(filepath, "rb") as file, open_parquet(file, buffer_size=1 << 20) as opened:
            index = opened.schema_arrow.get_field_index(self.text_key)
            kinds = (pyarrow.string(), pyarrow.large_string())
            if self.adapter == self._default_adapter and index >= 0 and opened.schema_arrow.field(index).type in kinds:
                columns = None if self.read_metadata else [self.text_key, self.id_key]
                n_documents = 0
                for batch in opened.iter_batches(self.batch_size, columns=columns, use_threads=False):
                    with self.track_time("batch"):
                        documents = list(self._documents(batch, filepath, n_documents))
                    n_documents += len(documents)
                    yield from documents
                return
        yield from super().read_file(filepath)

    def _documents(self, batch: Any, filepath: str, first: int) -> Iterator[ArrowDocument]:
        """The documents of a batch that have a text; `first` is the number of the first one in its file."""
        compute = import_optional("pyarrow.compute", _PURPOSE)
        column = batch.column(self.text_key)
        others = batch.drop_columns([self.text_key])
        rows: Any = others.to_pylist() if others.num_columns else itertools.repeat(None, len(column))
        path = self.data_folder.resolve_paths(filepath)
        number = first
        for row, (n_characters, other) in enumerate(zip(compute.utf8_length(column).to_pylist(), rows, strict=True)):
            if not n_characters:
                # Left out with a warning.
                self.get_document_from_dict({**(other or {}), self.text_key: None}, filepath, number)
                continue
            fields = None if other is None else self.adapter(other, filepath, number)
            document = ArrowDocument.of_row(column, row, n_characters, fields, f"{filepath}/{number}")
            number += 1
            if self.default_metadata:
                document.metadata = self.default_metadata | document.metadata
            if self.add_file_path:
                document.metadata.setdefault("file_path", path)
            yield document

    def update_doc_stats(self, document: Any) -> None:
        """As the base class, without a str."""
        if not isinstance(document, ArrowDocument) or document.column is None:
            super().update_doc_stats(document)
            return
        self.stat_update("doc_len", value=document.n_characters, unit="doc")
        if n_tokens := document.metadata.get("token_count", None):
            self.stat_update("doc_len_tokens", value=n_tokens, unit="doc")


def columns_of(documents: Iterable[Any]) -> Iterator[Any]:
    """The texts of documents: lists of str, and Arrow columns of those in one; TypeError for one without text."""
    for _, several in itertools.groupby(documents, lambda document: id(getattr(document, "column", None))):
        run = list(several)
        column = getattr(run[0], "column", None)
        if column is None:
            yield [_checked(document) for document in run]
            continue
        rows = [document.row for document in run]
        is_whole = rows == list(range(rows[0], rows[0] + len(rows)))
        yield column.slice(rows[0], len(rows)) if is_whole else column.take(rows)


def _checked(document: Any) -> str:
    if not isinstance(document.text, str):
        raise TypeError(f"document {document.id!r}: text must be a str, not {type(document.text).__name__}")
    text: str = document.text
    return text
