"""Hooks of the documentation site: pages generated from the sources, and links that leave docs/.

Generated: the commands, from the parser; named patterns side by side; the changelog; the benchmarks, from the
README and the newest record. Links to files of the repository that are not pages become their path.
"""

from __future__ import annotations

import argparse
import gzip
import html
import os
import re
from pathlib import Path
from typing import Any

import handout
import playground_files
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
WASM = Path(os.environ.get("PAIRLOOM_WASM", ROOT / "target/wasm32-unknown-unknown/wasm/pairloom_wasm.wasm"))
SAMPLE = "I'll pay 12345 EUR,\n\n  straße camelCase 東京です!!"


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are generated."""
    pages: dict[str, str | bytes] = {
        "reference/commands.md": commands_page(),
        "reference/changelog.md": (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        "reference/benchmarks.md": benchmarks_page(),
    }
    picture = newest_picture()
    if picture is not None:
        pages[f"reference/{picture.name}"] = picture.read_bytes()
    # The playground's engine; without it, the page says how to build it.
    pages |= {f"playground/{name}": content for name, content in playground_files.files(WASM).items()}
    pages["reference/javascript.md"] = (ROOT / "crates/wasm/js/README.md").read_text(encoding="utf-8")
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Replaces links that leave docs/ by their paths."""
    markdown = markdown.replace("<!-- patterns -->", patterns_table()).replace("<!-- engine size -->", engine_size())
    # The highlighter does not know the tests' note on a block.
    markdown = re.sub(r"^```(python|sh) notest$", r"```\1", markdown, flags=re.MULTILINE)
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def outside(found: re.Match[str]) -> str:
        target = (folder / found[2]).resolve()
        if target.exists() and not target.is_relative_to(ROOT / "docs"):
            return f"{found[1]} (`{target.relative_to(ROOT).as_posix()}`)"
        return found[0]

    return re.sub(r"(?<!!)\[([^\]]*)\]\(([^)#:]+)\)", outside, markdown)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Adds the preview of a page for messages and posts: its title and a picture. Both need the site's address."""
    address = f"{config.site_url.rstrip('/')}/" if config.site_url else ""
    shown = {
        "og:type": "website",
        "og:title": f"{page.title} - {config.site_name}",
        "og:description": config.site_description,
        "og:image": f"{address}pictures/view-light.png",
        "twitter:card": "summary_large_image",
    }
    tags = (f'<meta property="{name}" content="{html.escape(value)}">' for name, value in shown.items())
    return output.replace("</head>", "\n".join(tags) + "\n</head>", 1)


def on_post_build(config: Any, **_: Any) -> None:
    """Prints the handout as a PDF next to its page, which links to it; without Chromium, the page says how to."""
    page = Path(config.site_dir) / "handout.html"
    if handout.print_page(page, page.with_suffix(".pdf")):
        text = page.read_text(encoding="utf-8")
        how = "make a PDF with <code>make handout</code>"
        if how not in text:
            raise RuntimeError(f"{page} does not contain {how!r}, which a link to the PDF replaces")
        page.write_text(text.replace(how, '<a href="handout.pdf">take it as a PDF</a>'), encoding="utf-8")


def commands_page() -> str:
    """Returns every command with its options, from the parser."""
    os.environ["COLUMNS"] = "100"
    from pairloom.cli.commands import parser

    root = parser()
    commands = next(action for action in root._actions if isinstance(action, argparse._SubParsersAction))
    parts = [
        "# Commands",
        "`pairloom COMMAND` and `python -m pairloom COMMAND`. Results go to stdout, everything for people to"
        " stderr. The exit status is 0, 1 (failed), 2 (wrong usage), 3 (`--strict`, and some input was left out), or"
        " 128 + the number of the signal.",
    ]
    for name, command in commands.choices.items():
        parts.append(f"## {name}\n\n{command.description}.\n\n```text\n{command.format_usage().strip()}\n```")
        for group in command._action_groups:
            options = (action for action in group._group_actions if not isinstance(action, argparse._HelpAction))
            rows = [_option_row(command, action) for action in options]
            if rows:
                title = "" if group.title in ("options", "positional arguments") else f"**{group.title}**\n\n"
                parts.append(f"{title}| option | what it does |\n|---|---|\n" + "\n".join(rows))
    return "\n\n".join(parts) + "\n"


def _option_row(command: argparse.ArgumentParser, action: argparse.Action) -> str:
    """Returns one row of a table: the option with its values, and what it does."""
    value = command._get_formatter()._format_args(action, action.dest.upper()) if action.nargs != 0 else ""
    names = ", ".join(f"{name} {value}".strip() for name in action.option_strings) or value
    about = (action.help or "") % {"default": action.default, "prog": command.prog}
    required = " **Required.**" if action.required else ""
    names = names.replace("|", "\\|")
    return f"| `` {names} `` | {html.escape(about, quote=False)}{required} |"


def patterns_table() -> str:
    """Returns one text split by each named pattern."""
    from pairloom.patterns import PATTERNS
    from pairloom.pretokens import pretokenize

    rows = []
    for name in PATTERNS:
        pretokens = (html.escape(token.decode()).replace("\n", "\\n") for token in pretokenize(SAMPLE, name))
        shown = "&#124;".join(f"<code>{token.replace(' ', '&nbsp;')}</code>" for token in pretokens)
        rows.append(f"| `{name}` | {shown} |")
    return "| pattern | pretokens |\n|---|---|\n" + "\n".join(rows)


def engine_size() -> str:
    """Returns a sentence about the size of this site's engine."""
    if not WASM.is_file():
        return ""
    module = WASM.read_bytes()
    return f"The engine of this page: {len(module):,} bytes, {len(gzip.compress(module)):,} by gzip."


def newest_picture() -> Path | None:
    """Returns the picture that the README shows."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\((benchmarks/record/[^)]*\.svg)\)", readme)
    return ROOT / found[1] if found else None


def benchmarks_page() -> str:
    """Returns the speed figures of the README and of other processors, with paths instead of links to the record."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"<!-- bench:begin -->\n(.*?)<!-- bench:end -->", readme, re.DOTALL)
    body = found[1] if found else "No record yet.\n"
    others = (ROOT / "benchmarks/record/README.md").read_text(encoding="utf-8").split("\n\n", 2)[2]
    body += "\n" + re.sub(r"\]\((?=\w)", "](benchmarks/record/", others)
    body = re.sub(r"(!\[[^\]]*\])\((?:[^)]*/)?([^)/]*\.svg)\)", r"\1(\2)", body)
    body = re.sub(r"(?<!!)\[([^\]]*)\]\((benchmarks/[^)]*)\)", r"\1 (`\2`)", body)
    return (
        "# Benchmarks\n\n"
        + body
        + '\n`make bench` reproduces the figures; `make bench ARGS="--quick"` takes five minutes. Each run checks the'
        " answers of all peers before it times them, and is kept under `benchmarks/record`.\n"
        "Why things are measured so: [decisions on benchmarks](../decisions/benchmarks.md).\n"
    )
