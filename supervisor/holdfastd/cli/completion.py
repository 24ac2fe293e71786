"""`supervisor completion`."""

from __future__ import annotations

import click
import rich_click
from click.shell_completion import get_completion_class

from holdfastd.cli.common import options

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_SUPERVISOR_COMPLETE"  # by which the script asks `supervisor` itself, as click makes it of the name


@rich_click.command(
    epilog="Examples:\n\nsupervisor completion bash > ~/.local/share/bash-completion/completions/supervisor\n\n"
    "supervisor completion zsh > ~/.zfunc/_supervisor\n\n"
    "supervisor completion fish > ~/.config/fish/completions/supervisor.fish"
)
@click.argument("shell", type=click.Choice(SHELLS))
@options.common
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print the script that completes commands, options and task ids in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    group = context.find_root().command
    # Not `source()`: it starts a bash to see whether it is new enough, which is for that bash to say.
    made = kind(group, {}, "supervisor", VARIABLE)
    click.echo(made.source_template % made.source_vars())
