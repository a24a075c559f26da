"""Every combination of splitting steps against HuggingFace's library: the same ids, or refused with the reason."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest
import regex
import tokenizers

from pairloom import FormatError, Tokenizer, pretokenize
from pairloom.formats import huggingface
from pairloom.formats.shared.empty_matches import can_match_nothing, least_length
from pairloom.formats.shared.oniguruma import from_oniguruma, to_oniguruma
from pairloom.reference.pretokens import pretokenize as reference_pretokenize
from tests.formats.models import trained

MERGES = [(97, 98), (32, 97), (97, 97), (32, 32), (256, 256), (49, 50), (46, 46), (10, 10), (98, 46), (99, 49)]
MERGES += [(0xC2, 0xB2), (0xC3, 0xA9), (49, 49), (65, 98)]
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
PATTERNS: list[dict[str, str]] = [
    *({"Regex": text} for text in (r"\s+", "[ab]", r"\p{N}{1,3}", "a*", r"(?=b)", r"(?i:A)b?|1$", r"a{1,2}+")),
    {"Regex": r" ?\p{L}+|[^\s\p{L}]+|\s+(?!\S)|\s+"},
    {"Regex": r"(?<=b)[^b]+|b(?!b)"},
    *(
        {"Regex": text}
        for text in (r"\w+|\h", r"[\w']+", r"\W", r"[^\W\d]+", r"\ba|c\b", r"\B.", r"(?m:a.)", r"(?m).\n|b.", r"\H")
    ),
    *(
        {"Regex": text}
        for text in (
            r"(?=(\d{3})+(?!\d))",
            r"(?<=[a-z])(?=[A-Z])",
            r"\s*b??",
            r"b*?(?=a)|c",
            r"\b",
            r"[^a]*a?",
            r"^.",
            r"\R",
            "^",
        )
    ),
    *(
        {"Regex": text}
        for text in (
            r"a?\Z",
            r"\n\Z|b",
            r"[[:punct:]]+|[^[:^word:]]",
            r"(a|b| )\1",
            r"(.)(.)\2\1?",
            r"(a*)b\1",
            r"a\Kb",
            r"[^ ]\K ",
            r"(?<=a)b|b\K",
            "(?x) a b? # both\n | [ ] c",
            "(?x: a | (?i: B ) \\  )c?",
            "a(?i)b|c",
            "(?:a(?i)b|c)1?|(?m) .(?i)a",
            r"\p{Word}+|\p{^graph}",
            r"\*?",
            r"\??|b",
            r"(?<n>a|b| )\k<n>",
            r"(?<m>.)(?<n>.)\k'n'\k<m>?",
            r"(a|b)c?\k<-1>",
            r"(?=(?i)A)ab|(?i:\N)c",
        )
    ),
    *(
        {"Regex": text}
        for text in (
            r"\X",
            r"\X{2}|(?<=👨)\X",
            r"(?i:\X)b|\s\X?",
            r"\Ga|b",
            r"(?:\G| )[a-c]|1",
            r"(?!\G)\w",
            r"(?:a\Kb)+|1",
            r"(?>a\K.)c?",
            r"(?=a\K)..?",
            r"(?<=a\K)b",
            r"a\Kb|bc|c",
            r"a{2}?b",
            r"(?:a|b){2}??c",
            r"(?i:\p{Lu})b|(?i)A(?-i:B)",
            r"a(?i)|B",
            r"(?:b(?m))c| ",
            r"[\w&&[^\d]]+|\d",
            r"[[a-c.]&&[^b]]|[^[^\s]&&[^.]]",
            r"(\s?)+",
            r"(?:a*)*b",
            r"(?:a|b*)*1|(?:\s*?)*.",
            r"(?:a*|b)*c|(?:\s|b??)+1|.",
            r"(?:[ab]?\s?){1,3}|\.",
            r"a|\B.+(?=c)",
            r"(?=a).+|^.+?c",
        )
    ),
    *({"String": text} for text in ("ab", ".", "a|b", "²")),
]
BEHAVIORS = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")
OTHERS: list[dict[str, Any]] = [
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    *({"type": "Digits", "individual_digits": individual} for individual in (True, False)),
    *({"type": "FixedLength", "length": length} for length in (1, 3)),
    *({"type": kind} for kind in ("UnicodeScripts", "Whitespace", "WhitespaceSplit", "BertPreTokenizer")),
    *({"type": "CharDelimiterSplit", "delimiter": character} for character in " a"),
    {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never", "split": True},
]
NEWER = "\U00011de0"  # a digit since Unicode 17
LOSES = r"leaves parts of the text out"


def texts(n: int) -> list[str]:
    rng = random.Random(7)
    alphabet = [*"ab c12.\n-é東_'|AB²¼東カ", "  ", "<s>", "ab", NEWER, "\u061d", "e\u0301", "👨\u200d👩", "\r\n", "*?"]
    return ["".join(rng.choices(alphabet, k=rng.randrange(30))) for _ in range(n)]


@pytest.fixture(scope="module")
def file() -> dict[str, Any]:
    model = trained(MERGES, special_tokens={"<s>": 256 + len(MERGES)}, decode_errors="replace")
    found: dict[str, Any] = json.loads(Tokenizer.from_model(model).to_huggingface().to_str())
    return found


def outcome(file: dict[str, Any], pre_tokenizer: dict[str, Any], n_texts: int = 200) -> str:
    """ "same", or why it is refused; fails where ids differ, before or after saving, or where nothing would be lost."""
    theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": pre_tokenizer}))
    literals = [
        literal for step in pre_tokenizer["pretokenizers"] if (literal := step.get("pattern", {}).get("String"))
    ]
    wanted = [(text, theirs.encode(text).ids) for text in (*texts(n_texts), *literals)]
    try:
        ours = Tokenizer.from_huggingface(theirs)
    except FormatError as error:
        assert any(theirs.decode(ids, skip_special_tokens=False) != text for text, ids in wanted), pre_tokenizer
        return str(error)
    again = ours.to_huggingface()
    for number, (text, ids) in enumerate(wanted):
        assert ours.encode(text) == ids, (pre_tokenizer, text)
        assert again.encode(text).ids == ids, (pre_tokenizer, text)
        if number < 20 and NEWER not in text:
            assert pretokenize(text, ours.pattern) == reference_pretokenize(text, ours.pattern), (pre_tokenizer, text)
    assert Tokenizer.from_huggingface(again) == ours
    return "same"


@pytest.mark.parametrize("split", PATTERNS, ids=str)
def test_split_by_every_behavior(split: dict[str, str], file: dict[str, Any]) -> None:
    for behavior, invert, use_regex in itertools.product(BEHAVIORS, (False, True), (False, True)):
        step = {"type": "Split", "pattern": split, "behavior": behavior, "invert": invert}
        steps = [step, {**BYTE_LEVEL, "use_regex": use_regex}]
        found = outcome(file, {"type": "Sequence", "pretokenizers": steps})
        assert found == "same" or (behavior == "Removed" and LOSES in found), (step, found)


@pytest.mark.parametrize("step", OTHERS, ids=str)
def test_other_steps_before_and_behind_byte_level(step: dict[str, Any], file: dict[str, Any]) -> None:
    for use_regex in (False, True):
        byte_level = {**BYTE_LEVEL, "use_regex": use_regex}
        for steps in ([step, byte_level], [byte_level, step], [byte_level, step, OTHERS[5]]):
            found = outcome(file, {"type": "Sequence", "pretokenizers": steps})
            assert found == "same" or LOSES in found or "cannot be expressed" in found, (steps, found)


def test_steps_of_published_files(file: dict[str, Any]) -> None:
    falcon = [
        {"type": "Punctuation", "behavior": "Contiguous"},
        BYTE_LEVEL,
        {"type": "Digits", "individual_digits": False},
        {"type": "Split", "pattern": {"Regex": "[0-9][0-9][0-9]"}, "behavior": "Isolated", "invert": False},
    ]
    assert outcome(file, {"type": "Sequence", "pretokenizers": falcon}) == "same"
    digits = {"type": "Split", "pattern": {"Regex": r"(?=(\d{3})+(?!\d))"}, "behavior": "Isolated", "invert": False}
    for steps in ([{"type": "Digits", "individual_digits": True}, BYTE_LEVEL], [digits, BYTE_LEVEL]):
        assert outcome(file, {"type": "Sequence", "pretokenizers": steps}) == "same"


def test_byte_level_alone_and_with_a_space_before(file: dict[str, Any]) -> None:
    for use_regex, prefix in itertools.product((True, False), (True, False)):
        byte_level = {**BYTE_LEVEL, "use_regex": use_regex, "add_prefix_space": prefix}
        for behind in ([], [{"type": "Digits", "individual_digits": True}]):
            steps = {"type": "Sequence", "pretokenizers": [byte_level, *behind]}
            if not prefix:
                assert outcome(file, steps) == "same"
                continue
            theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": steps}))
            ours = Tokenizer.from_huggingface(theirs)
            assert [ours.encode(text) for text in texts(200)] == [theirs.encode(text).ids for text in texts(200)]
            assert Tokenizer.from_huggingface(ours.to_huggingface()) == ours
    twice = {"type": "Sequence", "pretokenizers": [BYTE_LEVEL, BYTE_LEVEL]}
    assert "a second ByteLevel" in outcome(file, twice)


@pytest.mark.parametrize(
    ("before", "pattern", "invert"),
    [
        # White space is none of the byte alphabet's letters, and all that a text has is letters there.
        *(([BYTE_LEVEL], {"Regex": text}, False) for text in (r"\s+", r" |\s[a-z]+", "é\u3000", r"(?:a|b) +")),
        *(([BYTE_LEVEL], {"String": text}, False) for text in (" ", "a b")),
        *(([BYTE_LEVEL], {"Regex": text}, True) for text in (r"\S+", r"[^ ]", r"\w|[^\w\n]+")),
        ([OTHERS[7]], {"String": "ab"}, False),
        ([BYTE_LEVEL, OTHERS[7]], {"Regex": r"(a)\1b|[ab]{4,}"}, False),
        ([OTHERS[6]], {"String": "a1b"}, False),
        ([OTHERS[0]], {"String": "b.b"}, False),
        ([{**BYTE_LEVEL, "use_regex": True}], {"String": "(ab)"}, False),
        ([], {"Regex": r"a\K(?=b)|(?=\G)|[bc]+\K\b"}, False),
    ],
    ids=str,
)
def test_what_removes_nothing_is_taken(
    before: list[dict[str, Any]], pattern: dict[str, str], invert: bool, file: dict[str, Any]
) -> None:
    removed = {"type": "Split", "pattern": pattern, "behavior": "Removed", "invert": invert}
    steps = [*before, removed, *([] if BYTE_LEVEL["type"] in (step["type"] for step in before) else [BYTE_LEVEL])]
    assert outcome(file, {"type": "Sequence", "pretokenizers": steps}) == "same"


@pytest.mark.parametrize(
    ("before", "pattern", "invert"),
    [
        *(([BYTE_LEVEL], {"Regex": text}, False) for text in (r"\s|a", r"\s?a", "(?i: )|b", r"\S", "(a| )b")),
        *(([], {"Regex": text}, False) for text in (r"a|b\K", r"a\Kb", r"(?:c|a\K)", r"a(?:b\K|)")),
        ([BYTE_LEVEL], {"Regex": r"[^a]"}, True),
        ([{**BYTE_LEVEL, "use_regex": False}], {"String": ".b"}, False),
        ([OTHERS[8]], {"String": "ab"}, False),
        ([OTHERS[4]], {"String": ".."}, False),
        ([OTHERS[6]], {"String": "ab"}, False),
        ([{**BYTE_LEVEL, "use_regex": True}], {"String": "'s"}, False),
    ],
    ids=str,
)
def test_what_removes_something_is_refused(
    before: list[dict[str, Any]], pattern: dict[str, str], invert: bool, file: dict[str, Any]
) -> None:
    removed = {"type": "Split", "pattern": pattern, "behavior": "Removed", "invert": invert}
    steps = [*before, removed, *([] if BYTE_LEVEL["type"] in (step["type"] for step in before) else [BYTE_LEVEL])]
    # `outcome` shows that a text is lost there.
    assert LOSES in outcome(file, {"type": "Sequence", "pretokenizers": steps})


def test_white_space_that_two_tokens_take_is_refused_only_where_both_are_found(file: dict[str, Any]) -> None:
    n = len(file["model"]["vocab"])
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    taking, beginning = {"content": "<a>", "rstrip": True}, {"content": " <b>", "lstrip": True}

    def ours(taking: dict[str, Any], beginning: dict[str, Any], *, encodes_special: bool = False) -> Tokenizer:
        added = [{**flags, **entry, "id": n + i} for i, entry in enumerate((taking, beginning))]
        theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "added_tokens": added}))
        theirs.encode_special_tokens = encodes_special
        found = Tokenizer.from_huggingface(theirs)
        rng = random.Random(5)
        for _ in range(200):
            text = "".join(rng.choices(["<a>", " <b>", "<b>", " ", "a", "ab"], k=8))
            assert found.encode(text) == theirs.encode(text).ids == found.to_huggingface().encode(text).ids, text
        return found

    with pytest.raises(FormatError, match="loses its place"):
        ours(taking, beginning)
    # Text stays text, and what is found in different passes never meets.
    ours(taking, beginning, encodes_special=True)
    ours({**taking, "normalized": True}, beginning)
    ours(taking, {**beginning, "normalized": True})
    plain = {"special": False}
    with pytest.raises(FormatError, match="loses its place"):
        ours({**taking, **plain}, {**beginning, **plain}, encodes_special=True)


@pytest.mark.parametrize(
    ("key", "changed"),
    [
        ("pre_tokenizer", {**BYTE_LEVEL, "add_prefix_space": 1}),
        ("pre_tokenizer", {**BYTE_LEVEL, "use_regex": "no"}),
        *(
            ("added_tokens", [{"id": 256 + len(MERGES), "content": "<s>", "special": True, flag: value}])
            for flag, value in (("lstrip", 1), ("rstrip", "true"), ("single_word", None), ("normalized", []))
        ),
    ],
    ids=str,
)
def test_a_setting_that_is_no_bool_is_refused(key: str, changed: Any, file: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="must be true or false"):
        huggingface.read(json.dumps({**file, key: changed}).encode())


def test_steps_in_turn(file: dict[str, Any]) -> None:
    rng = random.Random(3)
    n_same = 0
    for _ in range(60):
        steps: list[dict[str, Any]] = [
            {
                "type": "Split",
                "pattern": rng.choice(PATTERNS),
                "behavior": rng.choice([each for each in BEHAVIORS if each != "Removed"]),
                "invert": rng.random() < 0.5,
            }
            for _ in range(2)
        ]
        steps.append(rng.choice(OTHERS[:9]))
        steps.insert(rng.randrange(4), {**BYTE_LEVEL, "use_regex": rng.random() < 0.5})
        n_same += outcome(file, {"type": "Sequence", "pretokenizers": steps}, 60) == "same"
    assert n_same > 40


@pytest.mark.parametrize(
    "step",
    [
        *(step for step in OTHERS if step["type"] in ("Digits", "Punctuation") and step.get("behavior") != "Removed"),
    ],
    ids=str,
)
def test_classes_hold_the_characters_that_they_hold_there(step: dict[str, Any], file: dict[str, Any]) -> None:
    steps = {"type": "Sequence", "pretokenizers": [step, {**BYTE_LEVEL, "use_regex": False}]}
    theirs = tokenizers.Tokenizer.from_str(json.dumps({**file, "pre_tokenizer": steps}))
    ours = Tokenizer.from_huggingface(theirs)
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for at in range(0, len(codes), 20_000):
        sample = "a".join(map(chr, codes[at : at + 20_000]))
        found = [(end - start) for _, (start, end) in theirs.pre_tokenizer.pre_tokenize_str(sample)]
        assert [len(piece.decode()) for piece in pretokenize(sample, ours.pattern)] == found


@pytest.mark.parametrize(
    "text",
    [
        *(
            f"[{not_}[:{name}:]]"
            for name in (
                *("alpha", "digit", "space", "upper", "lower", "alnum", "xdigit"),
                *("punct", "print", "graph", "cntrl", "blank", "word", "ascii"),
            )
            for not_ in ("", "^")
        ),
        *(
            f"{form}{name}}}{end}"
            for name in ("Word", "graph", "p_rint", "Punct", "Cntrl", "Blank", "Alnum")
            for form, end in ((r"\p{", ""), (r"\P{", ""), (r"\p{^", ""), (r"[\p{", "]"), (r"[^\P{", "]"))
        ),
        *(r"[[:^alpha:]]", r"[_[:digit:]]", r"\R", r"\N", r"\O", r"\e", "(?<name>a.)"),
        *(
            r"\w",
            r"\W",
            r"[\w]",
            r"[^\w]",
            r"[\W]",
            r"[^\W]",
            r"[\w.]",
            r"\h",
            r"\H",
            r"[\h]",
            r"a\b.",
            r"a\B.",
            r"[.\W]",
        ),
        *(
            r"\d",
            r"\D",
            r"[^\d]",
            r"\s",
            r"[\s]",
            r"\p{L}",
            r"\p{N}",
            r"\p{P}",
            r"\p{S}",
            r"\p{M}",
            r"\p{Lu}",
            r"\p{Han}",
        ),
        *(
            r"[^\p{L}]",
            r"\p{^L}",
            r"\P{L}",
            r"[^\p{^L}]",
            r"\p{Alphabetic}",
            r"\p{Nd}",
            "(?i:k)",
            "(?i:[k])",
            "(?i:s)",
            "(?i:É)",
        ),
    ],
)
def test_rewritten_classes_hold_the_characters_that_they_hold_there(text: str) -> None:
    """Both engines split the same characters off: all below U+3100, and a sample of the others."""
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(text), "isolated")
    ours = from_oniguruma(text)
    back = tokenizers.pre_tokenizers.Split(tokenizers.Regex(to_oniguruma(ours)), "isolated")
    codes = [*range(0x3100), *range(0x3100, 0x110000, 47)]
    # Each twice: two matches are two pieces, and what does not match is one.
    characters = [2 * chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for at in range(0, len(characters), 2_000):
        sample = "a".join(characters[at : at + 2_000])
        found = [piece for piece, _ in theirs.pre_tokenize_str(sample)]
        assert [piece.decode() for piece in pretokenize(sample, ours)] == found
        assert [piece for piece, _ in back.pre_tokenize_str(sample)] == found


def test_grapheme_clusters_hold_the_characters_that_they_hold_there() -> None:
    """Each character beside one of every class that the rules tell apart."""
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"\X"), "isolated")
    ours = from_oniguruma(r"\X")
    assert to_oniguruma(ours) == r"\X"
    codes = [*range(0x300, 0x380), *range(0x600, 0x1200), *range(0x1100, 0x2100), *range(0xAC00, 0xAC40)]
    codes += [*range(0x11000, 0x11500), *range(0x1F1E0, 0x1F200), *range(0x1F300, 0x1F700), *range(0, 0x110000, 131)]
    beside = "a{0}a {0}\u0301 👩{0}\u200d👩 {0}\u200d👩 {0}\uac00 \u1100{0} \u11a8{0} \uac00{0} 🇦{0}\n"
    characters = [chr(code) for code in codes if not 0xD800 <= code < 0xE000]
    for at in range(0, len(characters), 2_000):
        sample = "".join(beside.format(character) for character in characters[at : at + 2_000])
        found = [piece for piece, _ in theirs.pre_tokenize_str(sample)]
        assert [piece.decode() for piece in pretokenize(sample, ours)] == found


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"(?<=\Ka)b", r"(?<=a(?=\Kb)|c)b", r"(?<!(?:\K){2}b)a", r"\p{gcb=L}", r"[\X]", r"[\G]"),
        # These are looked for at the beginning of lines only.
        *(r"\b.+c", r"(?:\B.+)+(?=c)", r"\b\N*c", "(?=a*b|c).+", r"(?:\B|(?=a))(?=[^b]).{2,}+c"),
        # Oniguruma errs in these classes.
        *(r"[a-[b]]", r"[^[^\D\d]]", r"[a[^\x00-\u00e9]]"),
        *(r"(?:a*|b){2}", r"(a?)*\1", r"(?:[ab]{0,2}){2,}?", 300 * "(?:a?" + 300 * "b?)*", f"(?:{300 * 'a?'})*"),
    ],
)
def test_a_regex_that_cannot_be_respelt_is_refused(pattern: str) -> None:
    with pytest.raises(FormatError, match="means other things"):
        from_oniguruma(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "[ß]",
            "[^ß]",
            r"[\p{L}]",
            r"[^\P{L}]",
            "[[:alpha:]s]",
            "[^a[^s]]",
            r"[\w&&[^s]]",
            "ß",
            "ss",
            "aß+",
            "less",
            "st|fi",
        ),
        *("[ΐ]", "ŉ", r"(?:[\S]k)+", "x[ﬁ]{2}"),
    ],
)
def test_case_is_ignored_as_there(pattern: str) -> None:
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(f"(?i:{pattern})"), "isolated")
    ours = from_oniguruma(f"(?i:{pattern})")
    rng = random.Random(pattern)
    letters = (*"sSſßẞaAkK\u212aιΙ\u0345\u1fbefﬁiI\u0308\u0301ΐ\u1fd3tﬅﬆʼŉnx 1", "ss", "st", "ʼn", "ΐ", "fi", "less")
    for _ in range(300):
        text = "".join(rng.choices(letters, k=rng.randrange(1, 8)))
        assert [piece.decode() for piece in pretokenize(text, ours)] == [p for p, _ in theirs.pre_tokenize_str(text)]


@pytest.mark.parametrize(
    "pattern",
    [
        # What the loop finds first guards all its matches of nothing.
        r"(?>a|(?<=a)b?|(?<=a))++b",
        # These begin with dots, and are looked for everywhere.
        *(r"$(?m:a|.*)", r"(?=[ac]).+", r"(?!a).+c", r"(?=a*b|c).+|c", r"(?:\B|a)(?=[^b]).{2,}c"),
        # A name of several groups.
        *(r"(?:(?<n>a)|(?<n>b))c?\k<n>", r"(?<n>a)(?<n>b+)?\k<n>|c", r"(?:(?<n>ab?)|(?<n>ba?)|c)+\k<n>c"),
    ],
)
def test_regexes_that_are_taken_split_as_there(pattern: str) -> None:
    theirs = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated")
    ours = f"(?#isolated){from_oniguruma(pattern)}"
    for text in map("".join, itertools.product("abc", repeat=5)):
        assert [piece.decode() for piece in pretokenize(text, ours)] == [p for p, _ in theirs.pre_tokenize_str(text)]


def test_patterns_that_can_match_nothing_are_all_found() -> None:
    rng = random.Random(1)
    plain = ["a", "b", "[ab]", r"\s", r"\*", r"\?", "(?=a)", "(?!b)", "^", "$", r"\z", "(?<=a)"]

    def group(depth: int) -> str:
        kind = rng.random()
        if depth == 0 or kind < 0.4:
            return rng.choice(plain)
        if kind < 0.7:
            return f"(?:{group(depth - 1)}|{group(depth - 1)})"
        return f"(?>{group(depth - 1)})" if kind < 0.8 else group(depth - 1) + group(depth - 1)

    def atom() -> str:
        text = group(2)
        quantifier = rng.choice(["*", "+", "?", "{0,2}", "{1,2}", "*?", "++", "{2}"])
        return f"(?:{text}){quantifier}" if rng.random() < 0.5 else text

    n_empty = 0
    for _ in range(3000):
        pattern = "".join(atom() for _ in range(rng.randrange(1, 3)))
        try:
            compiled = regex.compile(pattern.replace(r"\z", r"\Z"))
        except regex.error:
            continue
        samples = ["", "a", "b", "ab", "ba", " ", "aab", "bb a"]
        shortest = min((len(match.group()) for text in samples for match in compiled.finditer(text)), default=99)
        assert least_length(pattern) <= shortest, pattern
        if any(not match.group() for text in samples for match in compiled.finditer(text)):
            n_empty += 1
            assert can_match_nothing(pattern), pattern
    assert n_empty > 500
