"""Read a pickle as plain data, without running anything it says.

Dumps of the allocator and of the flight recorder are pickles of dicts, lists, strings
and numbers. They come from strangers, so the standard unpickler is out of the question:
it calls what the bytes name, and even with that forbidden a few bytes can make it
allocate gigabytes (a memo index) or overflow the C stack (hashing nested tuples).

This reader is an interpreter of the opcodes of protocols 0 to 5 (see `pickletools` in
the standard library) whose only values are None, bool, int, float, str, bytes, tuple,
list and dict. Whatever would be an object becomes an `Opaque` that carries its name.
Memory grows with the input alone, and the number of opcodes is capped.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct, field

MAX_OPCODES: Final = 6_000_000
_MAX_INT_BYTES: Final = 64  # larger integers are no sizes, and slow to print
_MAX_INT_DIGITS: Final = 40
_MAX_KEY_PARTS: Final = 16

# Calls whose result is their plain argument: how torch's C++ writer marks typed lists.
_PASS_THROUGH: Final = frozenset(
    f"torch.jit._pickle.{name}"
    for name in (
        "build_intlist",
        "build_doublelist",
        "build_boollist",
        "build_tensorlist",
        "restore_type_tag",
    )
)
# Dicts under another name; their items follow as SETITEMS.
_DICTS: Final = frozenset({"collections.OrderedDict", "collections.defaultdict"})


class PlainPickleError(ValueError):
    """The bytes are no pickle, or one that this reader gives up on."""


class Opaque(Struct, frozen=True):
    """Stands where an object would have been built. `name` is `module.qualname`."""

    name: str


class Loaded(Struct, frozen=True):
    """The value, and whether the pickle was read to its end.

    An incomplete value is what the bytes had built when they ended (a dump torn by a
    kill) or when the cap on opcodes was reached (`capped`).
    """

    value: Any
    complete: bool
    capped: bool = False


class _Mark:
    """The type of the one mark object; a class, so that a reader sees it in a stack."""


_MARK: Final = _Mark()


class _EndOfDataError(Exception):
    """The bytes end inside an opcode."""


class _Machine(Struct):
    data: bytes
    at: int = 0
    stack: list[Any] = field(default_factory=list)
    memo: dict[int, Any] = field(default_factory=dict)
    stopped: bool = False

    # ---- the input ------------------------------------------------------------------
    def take(self, size: int) -> bytes:
        end = self.at + size
        if size < 0 or end > len(self.data):
            raise _EndOfDataError
        chunk = self.data[self.at : end]
        self.at = end
        return chunk

    def uint(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def line(self, encoding: str = "utf-8") -> str:
        end = self.data.find(b"\n", self.at)
        if end < 0:
            raise _EndOfDataError
        chunk = self.data[self.at : end]
        self.at = end + 1
        return chunk.decode(encoding, "replace")

    # ---- the stack ------------------------------------------------------------------
    def pop_mark(self) -> list[Any]:
        """Remove and return everything above the last mark, and the mark."""
        items = self.above_mark()
        if items is None:
            raise PlainPickleError("no mark on the stack")
        return items

    def above_mark(self) -> list[Any] | None:
        """Return `pop_mark`, or None where no mark is left."""
        stack = self.stack
        index = len(stack) - 1
        while index >= 0 and stack[index] is not _MARK:
            index -= 1
        if index < 0:
            return None
        items = stack[index + 1 :]
        del stack[index:]
        return items

    def apply(self, target: str, arguments: Any) -> None:
        """Push what calling `target` would have given: the plain argument, or an `Opaque`."""
        if target in _DICTS:
            self.stack.append({})
        elif target in _PASS_THROUGH and isinstance(arguments, tuple) and arguments:
            self.stack.append(arguments[0])
        else:
            self.stack.append(Opaque(target))

    def salvage(self) -> Any:
        """Close what is open, innermost first, and return the outermost value."""
        stack = self.stack
        while (items := self.above_mark()) is not None:
            target = stack[-1] if stack else None
            if isinstance(target, list):
                target.extend(items)
            elif isinstance(target, dict):
                _fill(target, items)
            else:
                stack.append(items)
        # Without marks (SETITEM, APPEND one by one): value into key into container.
        while len(stack) > 1:
            value = stack.pop()
            target = stack[-1]
            if isinstance(target, list):
                target.append(value)
            elif len(stack) > 1 and isinstance(stack[-2], dict):
                key = stack.pop()
                _fill(stack[-1], [key, value])
        return stack[0] if stack else None


def _name(value: Any) -> str:
    return value.name if isinstance(value, Opaque) else "?"


def _fill(target: Any, items: list[Any]) -> Any:
    """Set key/value pairs; keys are scalars only, since hashing nested tuples can overflow."""
    if isinstance(target, dict):
        for key, value in zip(items[::2], items[1::2], strict=False):
            if key is None or isinstance(key, (str, int, float, bytes)) or _is_flat(key):
                target[key] = value
    return target


def _is_flat(key: Any) -> bool:
    return isinstance(key, tuple) and len(key) < _MAX_KEY_PARTS and all(isinstance(part, (str, int)) for part in key)


def _number(text: str) -> Any:
    if text in {"00", "01"}:
        return text == "01"
    text = text.rstrip("L")
    try:
        return int(text) if len(text) <= _MAX_INT_DIGITS else Opaque("int")
    except ValueError:
        raise PlainPickleError("not a number") from None


def _long(raw: bytes) -> Any:
    return int.from_bytes(raw, "little", signed=True) if len(raw) <= _MAX_INT_BYTES else Opaque("int")


def _real(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise PlainPickleError("not a number") from None


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _put(machine: _Machine, key: int) -> None:
    if machine.stack:
        machine.memo[key] = machine.stack[-1]


def _get(machine: _Machine, key: int) -> None:
    machine.stack.append(machine.memo.get(key))


def _append(machine: _Machine, items: list[Any]) -> None:
    target = machine.stack[-1] if machine.stack else None
    if isinstance(target, list):
        target.extend(items)


def _reduce(machine: _Machine) -> None:
    arguments, function = machine.stack.pop(), machine.stack.pop()
    machine.apply(_name(function), arguments)


def _new(machine: _Machine, arguments: int) -> None:
    del machine.stack[len(machine.stack) - arguments :]
    machine.apply(_name(machine.stack.pop()), ())


def _setitem(machine: _Machine) -> None:
    value, key = machine.stack.pop(), machine.stack.pop()
    _fill(machine.stack[-1], [key, value])


def _setitems(machine: _Machine) -> None:
    items = machine.pop_mark()
    _fill(machine.stack[-1], items)


def _tuple(machine: _Machine, size: int) -> None:
    items = tuple(machine.stack[-size:])
    if len(items) < size:
        raise PlainPickleError("stack underflow")
    machine.stack[-size:] = [items]


def _obj(machine: _Machine) -> None:
    items = machine.pop_mark()
    machine.apply(_name(items[0]) if items else "?", tuple(items[1:]))


def _inst(machine: _Machine) -> None:
    name = f"{machine.line()}.{machine.line()}"
    machine.apply(name, tuple(machine.pop_mark()))


def _stack_global(machine: _Machine) -> None:
    name, module = machine.stack.pop(), machine.stack.pop()
    machine.stack.append(Opaque(f"{module}.{name}" if isinstance(module, str) and isinstance(name, str) else "?"))


def _stop(machine: _Machine) -> None:
    machine.stopped = True


def _pop(machine: _Machine) -> None:
    machine.stack.pop()


def _push(read: Callable[[_Machine], Any]) -> Callable[[_Machine], None]:
    def step(machine: _Machine) -> None:
        machine.stack.append(read(machine))

    return step


_STEPS: Final[dict[int, Callable[[_Machine], object]]] = {
    # ---- scalars
    ord("N"): _push(lambda _: None),
    0x88: _push(lambda _: True),
    0x89: _push(lambda _: False),
    ord("K"): _push(lambda m: m.uint(1)),
    ord("M"): _push(lambda m: m.uint(2)),
    ord("J"): _push(lambda m: _long(m.take(4))),
    ord("I"): _push(lambda m: _number(m.line())),
    ord("L"): _push(lambda m: _number(m.line())),
    0x8A: _push(lambda m: _long(m.take(m.uint(1)))),
    0x8B: _push(lambda m: _long(m.take(m.uint(4)))),
    ord("F"): _push(lambda m: _real(m.line())),
    ord("G"): _push(lambda m: struct.unpack(">d", m.take(8))[0]),
    # ---- text and bytes
    ord("X"): _push(lambda m: _text(m.take(m.uint(4)))),
    0x8C: _push(lambda m: _text(m.take(m.uint(1)))),
    0x8D: _push(lambda m: _text(m.take(m.uint(8)))),
    ord("V"): _push(lambda m: m.line("raw_unicode_escape")),
    ord("S"): _push(lambda m: m.line().strip("'\"")),
    ord("T"): _push(lambda m: _text(m.take(m.uint(4)))),
    ord("U"): _push(lambda m: _text(m.take(m.uint(1)))),
    ord("B"): _push(lambda m: m.take(m.uint(4))),
    ord("C"): _push(lambda m: m.take(m.uint(1))),
    0x8E: _push(lambda m: m.take(m.uint(8))),
    0x96: _push(lambda m: m.take(m.uint(8))),
    # ---- containers
    ord("("): lambda m: m.stack.append(_MARK),
    ord("]"): lambda m: m.stack.append([]),
    ord("}"): lambda m: m.stack.append({}),
    ord(")"): _push(lambda _: ()),
    0x8F: _push(lambda _: []),
    ord("l"): _push(lambda m: m.pop_mark()),
    ord("t"): _push(lambda m: tuple(m.pop_mark())),
    ord("d"): _push(lambda m: _fill({}, m.pop_mark())),
    0x91: _push(lambda m: m.pop_mark()),
    0x85: lambda m: _tuple(m, 1),
    0x86: lambda m: _tuple(m, 2),
    0x87: lambda m: _tuple(m, 3),
    ord("a"): lambda m: _append(m, [m.stack.pop()]),
    ord("e"): lambda m: _append(m, m.pop_mark()),
    0x90: lambda m: _append(m, m.pop_mark()),
    ord("s"): _setitem,
    ord("u"): _setitems,
    # ---- the stack and the memo
    ord("0"): _pop,
    ord("1"): lambda m: m.pop_mark(),
    ord("2"): _push(lambda m: m.stack[-1]),
    ord("p"): lambda m: _put(m, _number(m.line())),
    ord("q"): lambda m: _put(m, m.uint(1)),
    ord("r"): lambda m: _put(m, m.uint(4)),
    0x94: lambda m: _put(m, len(m.memo)),
    ord("g"): lambda m: _get(m, _number(m.line())),
    ord("h"): lambda m: _get(m, m.uint(1)),
    ord("j"): lambda m: _get(m, m.uint(4)),
    # ---- objects, none of which is built
    ord("c"): _push(lambda m: Opaque(f"{m.line()}.{m.line()}")),
    0x93: _stack_global,
    ord("R"): _reduce,
    0x81: lambda m: _new(m, 1),
    0x92: lambda m: _new(m, 2),
    ord("i"): _inst,
    ord("o"): _obj,
    ord("b"): _pop,
    ord("P"): _push(lambda m: Opaque(m.line())),
    ord("Q"): lambda m: m.stack.__setitem__(-1, Opaque("persistent")),
    0x82: _push(lambda m: Opaque(f"extension.{m.uint(1)}")),
    0x83: _push(lambda m: Opaque(f"extension.{m.uint(2)}")),
    0x84: _push(lambda m: Opaque(f"extension.{m.uint(4)}")),
    0x97: _push(lambda _: Opaque("buffer")),
    0x98: lambda _: None,
    # ---- framing
    0x80: lambda m: m.take(1),
    0x95: lambda m: m.take(8),
    ord("."): _stop,
}


def load(data: bytes, max_opcodes: int = MAX_OPCODES) -> Loaded:
    """Read the first pickle in `data`.

    Args:
        data: The pickle, whole or torn.
        max_opcodes: How many opcodes are followed before the rest is left unread.

    Returns:
        The value and whether it is complete. Containers that appear twice in the
        pickle are the same object here, as in any unpickler.

    Raises:
        PlainPickleError: If the bytes are no pickle.
    """
    machine = _Machine(data)
    steps = _STEPS
    size = len(data)
    opcodes = 0
    try:
        while machine.at < size and opcodes < max_opcodes:
            step = steps.get(data[machine.at])
            if step is None:
                raise PlainPickleError(f"byte {data[machine.at]:#04x} at {machine.at} is no opcode")
            machine.at += 1
            opcodes += 1
            step(machine)
            if machine.stopped:
                return Loaded(machine.stack[-1] if machine.stack else None, complete=True)
    except _EndOfDataError:
        pass
    except (IndexError, TypeError) as error:
        if machine.at < size:
            raise PlainPickleError("stack underflow") from error
    return Loaded(machine.salvage(), complete=False, capped=opcodes >= max_opcodes)
