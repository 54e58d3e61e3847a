"""The command line: parse, call, print. One file a command."""

from __future__ import annotations

import os
import sys
import warnings

import click

from chainveil import __version__
from chainveil.cli import (
    attack,
    audit,
    calibrate,
    compare,
    data,
    demo,
    estimate,
    export,
    fit,
    loss,
    misfit,
    plan,
    report,
    sanitize,
    verify,
)
from chainveil.cli.old_options import removed
from chainveil.cli.output import (
    BUG,
    FAILED,
    INTERRUPTED,
    TRACEBACK,
    UNREACHABLE,
    USAGE,
    complain,
    complain_of_bug,
    complain_of_usage,
    warnings_in_words,
)
from chainveil.errors import ChainveilError, NotSupported, UnreachableBudget

EPILOG = """
\b
Exit codes: 0 done and, for verify, holds as promised to anyone; 1 verification
failed; 2 wrong usage or unusable input; 3 a budget that cannot be met, or a
question that cannot be answered exactly or within --max-seconds; 4 for verify,
holds with a weaker promise; 70 a mistake of chainveil itself; 130 interrupted.

\b
Completion: eval "$(_CHAINVEIL_COMPLETE=bash_source chainveil)", in zsh and
fish with zsh_source and fish_source.
"""


# Packages whose versions say how a figure was computed, noise drawn or a file written.
LEANS_ON = ("numpy", "numba", "scipy", "python-flint", "cryptography", "pyarrow", "narwhals")


def _versions(context: click.Context, _option: click.Parameter, asked: bool) -> None:
    """Print the versions that a report of a problem needs, and end."""
    if not asked or context.resilient_parsing:
        return
    from importlib.metadata import version
    from platform import python_version

    told = [f"Python {python_version()}", *(f"{name} {version(name)}" for name in LEANS_ON)]
    click.echo(f"chainveil {__version__} ({', '.join(told)})")
    context.exit()


class InOrder(click.Group):
    """Commands in the order of the work, not of the alphabet."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names as they were added."""
        return list(self.commands)


@click.group(cls=InOrder, epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_versions,
              help="Show the version, and those of what it leans on, and exit.")  # fmt: skip
def cli() -> None:
    """Publish time series under Bayesian differential privacy.

    Finds the least noise that meets a budget, applies it, and hands over the release with
    a certificate that anyone can check again.

    \b
    chainveil sanitize heart.csv --column bpm --threshold 60 --epsilon 1 -o release.parquet
    chainveil verify release.certificate.json release.parquet
    """


for command in (
    fit.fit, compare.compare, plan.plan, calibrate.calibrate, sanitize.sanitize, export.export,
    verify.verify, estimate.estimate, report.report, loss.loss, misfit.misfit, attack.attack,
    audit.audit, demo.demo, data.data,
):  # fmt: skip
    cli.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the program; ends the process with a meaningful code."""
    # Whoever runs a command has no use for the line of ours that warns.
    warnings.formatwarning = lambda message, *_, **__: f"warning: {message}\n"
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code."""
    return run_command(cli, "chainveil", arguments)


def run_command(command: click.Command, name: str, arguments: list[str] | None = None) -> int:
    """Run a command under the name of its program; errors become words and an exit code."""
    try:
        with warnings_in_words():
            result = command.main(arguments, prog_name=name, standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        sentence = removed(error) if isinstance(error, click.NoSuchOption) else None
        if sentence is None:
            complain_of_usage(error)
        else:
            complain(sentence)
        return error.exit_code
    except (click.Abort, KeyboardInterrupt) as stop:
        # Click puts its own exception before the interrupt, which may say what is left.
        words = stop.args or (stop.__cause__.args if stop.__cause__ else ())
        complain(f"interrupted; {words[0] if words else 'nothing was written'}")
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; a second error at exit helps nobody.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (UnreachableBudget, NotSupported) as error:
        complain(error)
        return UNREACHABLE
    except (ChainveilError, OSError) as error:
        complain(error)
        return USAGE
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        complain_of_bug(error)
        return BUG
    return result if isinstance(result, int) else 0
