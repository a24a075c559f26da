"""Reads and writes a model folder's settings files: names of special tokens (BOS, EOS) and the chat template.

The files are tokenizer_config.json, special_tokens_map.json, added_tokens.json, chat_template.jinja and the templates
in additional_chat_templates/. They become one JSON object, `Model.tokenizer_config`, which changes no ids. The special
tokens that they list are added to the Model, as transformers does.
"""

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pairloom._internal.arguments import shown
from pairloom._internal.byte_alphabet import from_alphabet
from pairloom._internal.warnings import warn
from pairloom.errors import FormatError
from pairloom.formats.shared.added_tokens import FLAGS, AddedTokens, n_misplaced, read_added_tokens
from pairloom.formats.shared.json_text import parse, take_id
from pairloom.model import (
    CHARACTERS,
    DROP_STEP,
    KEPT_TOKENIZER_JSON,
    UNKNOWN,
    UNKNOWN_EACH,
    WORDS,
    Model,
    canonical_json,
    config_of,
    literal_of,
)

CONFIG_NAME = "tokenizer_config.json"
_MAP_NAME = "special_tokens_map.json"
_ADDED_NAME = "added_tokens.json"
_TEMPLATE_NAME = "chat_template.jinja"
TEMPLATES_NAME = "additional_chat_templates"
_ADDED_TOKENS_KEY = "added_tokens_decoder"

# The tokenizer has this setting itself; transformers 4 turns it off unless the config has it too.
_PREFIX_SPACE_KEY = "add_prefix_space"
# Special tokens in a text are treated as ordinary text.
_SPLIT_SPECIALS_KEY = "split_special_tokens"
# The settings of a token that is written as an object.
_FLAGS = (*FLAGS, "normalized", "special")
# In the order in which transformers adds the tokens that the tokenizer lacks.
_ROLES = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_EXTRA_TOKENS_KEYS = ("extra_special_tokens", "additional_special_tokens")
# Not keys of the files: the settings of tokens written as objects, by literal, and the tokens of added_tokens.json.
_OBJECT_TOKENS_KEY = "\0said"
_ADDED_FILE_KEY = "\0added"
# Not kept: what the tokenizer.json has already, and names of classes and of code that read other files.
_DROPPED_KEYS = frozenset(
    (
        *(_ADDED_TOKENS_KEY, "tokenizer_class", "auto_map", "backend", "tokenizer_file", "name_or_path"),
        _PREFIX_SPACE_KEY,
        _OBJECT_TOKENS_KEY,
        _ADDED_FILE_KEY,
        KEPT_TOKENIZER_JSON,
    )
)
# Always written, since transformers 4 otherwise cleans up spaces; not kept as a setting when read.
_DEFAULT = ("clean_up_tokenization_spaces", False)
_CLASS = "PreTrainedTokenizerFast"
# Classes of transformers, without "Tokenizer": those that put tokens around a text; those of SentencePiece that do so
# unless add_bos_token is false; and all of models with GPT-2's pattern, with those for any tokenizer.json.
_CLASSES_WITH_TOKENS_AROUND = {
    "Roberta",
    "Bart",
    "Longformer",
    "LED",
    "Deberta",
    "Whisper",
    "LayoutLMv3",
    "Mvp",
    "CLIP",
}
_CLASSES_WITH_BOS = {"Llama", "LLaMA", "CodeLlama", "Gemma"}
_CLASSES_LIKE_GPT2 = {"GPT2", "CodeGen", "PreTrained", "TokenizersBackend"} | _CLASSES_WITH_TOKENS_AROUND

Companions = dict[str, Any]
"""The merged contents of the files; empty if the folder has none of them."""


def read(folder: Path) -> Companions:
    """Reads the folder's files into one object. Raises FormatError for a damaged file."""
    config = _object(folder / CONFIG_NAME)
    mapped = _object(folder / _MAP_NAME)
    # As in transformers, the other two files count only if the config lists no added tokens.
    if _ADDED_TOKENS_KEY not in config:
        config = {**config, **mapped, **{key: config[key] for key in _EXTRA_TOKENS_KEYS if config.get(key)}}
        if added := _object(folder / _ADDED_NAME):
            named = _special_literals(config)
            ids = {literal: take_id(i, f"{folder / _ADDED_NAME}: {shown(literal)}") for literal, i in added.items()}
            config[_ADDED_FILE_KEY] = {
                str(i): {"content": literal, "special": literal in named} for literal, i in ids.items()
            }
    templates = {path.stem: _text(path) for path in sorted((folder / TEMPLATES_NAME).glob("*.jinja"))}
    if (folder / _TEMPLATE_NAME).is_file():
        config["chat_template"] = _text(folder / _TEMPLATE_NAME)
    if templates:
        given = config.get("chat_template")
        first = {"default": given} if isinstance(given, str) else {}
        config["chat_template"] = [{"name": name, "template": text} for name, text in {**first, **templates}.items()]
    # A token written as an object has rules for recognising it. They matter only for tokens that the tokenizer lacks.
    listed = [value for key in _EXTRA_TOKENS_KEYS if type(config.get(key)) is list for value in config[key]]
    said: dict[str, dict[str, Any]] = {}
    for value in [*_role_values(config), *listed]:
        if (content := literal_of(value)) is not None:
            said[content] = {flag: value[flag] for flag in _FLAGS if flag in value} if type(value) is dict else {}
    texts = {key: literal_of(value) or value for key, value in config.items() if key.endswith("_token")}
    return {**config, **texts, _OBJECT_TOKENS_KEY: said} if said else config


def settings_of(tokenizer: Any) -> Companions:
    """Returns a transformers tokenizer's names of special tokens and chat template; empty for any other object."""
    named = getattr(tokenizer, "special_tokens_map", None)
    if not isinstance(named, dict):
        return {}
    config = {key: str(value) for key, value in named.items() if key.endswith("_token") and value}
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, dict):
        template = [{"name": name, "template": text} for name, text in template.items()]
    return {**config, "chat_template": template} if template else {**config}


def special_tokens(config: Companions, name: str) -> dict[str, int] | list[str]:
    """Returns the special tokens that the files list, for a vocabulary that does not mark its own."""
    return _listed_added_tokens(config, name).ids or _special_literals(config)


def bos_eos_settings(config: Companions) -> str:
    """Returns what the files say of tokens around a text; empty if nothing."""
    said = [key for key in ("add_bos_token", "add_eos_token") if config.get(key) is True]
    kinds = (
        _CLASSES_WITH_TOKENS_AROUND
        if config.get("add_bos_token") is False
        else _CLASSES_WITH_TOKENS_AROUND | _CLASSES_WITH_BOS
    )
    if not said and _short_class(config) in kinds:
        said = [f"tokenizer_class {config['tokenizer_class']!r}, which adds tokens around a text"]
    return " and ".join(said)


def _short_class(config: Companions) -> str:
    return str(config.get("tokenizer_class") or _CLASS).removesuffix("Fast").removesuffix("Tokenizer")


def check_class(config: Companions, name: str) -> None:
    """Raises FormatError if the transformers class may split text unlike GPT-2, which a vocab.json does not say."""
    if _short_class(config) not in _CLASSES_LIKE_GPT2:
        kind = str(config["tokenizer_class"])
        raise FormatError(
            f"{name}: {CONFIG_NAME} names the class {shown(kind)}, which may split text differently from GPT-2,"
            ' and vocab.json does not store a pattern; pass pattern= ("gpt2" if it splits like GPT-2), or load a'
            " tokenizer.json that transformers saves"
        )


def check_listed(special_tokens: Mapping[str, int], vocab: Path) -> None:
    """Raises FormatError for listed special tokens to which transformers would give other ids: the next free ones."""
    ids = dict(sorted(special_tokens.items(), key=lambda entry: entry[1]))
    if n := n_misplaced(ids, parse(vocab.read_bytes(), str(vocab))):
        raise FormatError(
            f"{vocab.parent}: added token {shown(list(ids)[n - 1])} is listed with an id that the library tokenizers "
            f"would not assign to it; add it to {vocab.name} with its id"
        )


def apply(model: Model, config: Companions, name: str, *, incomplete: bool = False) -> Model:
    """Returns the model with the files' special tokens and settings. FormatError if the files contradict the model.

    incomplete: the model's special tokens come from these files, since its own format does not store them.
    """
    if not config:
        return model
    listed = _listed_added_tokens(config, name)
    ids = listed.ids
    for literal, token_id in ids.items():
        if model.special_tokens.get(literal, token_id) != token_id:
            raise FormatError(
                f"{name}: {CONFIG_NAME} gives special token {shown(literal)} id {token_id}, but the tokenizer has id "
                f"{model.special_tokens[literal]}; check that the files belong to the same tokenizer"
            )
    if incomplete:
        rules = tuple(rule for rule in listed.rules if rule[0] in model.special_tokens)
        model = model.replaced(plain_specials=listed.plain, special_rules=(*model.special_rules, *rules))
    from pairloom.vocabulary import with_special_tokens

    try:
        before = model
        added = {literal: token_id for literal, token_id in ids.items() if literal not in model.special_tokens}
        with_ids = model = with_special_tokens(model, added)
        # Special tokens that only have a role or a name in these files get the next ids.
        known = ids if incomplete else model.special_tokens
        named = [literal for literal in _special_literals(config) if literal not in known]
        model = with_special_tokens(model, [literal for literal in named if literal not in model.special_tokens])
        if joining := [*added, *named]:
            said, roles = config.get(_OBJECT_TOKENS_KEY, {}), _roles(config)
            entries = [entry for entry in _entries(config, name) if entry.get("content") in added]
            entries += [
                {"id": model.special_tokens[literal], "content": literal, "special": True} | said.get(literal, {})
                for literal in named
            ]
            # Refuses tokens that would be searched for in the normalized text.
            found = read_added_tokens(entries, f"{name}: {CONFIG_NAME}", steps_before_added_tokens(model))
            model = model.replaced(
                plain_specials=model.plain_specials | found.plain.difference(roles),
                special_rules=(*model.special_rules, *found.rules),
            )
            _check_overlaps(before, added, name)
            _check_overlaps(with_ids, [literal for literal in named if literal not in with_ids.special_tokens], name)
            if not incomplete:
                _check_ids(before, {literal: model.special_tokens[literal] for literal in joining}, name)
        has_prefix = "prefix_space" in model.normalizer
        if incomplete and config.get(_PREFIX_SPACE_KEY) is True and not has_prefix:
            model = model.replaced(normalizer=(*model.normalizer, "prefix_space"))
            has_prefix = True
        if config.get(_SPLIT_SPECIALS_KEY) is True:
            ordinary = (
                (literal, "ordinary") for literal in model.special_tokens if literal not in model.plain_specials
            )
            model = model.replaced(special_rules=(*model.special_rules, *ordinary))
        if config.get(_PREFIX_SPACE_KEY) is (not has_prefix):
            warn(
                f"{name}: {CONFIG_NAME} says {_PREFIX_SPACE_KEY} = {not has_prefix}, but the tokenizer itself says "
                f"{has_prefix}; releases of transformers differ in which one they use, and pairloom uses the "
                "tokenizer; with_normalizer changes that"
            )
        kept = {key: value for key, value in config_of(model).items() if key == KEPT_TOKENIZER_JSON}
        kept |= {key: value for key, value in config.items() if key not in _DROPPED_KEYS and (key, value) != _DEFAULT}
        return model.replaced(tokenizer_config=canonical_json(kept) if kept else None)
    except ValueError as error:
        place = "" if isinstance(error, FormatError) else f"; the special tokens come from {CONFIG_NAME}"
        raise FormatError(f"{name}: {str(error).removeprefix(f'{name}: ')}{place}") from None


def _check_ids(model: Model, ids: Mapping[str, int], name: str) -> None:
    """Refuses a listed token that the tokenizer.json lacks, unless its id is the next free one, as tokenizers has it.

    If the vocabulary has holes, tokenizers counts entries instead, and may choose an id that another token has.
    """
    tokens = model.tokens()
    taken = {*tokens, *model.special_tokens.values()}
    n_ids = max(taken, default=-1) + 1
    # If a special token has the largest id, the next ids follow it even if there are holes.
    is_known = len(taken) == n_ids or n_ids - 1 in model.special_tokens.values()
    id_of = {token: token_id for token_id, token in tokens.items()}
    for literal, token_id in sorted(ids.items(), key=lambda entry: entry[1]):
        if literal in model.special_tokens:
            continue
        token = from_alphabet(literal)
        expected = n_ids if token is None else id_of.get(token, n_ids)
        if expected == n_ids and not is_known:
            raise FormatError(
                f"{name}: {CONFIG_NAME} adds token {shown(literal)}, which the tokenizer lacks, and its vocabulary "
                f"has unused ids below {n_ids}, so the library tokenizers could assign it the id of another token; "
                "add it to the tokenizer.json"
            )
        n_ids = max(n_ids, expected + 1)
        if token_id != expected:
            raise FormatError(
                f"{name}: {CONFIG_NAME} gives added token {shown(literal)} id {token_id}, but the tokenizer, which "
                f"lacks it, would assign it {expected}; check that the files belong to the same tokenizer"
            )


def _check_overlaps(model: Model, joining: Collection[str], name: str) -> None:
    """Refuses tokens that overlap with the model's own: a Model does not record which ones are searched for first."""
    if not joining:
        return
    literals = list(dict.fromkeys((*model.special_tokens, *joining)))
    for later in (joining, model.special_tokens):
        entries = [
            {"id": i, "content": literal, "special": True, "normalized": literal in later}
            for i, literal in enumerate(literals)
        ]
        if read_added_tokens(entries, name).rules:
            raise FormatError(
                f"{name}: {CONFIG_NAME} adds tokens ({', '.join(map(shown, joining))}) that contain or overlap those "
                "of the tokenizer, so it is unclear which one a text contains; add all of them to the tokenizer.json"
            )


def without_split(model: Model) -> Model:
    """Returns the model as in its tokenizer.json: whether special tokens stay text is left to the config beside it."""
    if config_of(model).get(_SPLIT_SPECIALS_KEY) is not True:
        return model
    return model.replaced(special_rules=tuple(rule for rule in model.special_rules if rule[1] != "ordinary"))


def write(model: Model) -> dict[str, bytes]:
    """Returns the settings files by name."""
    config = {**config_of(model), "tokenizer_class": _CLASS}
    config.pop(KEPT_TOKENIZER_JSON, None)
    config.setdefault(*_DEFAULT)
    if "prefix_space" in model.normalizer:
        config[_PREFIX_SPACE_KEY] = True
    named = {key: value for key, value in config.items() if key.endswith("_token") and isinstance(value, str)}
    files = {CONFIG_NAME: _bytes(config), _MAP_NAME: _bytes(named)}
    if isinstance(template := config.get("chat_template"), str):
        files[_TEMPLATE_NAME] = template.encode()
    return files


def identity_of(config: Companions) -> bytes:
    """Returns what the files say about added tokens, in the core reader's format. Equal only for equal files.

    As in transformers, an entry of added_tokens_decoder replaces a token's rules, and a token with a role (such as
    bos_token) is special.
    """
    return json.dumps([config.get(_ADDED_TOKENS_KEY), _roles(config)], sort_keys=True).encode()


def steps_before_added_tokens(model: Model) -> list[str]:
    """Returns the normalizer steps that run before added tokens are searched for."""
    skipped = {DROP_STEP, *(step.rstrip(":") for step in (UNKNOWN, UNKNOWN_EACH, WORDS))}
    if model.pattern != CHARACTERS:
        skipped.add("prefix_space")
    elif not {"first_prefix", "prefix_space"}.isdisjoint(model.normalizer):
        # The steps of a Metaspace, which runs after added tokens are found.
        skipped |= {"spaces", "first_prefix", "prefix_space"}
    return [step for step in (each.partition(":")[0] for each in model.normalizer) if step not in skipped]


def _listed_added_tokens(config: Companions, name: str) -> AddedTokens:
    """Returns the tokens of added_tokens_decoder, else of added_tokens.json."""
    return read_added_tokens(_entries(config, name), f"{name}: {CONFIG_NAME}")


def _entries(config: Companions, name: str) -> list[dict[str, Any]]:
    decoder = config.get(_ADDED_TOKENS_KEY, config.get(_ADDED_FILE_KEY)) or {}
    where = f"{name}: {CONFIG_NAME}"
    roles = _roles(config)
    if type(decoder) is not dict:
        raise FormatError(f"{where}: added_tokens_decoder must be an object, not {shown(decoder)}")
    entries = []
    for text, entry in decoder.items():
        if not (text.isascii() and text.isdigit() and len(text) < 10 and type(entry) is dict):
            raise FormatError(
                f"{where}: added_tokens_decoder[{shown(text)}] must be an object whose key is a numeric id"
            )
        entry = {key: value for key, value in entry.items() if key != "__type"}
        special = entry.get("special", False) or entry.get("content") in roles
        entries.append({**entry, "special": special, "id": int(text)})
    return entries


def _special_literals(config: Mapping[str, Any]) -> list[str]:
    """Returns, each once, the literals that have a role or are listed as special tokens."""
    extra, several = (config.get(key) or [] for key in _EXTRA_TOKENS_KEYS)
    if extra and not isinstance(extra, Mapping):
        several = extra
    if not isinstance(several, (list, str, Mapping)):
        raise FormatError(f"{CONFIG_NAME}: additional_special_tokens must be a list, not {shown(several)}")
    found = map(literal_of, several if isinstance(several, list) else [])
    return list(dict.fromkeys([*_roles(config), *(literal for literal in found if literal)]))


def _roles(config: Mapping[str, Any]) -> list[str]:
    """Returns the literals that have a role: bos_token, eos_token, and any others of the model."""
    extra = config.get("extra_special_tokens")
    found = map(literal_of, [*_role_values(config), *(extra.values() if isinstance(extra, Mapping) else [])])
    return [literal for literal in found if literal]


def _role_values(config: Mapping[str, Any]) -> list[Any]:
    """Returns the values of the roles, in the order in which transformers adds tokens."""
    others = [key for key in config if key.endswith("_token") and key not in _ROLES]
    return [config.get(key) for key in (*_ROLES, *others)]


def _object(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    value = parse(path.read_bytes(), str(path))
    if type(value) is not dict:
        raise FormatError(f"{path}: must be a JSON object, not {shown(value)}")
    return value


def _text(path: Path) -> str:
    try:
        text = path.read_bytes().decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from None
    return text


def _bytes(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n").encode()
