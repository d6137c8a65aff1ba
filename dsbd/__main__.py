"""Command line: ``python -m dsbd decode|compare|bench|verify-trace|export|lesson|site|doctor``.

Results go to stdout, everything else to stderr. Exit codes: 0, 1 (a check failed), 2 (bad input), 130 (a bench was
stopped; what it had measured is kept and printed).
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args, get_type_hints

from dsbd import __version__
from dsbd.errors import DsbdError, SettingsError
from dsbd.measure.flags import add_bench_flags, baselines_of, plan_of
from dsbd.settings import AUTO, AUTO_FIELDS, METHODS, DecodingSettings

if TYPE_CHECKING:
    from dsbd.models.pair import Pair

OK, CHECK_FAILED, BAD_INPUT, STOPPED = 0, 1, 2, 130
EXPORT_FORMATS = ("html", "svg", "tikz", "mermaid", "text")
PLOTLY_FROM = ("beside", "inline", "cdn")


class _Parser(argparse.ArgumentParser):
    """Reports bad input in one line."""

    def error(self, message: str) -> NoReturn:
        print(f"dsbd: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(BAD_INPUT)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit code."""
    parsed = _parser().parse_args(arguments)
    try:
        code: int = parsed.run(parsed)
    except DsbdError as error:
        print(f"dsbd: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        return OK
    except KeyboardInterrupt:
        print("dsbd: stopped", file=sys.stderr)
        return CHECK_FAILED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m dsbd", description="Dynamic-width speculative beam decoding.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    decode = _command(commands, "decode", "decode a prompt", _decode)
    decode.add_argument("--prompt", required=True, help="text to continue")
    decode.add_argument("--trace", metavar="FILE", help="record a trace (.json or .json.gz)")
    decode.add_argument("--chat", action="store_true", help="apply the model's chat template")
    _add_pair(decode)
    _add_settings(decode, skip=())
    compare = _command(commands, "compare", "measure methods side by side on a prompt", _compare)
    compare.add_argument("--prompt", required=True, help="text to continue")
    compare.add_argument("--methods", default="dsbd,beam_sampling", help=f"comma-separated, of {', '.join(METHODS)}")
    compare.add_argument("--runs", type=int, default=3, help="runs per method, with seeds seed, seed + 1, ... (3)")
    _add_pair(compare)
    _add_settings(compare, skip=("method",))
    bench = _command(commands, "bench", "measure methods and settings over many prompts", _bench)
    add_bench_flags(bench)
    _add_pair(bench)
    verify = _command(commands, "verify-trace", "decide everything in a trace again", _verify_trace)
    verify.add_argument("file", metavar="FILE")
    export = _command(commands, "export", "draw a trace", _export)
    export.add_argument("file", metavar="FILE")
    export.add_argument("--format", choices=EXPORT_FORMATS, required=True)
    export.add_argument("--output", required=True, metavar="OUT")
    export.add_argument("--iteration", type=int, default=0, help="which iteration, for all but html (0)")
    export.add_argument(
        "--plotly", choices=PLOTLY_FROM, default="beside", help="html: where Plotly comes from (beside)"
    )
    export.add_argument("--language", type=_language, default="en", help="html: of sentences and controls (en)")
    lesson = _command(commands, "lesson", "make a page of a lesson", _lesson)
    lesson.add_argument("file", metavar="FILE", help="the lesson, in Markdown")
    lesson.add_argument("--output", required=True, metavar="OUT")
    lesson.add_argument("--plotly", choices=PLOTLY_FROM, default="beside", help="where Plotly comes from (beside)")
    site = _command(commands, "site", "write a static site with a viewer page for every trace of a folder", _site)
    site.add_argument("--traces", required=True, metavar="DIR", help="folder of trace files")
    site.add_argument("--output", required=True, metavar="DIR", help="folder to write")
    site.add_argument("--lessons", metavar="DIR", help="folder of lessons, to be pages of the site as well")
    site.add_argument("--title", default="DSBD", help="title of the site (DSBD)")
    site.add_argument("--base-url", default="", metavar="URL", help="where the site will be found, for oEmbed")
    site.add_argument("--language", type=_language, default="en", help="of sentences and controls (en)")
    doctor = _command(commands, "doctor", "what this machine and this pair can do", _doctor)
    _add_pair(doctor)
    return parser


def _command(commands: Any, name: str, summary: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run)
    return parser


def _add_pair(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", metavar="PATH_OR_ID", help="target model (the bundled pair)")
    parser.add_argument("--draft", metavar="PATH_OR_ID", help="draft model of the same vocabulary")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ... (auto)")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16, float64 (auto)")
    parser.add_argument("--engine", default="auto", help="auto, eager, graph (auto)")


def _add_settings(parser: argparse.ArgumentParser, skip: Sequence[str]) -> None:
    """One flag per field of DecodingSettings."""
    hints = get_type_hints(DecodingSettings)
    for field in fields(DecodingSettings):
        if field.name in skip:
            continue
        assert field.default is not MISSING
        flag, kind = "--" + field.name.replace("_", "-"), hints[field.name]
        options: dict[str, Any] = {"default": field.default, "dest": field.name, "help": f"({field.default})"}
        if kind is bool:
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
        elif field.name == "depth_costs":
            parser.add_argument(flag, type=_costs, metavar="COST,COST,...", **options)
        elif field.name in AUTO_FIELDS and kind is not str:
            parser.add_argument(flag, type=_integer_or_auto, metavar="N|auto", **options)
        elif type(None) in get_args(kind):
            parser.add_argument(flag, type=_integer_or_none, metavar="N|none", **options)
        else:
            parser.add_argument(flag, type=kind, metavar=kind.__name__.upper(), **options)


def _integer_or_none(text: str) -> int | None:
    return None if text.lower() == "none" else int(text)


def _integer_or_auto(text: str) -> int | str:
    return AUTO if text.lower() == AUTO else int(text)


def _costs(text: str) -> tuple[float, ...] | None:
    return None if text.lower() == "none" else tuple(float(cost) for cost in text.split(","))


def _language(text: str) -> str:
    from visualize.words import Words

    try:
        return Words(text).language
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


# argparse names the type in its message
_integer_or_none.__name__ = "whole number or none"
_integer_or_auto.__name__ = "whole number or auto"
_costs.__name__ = "list of numbers"


def _settings(parsed: argparse.Namespace) -> DecodingSettings:
    names = {field.name for field in fields(DecodingSettings)}
    return DecodingSettings(**{name: value for name, value in vars(parsed).items() if name in names})


def _load_pair(parsed: argparse.Namespace) -> "Pair":
    from dsbd.models.pair import load_pair

    pair = load_pair(parsed.target, parsed.draft, parsed.device, parsed.dtype, parsed.engine)
    for line in pair.fallbacks:
        print(f"dsbd: {line}", file=sys.stderr)
    return pair


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _decode(parsed: argparse.Namespace) -> int:
    settings = _settings(parsed)
    _require_folder_of(parsed.trace)
    from dsbd.decoder import stream

    pair = _load_pair(parsed)
    shown, result = "", None
    for update in stream(pair, parsed.prompt, settings, record=bool(parsed.trace), chat=parsed.chat):
        if not parsed.json:
            print(update.settled_text[len(shown) :], end="", flush=True)
            shown = update.settled_text
        result = update.result
    assert result is not None
    if result.trace is not None:
        result.trace.save(parsed.trace)
    if parsed.json:
        _print_json(
            {
                "text": result.text,
                "token_ids": result.token_ids,
                "beams": [asdict(beam) for beam in result.beams],
                "stats": asdict(result.stats),
                "settings": asdict(result.settings),
                "models": _models(pair),
            }
        )
        return OK
    stats = result.stats
    print(flush=True)
    print(
        f"[{stats.new_tokens} tokens, {stats.tokens_per_second:.1f} tokens/s, {stats.target_calls} target forwards, "
        f"{stats.layers_per_iteration:.2f} layers per iteration]",
        file=sys.stderr,
    )
    return OK


def _models(pair: "Pair") -> dict[str, Any]:
    from dsbd.tracing.recorder import model_record

    return {
        "target": asdict(model_record(pair.target)),
        "draft": None if pair.draft is None else asdict(model_record(pair.draft)),
    }


def _compare(parsed: argparse.Namespace) -> int:
    settings = _settings(parsed)
    methods = [name.strip() for name in parsed.methods.split(",") if name.strip()]
    from dsbd.measure.compare import compare

    progress = None
    for progress in compare(_load_pair(parsed), parsed.prompt, settings, methods, parsed.runs):
        print(f"\r{progress.done}/{progress.total} {progress.method:<16}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    assert progress is not None
    assert progress.result is not None
    if parsed.json:
        _print_json(progress.result)
        return OK
    print(f"{'method':<16}{'tokens/s':>10}{'ratio':>8}{'perplexity':>12}{'layers/it':>11}{'target calls':>14}")
    for row in progress.result["methods"]:
        ratio = progress.result["ratios"][row["method"]]
        shown = f"{ratio:.2f}" if ratio is not None else "-"
        print(
            f"{row['method']:<16}{row['tokens_per_second']:>10.1f}{shown:>8}{row['perplexity']:>12.2f}"
            f"{row['layers_per_iteration']:>11.2f}{row['target_calls']:>14.1f}"
        )
    return OK


def _bench(parsed: argparse.Namespace) -> int:
    plan = plan_of(parsed)
    baselines = baselines_of(parsed, plan)
    for path in (parsed.output, parsed.report):
        _require_folder_of(path)
    from dsbd.measure.session import BenchSession

    session = BenchSession(_load_pair(parsed), plan, parsed.output)
    finished = session.run()
    summary = session.summary(baselines)
    if parsed.json:
        _print_json(summary)
    else:
        from dsbd.measure.tables import bench_tables

        print(bench_tables(summary))
    if parsed.report:
        import visualize

        visualize.export_bench(summary, parsed.report)
    return OK if finished else STOPPED


def _verify_trace(parsed: argparse.Namespace) -> int:
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.trace import Trace

    report = verify_trace(Trace.load(parsed.file))
    if parsed.json:
        _print_json(asdict(report))
    elif report.passed:
        print(f"all {report.checks} decisions and identities follow")
    else:
        print(f"does not follow: {report.failure}")
    return OK if report.passed else CHECK_FAILED


def _export(parsed: argparse.Namespace) -> int:
    import visualize
    from dsbd.tracing.trace import Trace

    _require_folder_of(parsed.output)
    trace = Trace.load(parsed.file)
    if parsed.format == "html":
        visualize.export_html(trace, parsed.output, plotly=parsed.plotly, language=parsed.language)
    else:
        export = getattr(visualize, f"export_{parsed.format}")
        export(trace, parsed.output, iteration=parsed.iteration)
    if parsed.json:
        _print_json({"output": parsed.output, "format": parsed.format, "bytes": Path(parsed.output).stat().st_size})
    return OK


def _lesson(parsed: argparse.Namespace) -> int:
    import visualize

    _require_folder_of(parsed.output)
    visualize.export_lesson(parsed.file, parsed.output, plotly=parsed.plotly)
    if parsed.json:
        _print_json({"output": parsed.output, "bytes": Path(parsed.output).stat().st_size})
    return OK


def _site(parsed: argparse.Namespace) -> int:
    import visualize

    try:
        pages = visualize.export_site(
            parsed.traces,
            parsed.output,
            lessons=parsed.lessons,
            title=parsed.title,
            base_url=parsed.base_url,
            language=parsed.language,
        )
    except ValueError as error:
        raise SettingsError(str(error)) from None
    if parsed.json:
        _print_json({"output": parsed.output, "pages": pages})
    else:
        print("\n".join(pages))
    return OK


def _require_folder_of(path: str | None) -> None:
    """Raises: SettingsError where a file cannot be written to this path; found out before any work."""
    if path is None:
        return
    if Path(path).is_dir():
        raise SettingsError(f"{path!r} is a folder; name a file")
    if not Path(path).resolve().parent.is_dir():
        raise SettingsError(f"folder of {path!r} does not exist; create it first")


def _doctor(parsed: argparse.Namespace) -> int:
    from dsbd.measure.doctor import examine

    report = examine(_load_pair(parsed))
    if parsed.json:
        _print_json(report)
        return OK
    print("versions   " + ", ".join(f"{name} {number}" for name, number in report["versions"].items()))
    machine = f"{report['device']}, {report['cores']} cores, {report['threads']} threads"
    print(f"device     {machine}, {report['dtype']}, engine {report['engine']}")
    for role, model in report["models"].items():
        if model is not None:
            check = report["checks"][role]
            print(f"{role:<11}{model['id']}, {model['parameters']:,} parameters, {model['attention']} attention")
            print(f"{'':<11}{check['reason']} (error {check['error']:.2g} of the spread)")
    for role in ("target", "draft"):
        times = report[f"{role}_forward_milliseconds"]
        if times is not None:
            shown = ", ".join(f"T({size}) {milliseconds:.2f} ms" for size, milliseconds in times.items())
            print(f"{role:<11}{shown}")
    for line in report["advice"]:
        print(f"{'':<11}{line}")
    return OK


if __name__ == "__main__":
    sys.exit(main())
