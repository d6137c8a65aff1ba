"""``site``: a static site with a viewer page for every trace of a folder."""

import argparse
from typing import Any

from dsbd.assets import asset_path
from dsbd.commands.parser import OK, add_language_flag, new_command, print_json
from dsbd.commands.paths import input_path, output_folder
from dsbd.errors import SettingsError

ARTICLE = asset_path("article/article.md")


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "site", "write a static site with a viewer page for every trace of a folder", run)
    parser.add_argument("--traces", type=input_path, required=True, metavar="DIR", help="folder of trace files")
    parser.add_argument("--output", type=output_folder, required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--lessons", type=input_path, metavar="DIR", help="folder of lessons, which become pages too")
    parser.add_argument(
        "--article",
        type=input_path,
        metavar="FILE",
        help="a lesson without questions, as a page to scroll (the bundled one)",
    )
    parser.add_argument("--title", default="DSBD", help="title of the site (DSBD)")
    parser.add_argument("--live", action="store_true", help="add a page that decodes in the reader's browser")
    add_language_flag(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    import visualize

    bundled = ARTICLE if ARTICLE.is_file() else None
    try:
        pages = visualize.export_site(
            parsed.traces,
            parsed.output,
            lessons=parsed.lessons,
            article=parsed.article or bundled,
            title=parsed.title,
            language=parsed.language,
            live=parsed.live,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None
    if parsed.json:
        print_json({"output": parsed.output, "pages": pages})
    else:
        print("\n".join(pages))
    return OK
