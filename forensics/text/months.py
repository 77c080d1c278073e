"""Months as the clocks of machines in other languages write them, at the beginning of a line of syslog.

     2月 15 02:47:31 omarchy kernel: NVRM: Xid (PCI:0000:01:00): 109, ...
    févr. 15 02:47:31 poste kernel: ...

journalctl and `dmesg -T` take them from the locale (glibc localedata, `abmon`).
"""

from __future__ import annotations

from forensics.text.lazy import lazy

_ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_OTHERS = (
    "jan feb mär apr mai jun jul aug sep okt nov dez",
    "janv févr mars avril mai juin juil août sept oct nov déc",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "jan fev mar abr mai jun jul ago set out nov dez",
    "sty lut mar kwi maj cze lip sie wrz paź lis gru",
    "янв фев мар апр мая июн июл авг сен окт ноя дек",
    "янв февр марта апр мая июня июля авг сент окт нояб дек",
    "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    " ".join(f"{n}月" for n in range(1, 13)),
)
_NAMES = {name: _ENGLISH[n] for row in _OTHERS for n, name in enumerate(row.split())}
_BEGINS = frozenset(name[:2] for name in _NAMES)
_SYSLOG = lazy(r" {0,2}(?P<month>\S{2,9}) {1,2}(?=\d{1,2} \d\d:\d\d:\d\d )")
_LONGEST = 12


def in_english(text: str) -> str:
    """Return a line with the month of its clock in English, or the line as it is."""
    if text[:2].lower() not in _BEGINS and "月" not in text[:4]:
        return text  # nearly all lines
    word = text[:_LONGEST].lstrip(" ").partition(" ")[0].rstrip(".").lower()
    if word not in _NAMES or text.startswith(_ENGLISH):
        return text
    found = _SYSLOG.match(text)
    return f"{_NAMES[word]} {text[found.end() :]}" if found else text
