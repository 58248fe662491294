"""Options of commands that take any setting that sites share: one for each, found when needed.

The settings are in `widemargin.sites.settings`. They are looked up when such a command runs or
prints its help, so that other commands need not import them.
"""

from __future__ import annotations

import inspect
from typing import Annotated, Any

import typer
from typer.main import get_command

from .grouped_help import GroupedCommand
from .messages import usage_error

__all__ = ["SettingsCommand", "given_settings", "value_from_text"]

_PLACE = "widemargin.settings"
_HEADINGS = {"network": "What all sites share", "model": "The problem, the same at all sites"}


class SettingsCommand(GroupedCommand):
    """A command with an option for every setting of [network] and [model].

    Settings that an option of the command itself is named for are left to it.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, those of the settings before ``--help``."""
        own = list(super().get_params(ctx))
        if not hasattr(self, "_of_settings"):
            self._of_settings = _options({name for each in own for name in each.opts})
        return [*own[:-1], *self._of_settings, own[-1]]


def given_settings(ctx: Any) -> dict[str, Any]:
    """Return the settings that were given as options, checked, by name."""
    from ..sites.settings import SETTINGS

    kinds = {setting.name: setting for setting in SETTINGS}
    texts: dict[str, str] = ctx.meta.get(_PLACE, {})
    return {name: value_from_text(kinds[name], text) for name, text in texts.items()}


def value_from_text(setting: Any, text: str) -> Any:
    """Return the value that a text stands for: a number, true or false, a text, or a list."""
    plain = _scalar(text)
    items = text[1:-1] if text.startswith("[") and text.endswith("]") else text  # as in TOML
    words = [each.strip() for each in items.split(",")]
    required, fits = setting.kind
    for value in (plain, [_scalar(each) for each in words], text, words):
        if fits(value):
            return value
    raise usage_error(f"{_name(setting.name)} must be {required}; got {text!r}.")


def _options(taken: set[str]) -> list[Any]:
    """Return the options, as typer makes them of a function with such parameters."""
    from ..sites.settings import SETTINGS

    taken = taken | {"--n-sites", "--n-features"}  # these have shorter names
    wanted = [s for s in SETTINGS if s.section in _HEADINGS and _name(s.name) not in taken]

    def command(**values: Any) -> None:
        pass

    command.__annotations__ = {s.name: Annotated[str | None, _option(s)] for s in wanted}
    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in command.__annotations__.items()
        ]
    )
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command()(command)
    return list(get_command(app).params)


def _option(setting: Any) -> Any:
    def keep(ctx: typer.Context, value: str | None) -> None:
        if value is not None:
            ctx.meta.setdefault(_PLACE, {})[setting.name] = value

    return typer.Option(
        _name(setting.name),
        help=setting.comment,
        metavar="VALUE",
        show_default=False,
        expose_value=False,
        callback=keep,
        rich_help_panel=_HEADINGS[setting.section],
    )


def _name(setting: str) -> str:
    return f"--{setting.replace('_', '-')}"


def _scalar(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
