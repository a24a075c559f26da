"""The exception tree: each error also derives from the built-in exception that a user would catch.

Messages say what went wrong, where, and how to fix it.
"""


class PairloomError(Exception):
    """Base class of all errors that pairloom defines."""


class SpecialTokenError(PairloomError, ValueError):
    """A text contains a special token that the caller disallowed."""


class UnknownTokenIdError(PairloomError, KeyError):
    """An id that is not in the vocabulary."""

    def __str__(self) -> str:
        # KeyError would show the repr of the message.
        return str(self.args[0]) if self.args else ""


class MissingByteError(PairloomError, ValueError):
    """A byte that has no token in the vocabulary."""


class PatternError(PairloomError, ValueError):
    """A pattern that does not compile, or whose regex engine gave up on a text."""


class CorpusError(PairloomError, ValueError):
    """A corpus that cannot be read: invalid UTF-8, a broken record, a missing column."""


class CountsError(PairloomError, ValueError):
    """Pretoken counts that were made in incompatible ways, or a damaged counts file."""


class CheckpointError(PairloomError, ValueError):
    """A checkpoint that is damaged, or that belongs to another training run or corpus."""


class ResumeError(PairloomError, ValueError):
    """A folder of shards that was made with another model, corpus or set of options."""


class FormatError(PairloomError, ValueError):
    """A model file that is damaged, or a tokenizer that a format cannot express."""


class MissingKeyError(FormatError, KeyError):
    """A model file without a required key."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""
