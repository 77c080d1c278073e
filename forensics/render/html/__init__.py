"""The report as one page for a web browser: nothing is loaded, nothing leaves it, a log runs nothing in it.

`page` puts it together; `timeline`, `plots` and `memory` compute the geometry of the drawings, which
the templates write as inline SVG; `evidence` quotes lines among their neighbours.
"""

from forensics.render.html.page import render

__all__ = ["render"]
