"""`supervisor completion`: prints the completion script for a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from holdfastd.cli.common import options
from holdfastd.cli.common.output import command_name

SHELLS = ("bash", "zsh", "fish")


@options.command(
    epilog="Examples:\n\nsupervisor completion bash > ~/.local/share/bash-completion/completions/supervisor\n\n"
    "supervisor completion zsh > ~/.zfunc/_supervisor\n\n"
    "supervisor completion fish > ~/.config/fish/completions/supervisor.fish"
)
@click.argument("shell", type=click.Choice(SHELLS))
@options.common
@click.pass_context
def completion(context: click.Context, /, shell: str) -> None:
    """Print a shell script that completes commands, options and task ids."""
    kind = get_completion_class(shell)
    assert kind is not None
    group = context.find_root().command
    # `source()` is not used: it starts a bash only to check the version of bash.
    name = command_name()
    variable = f"_{name.upper()}_COMPLETE"  # the script sets it when it calls the command; click expects this name
    completer = kind(group, {}, name, variable)
    click.echo(completer.source_template % completer.source_vars())
