"""Each command's --help explains every option."""

import argparse

import pytest

from pairloom.cli.commands import COMMANDS, parser
from tests.cli.commands import output


def parser_of(command: str) -> argparse.ArgumentParser:
    commands = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    found = commands.choices[command]
    assert isinstance(found, argparse.ArgumentParser)
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_help_describes_options_that_are_of_the_usual_kinds(command: str) -> None:
    shown = " ".join(output(command, "--help").split())
    for action in parser_of(command)._actions:
        assert action.help, f"{command} {action.option_strings} has no help"
        assert all(option in shown for option in action.option_strings)
        assert action.type is not int, "whole_number says more of what is no number"
        if action.option_strings and action.nargs in ("+", "*"):
            assert type(action) is argparse._ExtendAction, "an option that is given twice keeps both lists"


def test_help_lists_every_command() -> None:
    shown = " ".join(output("--help").split())
    for command in COMMANDS:
        assert f"{command} {parser_of(command).description}" in shown
