"""Checks arguments; the error messages list the accepted values."""
from __future__ import annotations

import dataclasses
import difflib
import enum
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timezone
from typing import Any, TypeVar, Union, cast

# A time: with or without a time zone (UTC), RFC 3339, or seconds since 1970.
Moment = Union[datetime, str, float]

Member = TypeVar("Member", bound=enum.Enum)
Config = TypeVar("Config")
Called = TypeVar("Called", bound="Callable[..., Any]")


def named_arguments(called: Called) -> Called:
    """Makes an unknown keyword argument a TypeError that lists the accepted ones.

    Args:
        called: a function, or a class, whose constructor and public methods are checked. A function that takes any
            keyword argument checks them itself and is returned unchanged.

    Returns:
        The function with the check, or the class.
    """
    if isinstance(called, type):
        for name, method in list(vars(called).items()):
            if inspect.isfunction(method) and (name == "__init__" or not name.startswith("_")):
                setattr(called, name, named_arguments(method))
        return cast("Called", called)
    parameters = [one for one in inspect.signature(called).parameters.values() if one.name != "self"]
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters):
        return called
    known = [one.name for one in parameters]

    @functools.wraps(called)
    def checked(*arguments: Any, **named: Any) -> Any:
        for name in named:
            if name not in known:
                accepted = f"use {', '.join(known)}" if known else "it has no parameter"
                raise TypeError(f"{called.__qualname__}() got an unexpected keyword argument {name!r}; {accepted}")
        return called(*arguments, **named)

    return cast("Called", checked)


def choice(kind: type[Member], value: object, what: str) -> Member:
    """Returns the member of an enumeration with the given value; `-` and `_` in it are ignored.

    Args:
        kind: the enumeration.
        value: a member, or its value.
        what: name of the setting, for error messages.

    Raises:
        TypeError: if `value` is neither a member nor a string.
        ValueError: if no member has this value.
    """
    if isinstance(value, kind):
        return value
    known = ", ".join(str(member.value) for member in kind)
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} is not a text or a {kind.__name__}; use one of {known}")
    text = value.lower().replace("-", "").replace("_", "")
    for member in kind:
        if str(member.value).replace("_", "") == text:
            return member
    raise ValueError(f"unknown {what} {value!r}; use one of {known}")


def number(name: str, value: object) -> float:
    """Returns a finite number.

    Raises:
        TypeError: if `value` is not a number.
        ValueError: if it is not finite.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}; pass a number")
    found = float(value)
    if not math.isfinite(found):
        raise ValueError(f"{name} is {found}; pass a finite number")
    return found


def numbers_of(name: str, values: Iterable[object]) -> list[float]:
    """Returns finite numbers.

    Raises:
        TypeError: if a value is not a number.
        ValueError: if a value is not finite.
    """
    return [number(name, value) for value in values]


def count(name: str, value: object, least: int = 1) -> int:
    """Returns an integer of at least `least`.

    Raises:
        TypeError: if `value` is not an integer.
        ValueError: if it is smaller.
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{name} is {value!r}; pass an integer of at least {least}")
    if value < least:
        raise ValueError(f"{name} is {value}; pass an integer of at least {least}")
    return int(value)


def names_of(name: str, values: Iterable[str]) -> list[str]:
    """Returns a list of strings.

    Raises:
        TypeError: if `values` is a single string, which would be split into letters.
    """
    if isinstance(values, str):
        raise TypeError(f"{name} is the text {values!r}; pass a list of names")
    return list(values)


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns the names most similar to `name`, for a message; the first known names if none is similar."""
    every = list(known)
    return ", ".join(difflib.get_close_matches(name, every, 3, 0.4) or every[:3])


def config_of(kind: type[Config], given: Config | Mapping[str, Any] | None) -> Config:
    """Converts `given` to a configuration.

    Args:
        kind: the class of the configuration.
        given: a configuration, a dictionary with its fields, or None for the defaults.

    Raises:
        TypeError: if `given` is none of these.
        ValueError: if the dictionary has an unknown key.
    """
    if isinstance(given, kind):
        return given
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"the configuration is {given!r}; pass a {kind.__name__} or a dictionary with its fields")
    values = cast("Mapping[str, Any]", given or {})
    known = [one.name for one in dataclasses.fields(cast(Any, kind))]
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ValueError(f"unknown key in config: {', '.join(unknown)}; use {', '.join(known)}")
    return kind(**values)


def moment(value: object) -> str:
    """Returns a time in RFC 3339.

    Args:
        value: a `datetime` (UTC if it has no time zone), RFC 3339, or seconds since 1970.

    Raises:
        TypeError: if `value` is none of these.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, datetime):
        known = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
        return known.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{value!r} is not a time; use datetime, RFC 3339 (2026-11-21T09:03:12Z) or seconds since 1970")
    return datetime.fromtimestamp(float(value), timezone.utc).isoformat().replace("+00:00", "Z")
