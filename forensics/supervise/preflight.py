"""What would go wrong with the evidence of a launch, before any GPU burns."""

from __future__ import annotations

from dataclasses import dataclass

from forensics.analyze import analyze_files
from forensics.model import SEVERITIES, Finding
from forensics.rulebook.load import Rulebook
from forensics.supervise.changes import Mended, mend


@dataclass(frozen=True, slots=True)
class Preflight:
    """The hazards of a script, worst first, and the script without those that can be mended."""

    name: str
    text: str
    hazards: tuple[Finding, ...]
    mended: Mended
    left: tuple[str, ...]
    """The ids of hazards that are left to a person."""

    @property
    def failed(self) -> bool:
        """Tell whether a hazard is an error: the evidence will be lost or lie."""
        return any(h.severity == "error" for h in self.hazards)

    @property
    def diff(self) -> str:
        """Return what mends it, as a unified diff; empty if nothing is mended."""
        return self.mended.diff(self.text, self.name)


def preflight(text: str, name: str, book: Rulebook) -> Preflight:
    """Look at a script without running it.

    Args:
        text: the script.
        name: what findings call it.
        book: the rules; those of the family `launch` speak.
    """
    script = name if name.endswith((".sh", ".bash", ".sbatch", ".slurm")) else f"{name}.sh"
    report = analyze_files({script: text.encode("utf-8", "surrogateescape")}, book)
    found = [f for f in report.findings if f.id.startswith("launch.")]
    hazards = sorted(found, key=lambda f: (SEVERITIES.index(f.severity), f.evidence[0].line, f.id))
    mended = mend(text)
    left = {f.id for f in found if set(book.rules[f.id].signal[0].kind[:1]) & set(mended.left)}
    return Preflight(name, text, tuple(hazards), mended, tuple(sorted(left)))
