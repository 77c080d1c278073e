"""What an archive holds: its members, as far as they could be listed, and what could not, in words."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from forensics.sources.encoding import transcode
from forensics.sources.input import Opener
from forensics.sources.room import Budget, Room
from forensics.sources.unpack import RATIO, Damage, unpack

MEMBERS = 20_000


class Member(Struct):
    """One file inside an archive: `raw` yields its bytes as stored, `opener` unpacked and as UTF-8."""

    name: str
    size: int
    mtime: float | None
    raw: Opener

    def opener(self, damage: Damage) -> Iterator[bytes]:
        """Yield the content as an `Input` wants it."""
        return transcode(unpack(self.raw(damage), damage))


class Listing(Struct):
    """The members of one archive, and the limits that hold for it."""

    budget: Budget
    room: Room
    members: list[Member] = field(default_factory=list)
    damage: Damage = field(default_factory=Damage)

    def admits(self, size: int) -> bool:
        """Tell whether a further member of that size is listed; where none is any more, note why."""
        if len(self.members) >= MEMBERS:
            self.damage.note(f"it has more than {MEMBERS} members: the rest was not read", cut=False)
            return False
        if not self.budget.take(size):
            self.damage.note(
                f"its members unpack to more than {RATIO} times its size: the rest was not read", cut=False
            )
            return False
        return True


def tidy(name: str) -> str:
    """Return a member's name without what would lead out of the archive."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in {"", ".", ".."}]
    return "/".join(parts)


def kept(data: bytes) -> Opener:
    """Read a member that is held in memory."""
    return lambda _damage: iter([data])
