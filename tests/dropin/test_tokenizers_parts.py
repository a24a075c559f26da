"""Methods of the components of pairloom.dropin.tokenizers equal the library's."""

import copy
import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import pairloom.dropin.tokenizers as dropin
from pairloom import FormatError
from tests import cases

LIBRARIES: list[Any] = [tokenizers, dropin]
VOCAB = {"b": 1, "a": 0, "ab": 2, "é": 3, "\u2028": 5, '"\x01': 9}


def model_of(library: Any, **settings: Any) -> Any:
    return library.models.BPE(VOCAB, [("a", "b")], **settings)


@pytest.mark.parametrize("arguments", [{}, {"prefix": "pre"}, {"prefix": ""}, {"name": "old"}])
def test_save_writes_the_files_of_the_library(arguments: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    found = []
    for library in LIBRARIES:
        (tmp_path / "folder").mkdir(exist_ok=True)
        paths = model_of(library).save("./folder", **arguments)
        found.append((paths, [Path(path).read_bytes() for path in paths]))
        assert len(list((tmp_path / "folder").iterdir())) == 2
    assert found[0] == found[1]
    with pytest.raises(FileNotFoundError):
        model_of(dropin).save("absent")


@pytest.mark.parametrize("lines", [b"", b"a b", b"#version: 0.2\r\na b\r\n", b"a b\n#version b\na b\n", b"# x\n"])
def test_read_file_reads_what_the_library_reads(lines: bytes, tmp_path: Path) -> None:
    model_of(dropin).save(str(tmp_path))
    (tmp_path / "merges.txt").write_bytes(lines)
    paths = str(tmp_path / "vocab.json"), str(tmp_path / "merges.txt")
    assert dropin.models.BPE.read_file(*paths) == tokenizers.models.BPE.read_file(*paths)
    if lines != b"# x\n":
        for model in (dropin.models.BPE.from_file(*paths, unk_token="a"), dropin.models.BPE(*paths, unk_token="a")):
            assert (model.vocab, model.unk_token) == (VOCAB, "a")


@pytest.mark.parametrize("case", cases.damaged_cases("read_file"), ids=str)
def test_read_file_refuses_what_the_library_refuses(case: cases.Case, tmp_path: Path) -> None:
    paths = []
    for name, content in zip(("vocab.json", "merges.txt"), cases.applied(case, {}).values(), strict=True):
        (tmp_path / name).write_text(content)
        paths.append(str(tmp_path / name))
    with pytest.raises(Exception, match="Error while reading"):
        tokenizers.models.BPE.read_file(*paths)
    with pytest.raises(FormatError) as caught:
        dropin.models.BPE.read_file(*paths)
    case.error.check(caught.value)


def test_added_tokens_are_keys_and_shown_as_in_the_library() -> None:
    found = []
    for library in LIBRARIES:
        token = library.AddedToken
        tokens = [token("a"), token("a"), token("a", lstrip=True), token("a", special=True), token("b")]
        found.append(
            (len(set(tokens)), len({hash(each) for each in tokens}), [(str(each), repr(each)) for each in tokens])
        )
    assert found[0] == found[1]


def test_steps_of_steps_are_taken_apart_unless_from_a_file() -> None:
    found = []
    for library in LIBRARIES:
        n, p, r = library.normalizers, library.pre_tokenizers, library.processors
        made = library.Tokenizer(model_of(library))
        made.normalizer = n.Sequence([n.Sequence([n.Sequence([n.NFC()]), n.NFD()]), n.Lowercase()])
        made.pre_tokenizer = p.Sequence([p.Sequence([p.Digits()]), p.Whitespace(), p.Punctuation()])
        made.post_processor = r.Sequence([r.Sequence([r.ByteLevel()])])
        lengths = [len(made.normalizer), bool(n.Sequence([]))]
        made.pre_tokenizer[0].individual_digits = True
        made.pre_tokenizer[1] = p.WhitespaceSplit()
        files = [made.to_str(), made.pre_tokenizer.pre_tokenize_str("a12!, b")]
        inner = '{"type":"Sequence","normalizers":[{"type":"NFC"}]}'
        nested = made.to_str().replace('{"type":"NFC"},{"type":"NFD"}', f'{inner},{{"type":"NFD"}}')
        files.append(library.Tokenizer.from_str(nested).to_str())
        assert inner in files[-1]
        states = [part.__getstate__() for part in (made.model, made.normalizer, made.pre_tokenizer)]
        again = pickle.loads(pickle.dumps(made.pre_tokenizer))
        found.append((lengths, files, states, again.pre_tokenize_str("a1")))
    assert found[0] == found[1]


def tokenizers_with_rules(seed: int) -> list[Any]:
    """Makes the same tokenizer with each of the two libraries; its added tokens have rules."""
    made = []
    for library in LIBRARIES:
        rng = random.Random(seed)
        n, p, d = library.normalizers, library.pre_tokenizers, library.decoders
        tokens = [*"abcdefghijklmnopqrstuvwxyz <>[]▁ĠA-", "[UNK]", "th"]
        vocab = {token: index for index, token in enumerate(tokens)}
        tokenizer = library.Tokenizer(library.models.BPE(vocab, [("t", "h")], unk_token="[UNK]"))
        tokenizer.normalizer = rng.choice(
            [None, None, n.Lowercase(), n.Sequence([n.Prepend("▁"), n.Replace(" ", "▁")])]
        )
        tokenizer.pre_tokenizer = rng.choice([None, p.Whitespace(), p.Metaspace(prepend_scheme="first"), p.ByteLevel()])
        tokenizer.decoder = rng.choice([None, d.Fuse(), d.ByteLevel(), d.Metaspace()])
        flags = ("lstrip", "rstrip", "single_word", "normalized", "special")
        texts = rng.sample(["<m>", "THE", "th", "x", "in a", "[UNK]", "a-", "-"], 5)
        added = [library.AddedToken(text, **{flag: rng.random() < 0.4 for flag in flags}) for text in texts]
        tokenizer.add_tokens(added)
        # A special token that is added again as none stays special.
        tokenizer.add_special_tokens(["<s>"])
        tokenizer.add_tokens(["<s>", "<n>"])
        tokenizer.encode_special_tokens = rng.random() < 0.2
        made.append(tokenizer)
    return made


@pytest.mark.parametrize("part", range(4))
def test_added_tokens_with_rules_are_found_as_in_the_library(part: int) -> None:
    rng = random.Random(part)
    for seed in range(part * 40, part * 40 + 40):
        found = []
        texts = [
            "".join(
                rng.choice(["<m>", "the", "THE", " ", "\u3000", "in a", "a-b", "x", "_", "é", "<s>"]) for _ in range(12)
            )
            for _ in range(4)
        ]
        theirs, ours = tokenizers_with_rules(seed)
        for each in (theirs, ours):
            encodings = [each.encode(text) for text in texts]
            ids = [(one.ids, one.tokens) for one in encodings]
            decoded = [each.decode(one.ids, skip_special_tokens=skip) for one in encodings for skip in (True, False)]
            spans = [one.offsets for one in encodings] if each.normalizer is None else None
            tokens, file = [each.id_to_token(token_id) for token_id in range(50)], each.to_str()
            # Tokens that are there already are not counted.
            n_added = each.add_tokens(["<n>", "<o>"]), each.add_special_tokens(["<s>", "<p>"])
            found.append((ids, decoded, spans, tokens, file, n_added))
        assert found[0] == found[1], seed


def test_spans_in_a_text_that_a_normalizer_changed_are_refused() -> None:
    made = dropin.Tokenizer(model_of(dropin))
    made.normalizer = dropin.normalizers.Lowercase()
    encoding = made.encode("ABa")
    assert encoding.tokens == ["ab", "a"]
    with pytest.raises(ValueError, match="encode what its normalize_str returns"):
        encoding.offsets  # noqa: B018
    assert made.encode(made.normalizer.normalize_str("ABa")).offsets == [(0, 2), (2, 3)]


def test_a_copy_keeps_what_is_set_up() -> None:
    for pre_tokenizer in (dropin.pre_tokenizers.ByteLevel(), dropin.pre_tokenizers.Whitespace()):
        made = dropin.Tokenizer(model_of(dropin, unk_token="b"))
        made.pre_tokenizer = pre_tokenizer
        made.enable_padding(length=4)
        made.enable_truncation(3)
        made.encode_special_tokens = True
        again = copy.copy(made)
        assert again.to_str() == made.to_str() and again.encode_special_tokens
        again.no_padding()
        assert made.padding is not None


def test_parts_of_the_library_become_ours() -> None:
    made = dropin.Tokenizer(dropin.models.BPE())
    theirs: Any = tokenizers.processors.TemplateProcessing("<s> $A", "<s> $A $B", [("<s>", 3)])
    made.post_processor = theirs
    assert isinstance(made.post_processor, dropin.processors.TemplateProcessing)
    assert made.num_special_tokens_to_add(False) == 1
    unknown: Any = tokenizers.normalizers.Nmt()
    with pytest.raises(FormatError, match="'Nmt' is not supported"):
        made.normalizer = unknown


@pytest.mark.parametrize("seed", range(60))
def test_models_of_any_merges_cut_as_the_library_does(seed: int) -> None:
    rng = random.Random(seed)
    prefix = rng.choice(["", "", "##"])
    vocab = {text: index for index, text in enumerate(dict.fromkeys([*"abcé", *(prefix + each for each in "abcé")]))}
    merges: list[tuple[str, str]] = []
    for _ in range(rng.randrange(1, 25)):
        pair = rng.choice(list(vocab)), rng.choice([text for text in vocab if text.startswith(prefix)])
        if pair not in merges:
            vocab.setdefault(pair[0] + pair[1].removeprefix(prefix), len(vocab))
            merges.append(pair)
    # A pair can come before the pairs that make its parts.
    rng.shuffle(merges)
    texts = [*vocab, *("".join(rng.choices("aabbccéz", k=rng.randrange(40))) for _ in range(20))]
    found = []
    for library in LIBRARIES:
        how = {"unk_token": "b", "continuing_subword_prefix": prefix, "ignore_merges": seed % 3 == 0}
        model = library.models.BPE(vocab, merges, **how)
        encodings = library.Tokenizer(model).encode_batch(texts)
        ids = [(model.id_to_token(each), model.token_to_id("abcé"[:each])) for each in range(30)]
        found.append(([(each.ids, each.tokens, each.offsets) for each in encodings], ids))
    assert found[0] == found[1]


@pytest.mark.parametrize(("name", "settings"), cases.INPUTS["ready_made"])
def test_ready_made_tokenizers_equal_the_library(name: str, settings: Any, tmp_path: Path) -> None:
    texts = ["The Cat's 漢字, naïve\u3000cat!\x07", "the ca\u0301t\tsat_on the ｍat"] * 3
    options: dict[str, Any] = {"initial_alphabet": ["z"]} if name[0] == "S" else {}
    found = []
    for library in LIBRARIES:
        made = getattr(library, name)(**settings)
        shows = [False] if name[0] == "B" else []
        made.train_from_iterator(texts, 60, 1, *shows, ["<unk>", "[UNK]"], **options)
        saved = made.save_model(str(tmp_path), "a")
        files = [(Path(path).name, Path(path).read_bytes()) for path in saved]
        read = getattr(library, name).from_file(*saved, **settings)
        answers: list[Any] = [made.normalizer and made.normalize(texts[0])]
        for each in (made, read):
            encodings = each.encode_batch(["The cat <unk> café", "猫 sat"])
            answers += [(one.ids, one.tokens, each.decode(one.ids)) for one in encodings]
            answers.append(each.to_str())
        found.append((files, answers))
    assert found[0] == found[1]


def test_ready_made_tokenizers_refuse_unknown_options() -> None:
    with pytest.raises(TypeError, match="the options of training are vocab_size, min_frequency, special_tokens"):
        dropin.SentencePieceBPETokenizer().train_from_iterator(["a"], suffix="</w>")


def test_ready_made_tokenizer_is_copied_and_pickled(tmp_path: Path) -> None:
    made = dropin.ByteLevelBPETokenizer(add_prefix_space=True)
    (tmp_path / "a.txt").write_text("the cat sat" * 3)
    made.train(str(tmp_path / "a.txt"), 300, show_progress=False)
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again.to_str() == made.to_str()
        assert again.encode("the cat").ids == made.encode("the cat").ids
    made.decoder = None
    assert made._tokenizer.decoder is None
    with pytest.raises(AttributeError):
        made.nothing  # noqa: B018


def test_a_token_that_starts_in_absorbed_white_space_is_found() -> None:
    ids = []
    for m in (tokenizers, dropin):
        made: Any = m.Tokenizer(m.models.BPE({"a": 0, "▁": 1}, []))
        made.pre_tokenizer = m.pre_tokenizers.Metaspace()
        made.add_tokens([m.AddedToken("<r>", rstrip=True, normalized=False), m.AddedToken(" a", normalized=False)])
        ids.append([made.encode(text).ids for text in ("<r> aa", "a<r> a", "<r>  aa a")])
    assert ids[0] == ids[1]


def test_a_file_of_an_older_release_is_read_as_by_the_library() -> None:
    made = dropin.ByteLevelBPETokenizer()
    made.train_from_iterator(["the cat sat"] * 3, 270)
    file = json.loads(made.to_str())
    # As in GPT-2's published file.
    del file["model"]["type"]
    file["model"] |= {"continuing_subword_prefix": "", "end_of_word_suffix": ""}
    assert len({tuple(each.Tokenizer.from_str(json.dumps(file)).encode("a cat").ids) for each in LIBRARIES}) == 1
    rules = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    file["added_tokens"] = [{"id": 999, "content": "<x>", **rules}]
    # The library ignores the id in the file.
    assert tokenizers.Tokenizer.from_str(json.dumps(file)).token_to_id("<x>") == 263
    with pytest.raises(FormatError, match="'<x>' has id 999, but the library tokenizers would assign it 263"):
        dropin.Tokenizer.from_str(json.dumps(file))
