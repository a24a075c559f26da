"""The exception tree: each error is also the built-in that a user would catch.

Messages say what, where and the remedy.
"""


class PairloomError(Exception):
    """The root of all errors that pairloom defines."""


class SpecialTokenError(PairloomError, ValueError):
    """A text holds a special token that the caller disallowed."""


class UnknownTokenIdError(PairloomError, KeyError):
    """An id that the vocabulary does not hold."""

    def __str__(self) -> str:
        # KeyError shows the repr of its argument; a sentence reads better.
        return str(self.args[0]) if self.args else ""


class MissingByteError(PairloomError, ValueError):
    """A byte that a hand-made vocabulary has no token for."""


class PatternError(PairloomError, ValueError):
    """A pattern that does not compile, or that gave up on a text."""


class CorpusError(PairloomError, ValueError):
    """A corpus that cannot be read: invalid UTF-8, a broken record, a missing column."""


class CountsError(PairloomError, ValueError):
    """Pretoken counts that do not fit together, or a damaged counts file."""


class CheckpointError(PairloomError, ValueError):
    """A checkpoint that is damaged, or that belongs to another training or corpus."""


class ResumeError(PairloomError, ValueError):
    """A folder of shards that another model, corpus or set of options made."""


class FormatError(PairloomError, ValueError):
    """A model file that is damaged, or a tokenizer that a format cannot express."""


class MissingKeyError(FormatError, KeyError):
    """A model file that lacks a key it must have."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
