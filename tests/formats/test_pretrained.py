"""Model folders: the files next to the tokenizer's own, read, written, and loaded by transformers."""

import json
import pickle
import random
import re
from pathlib import Path
from typing import Any

import pytest

from pairloom import FormatError, Tokenizer
from tests.cases import INPUTS
from tests.formats.test_sentencepiece import model_file, random_pieces

TEXT = "the cat sat on the mat; naïve 東京<|im_end|>the end <pad>"
TEMPLATE = "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    specials = ["<|endoftext|>", "<|im_end|>"]
    return Tokenizer.train([TEXT.replace("<|im_end|>", "")] * 3, 280, special_tokens=specials, decode_errors="replace")


@pytest.fixture
def gpt2_folder(tokenizer: Tokenizer, tmp_path: Path) -> Path:
    """A folder with vocab.json and merges.txt, which do not say which tokens are special."""
    with pytest.warns(UserWarning, match="the special tokens"):
        tokenizer.save(tmp_path, format="gpt2")
    return tmp_path


def write(folder: Path, **files: Any) -> None:
    for name, value in files.items():
        (folder / f"{name}.json").write_text(json.dumps(value))


def test_a_model_folder_says_roles_and_chat_template(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json", format="huggingface")
    config = {
        "tokenizer_class": "Qwen2Tokenizer",
        "added_tokens_decoder": {
            str(tokenizer.special_tokens["<|im_end|>"]): {"content": "<|im_end|>", "special": True}
        },
        "bos_token": None,
        "eos_token": {"__type": "AddedToken", "content": "<|im_end|>", "lstrip": False},
        "pad_token": "<|endoftext|>",
        "chat_template": "old",
        "model_max_length": 512,
    }
    write(tmp_path, tokenizer_config=config)
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE)
    loaded = Tokenizer.load(tmp_path)
    assert loaded.special_tokens == tokenizer.special_tokens
    assert loaded.eos_token_id == tokenizer.special_tokens["<|im_end|>"]
    assert loaded.pad_token_id == tokenizer.special_tokens["<|endoftext|>"]
    assert loaded.bos_token_id is None and loaded.unk_token_id is None
    assert loaded.chat_template == TEMPLATE
    assert loaded.tokenizer_config["model_max_length"] == 512
    assert "tokenizer_class" not in loaded.tokenizer_config
    assert loaded == Tokenizer.from_huggingface(tmp_path)
    assert loaded != tokenizer, "the settings are a part of the tokenizer"
    # Pickles and pairloom's own file keep it.
    assert pickle.loads(pickle.dumps(loaded)) == loaded
    loaded.save(tmp_path / "own.json")
    assert Tokenizer.load(tmp_path / "own.json") == loaded
    with pytest.warns(UserWarning, match=r"chat template.*save_pretrained"):
        loaded.save(tmp_path / "tokenizer.json", overwrite=True, format="huggingface")


def test_save_pretrained_and_load_give_an_equal_tokenizer(tokenizer: Tokenizer, tmp_path: Path) -> None:
    named = tokenizer.with_tokenizer_config(eos_token="<|im_end|>", chat_template=TEMPLATE, padding_side="left")
    for each in (tokenizer, named):
        folder = tmp_path / str(each is named)
        each.save_pretrained(folder)
        assert Tokenizer.load(folder) == each
        with pytest.raises(FileExistsError):
            each.save_pretrained(folder)
        each.save_pretrained(folder, overwrite=True)
        assert Tokenizer.load(folder) == each
    assert named.with_tokenizer_config(eos_token=None, chat_template=None, padding_side=None) == tokenizer
    with pytest.raises(ValueError, match="'<s>', which is not a special token"):
        tokenizer.with_tokenizer_config(bos_token="<s>")


@pytest.mark.filterwarnings("error")
def test_a_space_before_a_text_is_in_the_settings_too(tokenizer: Tokenizer, tmp_path: Path) -> None:
    # transformers 4 turns it off in the tokenizer.json if tokenizer_config.json does not ask for it.
    spaced = tokenizer.with_normalizer("prefix_space")
    for each in (tokenizer, spaced):
        folder = tmp_path / str(each is spaced)
        each.save_pretrained(folder)
        path = folder / "tokenizer_config.json"
        config = json.loads(path.read_text())
        assert config.get("add_prefix_space", False) is (each is spaced)
        assert Tokenizer.load(folder) == each
        path.write_text(json.dumps({**config, "add_prefix_space": each is tokenizer}))
        with pytest.warns(UserWarning, match="add_prefix_space = .* transformers"):
            loaded = Tokenizer.load(folder)
        assert loaded == each


def test_transformers_loads_what_save_pretrained_wrote(tokenizer: Tokenizer, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    named = tokenizer.add_special_tokens(["<pad>"]).with_tokenizer_config(
        eos_token="<|im_end|>", pad_token="<pad>", unk_token="<|endoftext|>", chat_template=TEMPLATE
    )
    named.save_pretrained(tmp_path / "ours")
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    for role in ("bos", "eos", "pad", "unk"):
        assert getattr(theirs, f"{role}_token_id") == getattr(named, f"{role}_token_id"), role
    assert theirs.chat_template == TEMPLATE
    assert theirs.get_vocab() == named.get_vocab()
    assert len(theirs) == len(named) == named.vocab_size
    assert Tokenizer.from_huggingface(theirs).eos_token_id == named.eos_token_id
    theirs.save_pretrained(tmp_path / "theirs")
    again = Tokenizer.load(tmp_path / "theirs")
    assert again.special_tokens == named.special_tokens
    roles = [(each.eos_token_id, each.pad_token_id, each.chat_template) for each in (again, named)]
    assert roles[0] == roles[1]


def test_vocab_and_merges_take_special_tokens_from_the_map(tokenizer: Tokenizer, gpt2_folder: Path) -> None:
    plain = Tokenizer.load(gpt2_folder)
    assert plain.special_tokens == {}
    write(gpt2_folder, special_tokens_map={"eos_token": "<|endoftext|>", "additional_special_tokens": ["<|im_end|>"]})
    loaded = Tokenizer.load(gpt2_folder)
    assert loaded.special_tokens == tokenizer.special_tokens
    assert loaded.encode(TEXT) == tokenizer.encode(TEXT)
    assert loaded.eos_token_id == tokenizer.special_tokens["<|endoftext|>"]
    # A token that the vocabulary lacks takes the next id, as in transformers.
    write(gpt2_folder, special_tokens_map={"eos_token": "<|endoftext|>", "pad_token": "[PAD]"})
    assert Tokenizer.load(gpt2_folder).pad_token_id == tokenizer.n_vocab


@pytest.mark.parametrize(("literal", "gap", "is_taken"), [("[PAD]", 0, True), ("[PAD]", 3, False), ("a", 0, False)])
def test_added_tokens_of_a_vocab_json_take_the_next_ids(
    literal: str, gap: int, is_taken: bool, tokenizer: Tokenizer, gpt2_folder: Path
) -> None:
    transformers = pytest.importorskip("transformers")
    settings = {"tokenizer_class": "GPT2Tokenizer", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    write(gpt2_folder, tokenizer_config=settings, added_tokens={literal: tokenizer.n_vocab + gap})
    theirs = transformers.AutoTokenizer.from_pretrained(gpt2_folder)
    assert (theirs.convert_tokens_to_ids(literal) == tokenizer.n_vocab + gap) == is_taken
    if is_taken:
        assert Tokenizer.load(gpt2_folder).encode(f"a{literal}b") == theirs.encode(
            f"a{literal}b", add_special_tokens=False
        )
        return
    with pytest.raises(FormatError, match=r"the library tokenizers would not assign to it; add it to vocab\.json"):
        Tokenizer.load(gpt2_folder)


def test_a_vocab_json_of_another_class_asks_for_its_pattern(tokenizer: Tokenizer, gpt2_folder: Path) -> None:
    # Blenderbot's puts a space before each text; no file of Qwen's slow tokenizer contains its pattern or its NFC.
    for kind in ("BlenderbotTokenizer", "Qwen2Tokenizer"):
        write(gpt2_folder, tokenizer_config={"tokenizer_class": kind, "eos_token": "<|im_end|>"})
        with pytest.raises(FormatError, match=rf"names the class '{kind}', .* pass pattern="):
            Tokenizer.load(gpt2_folder)
    with pytest.warns(UserWarning, match=re.escape("('<|endoftext|>')")):
        assert Tokenizer.load(gpt2_folder, pattern="qwen2").pattern != tokenizer.pattern


@pytest.mark.parametrize(("kind", "settings", "is_warned"), INPUTS["classes"])
@pytest.mark.filterwarnings("ignore:format 'gpt2' does not store")
def test_a_class_that_puts_tokens_around_a_text_is_warned_of(
    kind: str, settings: Any, is_warned: bool, tokenizer: Tokenizer, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    if kind[0] in "RB":
        tokenizer.save(tmp_path, format="gpt2")
    else:
        (tmp_path / "tokenizer.model").write_bytes(model_file(random_pieces(random.Random(1))))
    write(tmp_path, tokenizer_config={"tokenizer_class": kind, **settings})
    loaded = Tokenizer.load(tmp_path)
    assert loaded.encode("the", add_special_tokens=True) == loaded.encode("the")
    expected = f"'{kind}', which adds tokens around a text, but"
    assert any(expected in str(warning.message) for warning in recwarn) == is_warned


def test_a_folder_with_one_tiktoken_file_loads(tokenizer: Tokenizer, tmp_path: Path) -> None:
    plain = Tokenizer.train([TEXT] * 3, 280, special_tokens=[], decode_errors="replace")
    with pytest.warns(UserWarning, match="pattern"):
        plain.save(tmp_path / "qwen.tiktoken")
    with pytest.raises(ValueError, match="load it with pattern="):
        Tokenizer.load(tmp_path)
    decoder = {"280": {"content": "<|im_end|>", "special": True}, "281": {"content": "<think>", "special": False}}
    write(tmp_path, tokenizer_config={"added_tokens_decoder": decoder, "eos_token": "<|im_end|>"})
    loaded = Tokenizer.load(tmp_path, pattern="gpt2")
    assert loaded.special_tokens == {"<|im_end|>": 280, "<think>": 281}
    assert loaded.model.plain_specials == {"<think>"}
    assert loaded.eos_token_id == 280
    assert loaded.decode([280, 281], skip_special_tokens=True) == "<think>"
    (tmp_path / "other.tiktoken").write_bytes((tmp_path / "qwen.tiktoken").read_bytes())
    with pytest.raises(FormatError, match=r"contains other\.tiktoken and qwen\.tiktoken"):
        Tokenizer.load(tmp_path, pattern="gpt2")


PLAIN = {"lstrip": False, "rstrip": False, "single_word": False, "normalized": False, "special": True}


def test_entries_of_a_vocab_json_have_the_rules_of_the_files(tokenizer: Tokenizer, gpt2_folder: Path) -> None:
    end = {"content": "<|im_end|>", "lstrip": True, "rstrip": False, "single_word": False, "normalized": False}
    roles = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
    write(gpt2_folder, special_tokens_map={**roles, "mask_token": end})
    write(gpt2_folder, tokenizer_config={"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True})
    loaded = Tokenizer.load(gpt2_folder)
    assert (loaded.model.special_rules, loaded.normalizer) == ((("<|im_end|>", "lstrip"),), "prefix_space")
    assert loaded.encode("the <|im_end|>") == [*loaded.encode("the"), tokenizer.special_tokens["<|im_end|>"]]
    write(
        gpt2_folder,
        tokenizer_config={"tokenizer_class": "GPT2Tokenizer", "add_prefix_space": True, "add_bos_token": True},
    )
    with pytest.warns(UserWarning, match="says add_bos_token, but the tokenizer has no post-processor"):
        assert Tokenizer.load(gpt2_folder).encode("the <|im_end|>") == loaded.encode("the <|im_end|>")
    theirs = pytest.importorskip("transformers").AutoTokenizer.from_pretrained(gpt2_folder)
    assert theirs.encode("the <|im_end|>", add_special_tokens=False) == loaded.encode("the <|im_end|>")
    listed = {str(tokenizer.special_tokens["<|im_end|>"]): {**end, "lstrip": False, "rstrip": True, "special": False}}
    write(gpt2_folder, special_tokens_map={}, tokenizer_config={"added_tokens_decoder": listed, **roles})
    loaded = Tokenizer.load(gpt2_folder)
    assert loaded.special_tokens == tokenizer.special_tokens
    assert loaded.model.special_rules == (("<|im_end|>", "rstrip"),) and loaded.model.plain_specials == {"<|im_end|>"}


def test_random_folders_have_the_ids_of_transformers(tokenizer: Tokenizer, tmp_path: Path) -> None:
    """Tokens with flags in tokenizer.json, other flags in the config, and tokens that only the config names."""
    PreTrainedTokenizerFast = pytest.importorskip("transformers").PreTrainedTokenizerFast
    rng = random.Random(5)
    the = tokenizer.token_to_id("the")
    for seed in range(60):
        folder = tmp_path / str(seed)
        folder.mkdir()

        def flags() -> dict[str, bool]:
            return {flag: rng.random() < 0.3 for flag in PLAIN if flag != "normalized"}

        names = ["<mask>", "<m", "q"]
        listed = {name: flags() for name in names if rng.random() < 0.7} if rng.random() < 0.8 else None
        ids = disagreeing_folder(tokenizer, folder, {name: flags() for name in names}, listed)
        config = json.loads((folder / "tokenizer_config.json").read_text())
        if listed is not None:
            new = max(ids.values()) + 1
            for name, token_id in (("<a>", new), ("the", the), ("<b>", new + 1)):
                given = flags() if rng.random() < 0.8 else {}
                given["normalized"] = rng.random() < 0.2
                config["added_tokens_decoder"][str(token_id)] = {"content": name, **given}
        for role, name in (("pad", rng.choice(["<mask>", "<a>"])), ("sep", "<s>"), ("image", "<i>"), ("unk", "<u>")):
            if rng.random() < 0.5:
                config[f"{role}_token"] = name
        config["mask_token"] = {"__type": "AddedToken", "content": "<d>", **flags(), "normalized": False}
        more = [{"__type": "AddedToken", "content": "<c>", **flags(), "normalized": False}, "<e>"]
        config[rng.choice(["extra_special_tokens", "additional_special_tokens"])] = more
        write(folder, tokenizer_config=config)
        loaded, theirs = Tokenizer.load(folder), PreTrainedTokenizerFast.from_pretrained(folder)
        assert {name: theirs.convert_tokens_to_ids(name) for name in loaded.special_tokens} == loaded.special_tokens
        for _ in range(20):
            text = "".join(rng.choices([*loaded.special_tokens, " ", "  ", "x", "in the", "\n"], k=rng.randrange(1, 9)))
            encoded = loaded.encode(text)
            assert encoded == theirs.encode(text, add_special_tokens=False), (seed, text)
            for ids_of in (encoded, list(loaded.special_tokens.values())):
                wanted = theirs.decode(ids_of, skip_special_tokens=True)
                assert loaded.decode(ids_of, skip_special_tokens=True) == wanted, (seed, text)


def disagreeing_folder(
    tokenizer: Tokenizer,
    folder: Path,
    in_tokenizer: dict[str, dict[str, bool]],
    in_config: dict[str, dict[str, bool]] | None,
    settings: dict[str, Any] | None = None,
) -> dict[str, int]:
    """Writes a folder with two files that say how these tokens are recognised; returns their ids."""
    more = tokenizer.add_special_tokens([name for name in in_tokenizer if name not in tokenizer.special_tokens])
    more.save(folder / "tokenizer.json", overwrite=True, format="huggingface")
    file = json.loads((folder / "tokenizer.json").read_text())
    for entry in file["added_tokens"]:
        entry.update(in_tokenizer.get(entry["content"], {}))
    config = dict(settings or {})
    if in_config is not None:
        config["added_tokens_decoder"] = {
            str(more.special_tokens[name]): {"content": name, **PLAIN, **flags} for name, flags in in_config.items()
        }
    write(folder, tokenizer=file, tokenizer_config=config)
    return {name: more.special_tokens[name] for name in in_tokenizer}


def test_tokens_for_a_vocabulary_with_unused_ids_are_refused(tmp_path: Path) -> None:
    # tokenizers uses the number of entries as the next id, which belongs to another token.
    trained = Tokenizer.train([TEXT] * 3, 280, "huggingface", special_tokens=["<s>"])
    pruned = trained.prune(
        " ".join(trained.decode([i]) for i in range(trained.n_vocab - 4, trained.n_vocab)), n_tokens=3
    )
    assert pruned.n_vocab == trained.n_vocab
    pruned.save(tmp_path / "tokenizer.json", format="huggingface")
    assert Tokenizer.load(tmp_path).vocab == pruned.vocab
    # A special token with the largest id determines the next id.
    (tmp_path / "known").mkdir()
    more = pruned.add_special_tokens(["<last>"])
    more.save(tmp_path / "known" / "tokenizer.json", format="huggingface")
    write(tmp_path / "known", tokenizer_config={"pad_token": "<x>"})
    assert Tokenizer.load(tmp_path / "known").special_tokens["<x>"] == more.n_vocab
    free = str(pruned.n_vocab)
    for config in ({"pad_token": "<x>"}, {"added_tokens_decoder": {free: {"content": "<x>", **PLAIN}}}):
        write(tmp_path, tokenizer_config=config)
        with pytest.raises(
            FormatError, match=r"adds token '<x>'.* unused ids below \d+, so the library tokenizers could assign it"
        ):
            Tokenizer.load(tmp_path)


def test_special_tokens_stay_text_where_the_settings_say_so(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "tokenizer.json", format="huggingface")
    write(tmp_path, tokenizer_config={"split_special_tokens": True})
    loaded = Tokenizer.load(tmp_path)
    assert loaded.encode(TEXT) == tokenizer.encode_ordinary(TEXT) != tokenizer.encode(TEXT)
    loaded.save_pretrained(tmp_path / "again")
    assert Tokenizer.load(tmp_path / "again") == loaded
    # Non-special tokens are found, and special ones keep their rules.
    flags = {"<plain>": PLAIN | {"special": False}, "<mask>": PLAIN | {"lstrip": True}}
    disagreeing_folder(tokenizer, tmp_path, flags, None, {"split_special_tokens": True})
    loaded = Tokenizer.load(tmp_path)
    assert loaded.decode(loaded.encode("a<plain> <mask>"), skip_special_tokens=True) == "a<plain> <mask>"
    assert loaded.encode("<plain>") == [loaded.special_tokens["<plain>"]] and len(loaded.encode("<mask>")) > 1
    assert loaded.special_rules["<mask>"] == ("lstrip", "ordinary")
    loaded.save_pretrained(tmp_path / "more")
    assert Tokenizer.load(tmp_path / "more") == loaded


def test_several_chat_templates_are_kept_by_name(tokenizer: Tokenizer, tmp_path: Path) -> None:
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("first")
    (tmp_path / "additional_chat_templates").mkdir()
    (tmp_path / "additional_chat_templates" / "tool_use.jinja").write_text("second")
    loaded = Tokenizer.load(tmp_path)
    assert loaded.chat_template == "first"
    assert {"name": "tool_use", "template": "second"} in loaded.tokenizer_config["chat_template"]
    assert Tokenizer.load(tmp_path.as_uri()) == loaded
    (tmp_path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(FormatError, match=r"chat_template\.jinja: not UTF-8 at byte 0"):
        Tokenizer.load(tmp_path)
