"""Flags of the subcommands that draw."""

import argparse

PLOTLY_FROM = ("beside", "inline", "cdn")


def add_plotly_flag(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add the flag that says where the page finds Plotly; ``of`` names the format it belongs to."""
    parser.add_argument("--plotly", choices=PLOTLY_FROM, default="beside", help=f"{of}where Plotly comes from (beside)")


def add_language_flag(parser: argparse.ArgumentParser, of: str = "") -> None:
    """Add the flag of the language; ``of`` names the format it belongs to."""
    parser.add_argument("--language", type=_language, default="en", help=f"{of}of sentences and controls (en)")


def _language(text: str) -> str:
    from visualize.words.words import Words

    try:
        return Words(text).language
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
