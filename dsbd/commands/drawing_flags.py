"""Flags of the subcommands that draw."""

import argparse

PLOTLY_FROM = ("beside", "inline", "cdn")


def add_plotly_flag(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Where the page's Plotly comes from; ``of`` names the format that has one."""
    parser.add_argument("--plotly", choices=PLOTLY_FROM, default="beside", help=f"{of}where Plotly comes from (beside)")


def add_language_flag(parser: argparse.ArgumentParser, of: str = "") -> None:
    """The language of what is drawn; ``of`` names the format that has one."""
    parser.add_argument("--language", type=_language, default="en", help=f"{of}of sentences and controls (en)")


def _language(text: str) -> str:
    from visualize.words.words import Words

    try:
        return Words(text).language
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
