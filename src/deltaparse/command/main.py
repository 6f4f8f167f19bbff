"""Entry point of the `deltaparse` command.

Each subcommand has its own module and uses only the public packages. Bad input prints one line
on stderr and exits with code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, NoReturn

import deltaparse as dp

from .analyze_command import ANALYZE
from .demo_command import DEMO
from .doctor_command import DOCTOR
from .formats_command import FORMATS
from .grammar_command import GRAMMAR
from .inputs import BadInput
from .inspect_command import INSPECT
from .parse_command import PARSE
from .replay_command import REPLAY
from .response_template_command import RESPONSE_TEMPLATE
from .serve_command import SERVE
from .subcommand import complain

__all__ = ["main"]

SHELLS = ("bash", "zsh", "tcsh")
SUBCOMMANDS = (
    *(DEMO, PARSE, ANALYZE, FORMATS, GRAMMAR, RESPONSE_TEMPLATE),
    *(DOCTOR, REPLAY, INSPECT, SERVE),
)
DESCRIPTION = """\
Parse the output of a language model into content, reasoning and tool calls.
The format is derived from the model's chat template, or is one of the built-in formats.

  deltaparse demo                                      stream a recorded response
  deltaparse analyze template.jinja                    analyze a template
  deltaparse analyze templates/                        analyze a folder of templates
  deltaparse parse --template template.jinja out.txt   parse an output
  deltaparse parse --format hermes out.txt             parse with a built-in format
  deltaparse formats                                   list the built-in formats
  deltaparse grammar --template template.jinja --tools tools.json
  deltaparse response-template model/                  write its response_template
  deltaparse doctor model/ --tools tools.json          check a model and its tools
  deltaparse serve --upstream http://127.0.0.1:8000    run an OpenAI-compatible gateway
  deltaparse replay --template template.jinja --in log.jsonl --out results.jsonl
  deltaparse inspect --format hermes out.txt           write an HTML inspection page
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code.

    Args:
        argv: arguments without the program name (default: those of the process).

    Returns:
        0 on success, 1 on failed output or a failed check, 2 on bad input, 130 on interrupt.
    """
    if sys.stdout is None:
        complain("standard output is closed")
        return 1
    if isinstance(sys.stdout, TextIOWrapper):
        # Unencodable characters must not stop the output. In JSON the escapes are equivalent.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options, unknown = _arguments().parse_known_args(argv)
        if unknown:
            options.refuse(f"unrecognized arguments: {' '.join(unknown)}")
        options.run(options)
        sys.stdout.flush()
    except (BadInput, dp.DeltaParseError) as error:
        complain(str(error))
        return 2
    except SystemExit as done:  # argparse has printed the help or the version
        return int(done.code or 0)
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        _abandon_output()
        if not isinstance(error, BrokenPipeError):
            complain(error.strerror or str(error))
        return 1
    return 0


class _Arguments(argparse.ArgumentParser):
    """Argument parser that reports an error in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        raise BadInput(f"{message} (see `{self.prog} -h`)")


class _Completion(argparse.Action):
    """Action that prints a shell completion script."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002 - what argparse passes
        values: Any,
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        """Print the script and exit."""
        try:
            import shtab
        except ImportError:
            words = "--completion needs the package shtab: pip install 'deltaparse[completion]'"
            raise BadInput(words) from None
        print(shtab.complete(parser, values))
        parser.exit()


def _arguments() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    top = _Arguments("deltaparse", description=DESCRIPTION, formatter_class=raw, allow_abbrev=False)
    top.add_argument(
        "--completion",
        action=_Completion,
        choices=SHELLS,
        metavar="SHELL",
        help=f"print a completion script for {', '.join(SHELLS)} (requires the package shtab)",
    )
    top.add_argument("--version", action="version", version=f"deltaparse {dp.__version__}")
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for subcommand in SUBCOMMANDS:
        text = subcommand.help
        parser = commands.add_parser(
            subcommand.name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=subcommand.epilog,
            formatter_class=raw,
            allow_abbrev=False,
        )
        subcommand.add_arguments(parser)
        parser.set_defaults(run=subcommand.run, refuse=parser.error)
    return top


def _abandon_output() -> None:
    """Redirect standard output to the null device, so Python's last flush cannot fail."""
    with suppress(OSError, ValueError):
        output = sys.stdout.fileno()
        os.dup2(os.open(os.devnull, os.O_WRONLY), output)
