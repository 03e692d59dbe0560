"""Documents that would like to run a script, style the page or mislead the eye."""

from __future__ import annotations

from pathlib import Path

RUN = "window.ran = (window.ran || 0) + 1"

# Each holds the word `lantern`, so that one query shows them all.
TEXTS = {
    "script": f"lantern <script>{RUN}</script> </pre></div></details>",
    "onerror": f'lantern <img src=x onerror="{RUN}"> <svg onload="{RUN}"></svg>',
    "attribute": f"""lantern " onmouseover="{RUN}" x=' onfocus='{RUN}' autofocus tabindex=0""",
    "style": "lantern </style><style>body{display:none}</style><link rel=stylesheet href=//x.test>",
    "markdown": f"lantern [here](javascript:{RUN}) ![x](//x.test/p.png) <javascript:{RUN}>",
    "link": f'lantern <a href="javascript:{RUN}">here</a> <iframe src="//x.test"></iframe>',
    "formula": f"lantern $\\href{{javascript:{RUN}}}{{x}}$ $$\\class{{x}}{{y}}$$ \\(x^2\\)",
    "css": "lantern <div style=\"position:fixed;inset:0;background:url('//x.test/a.png')\">over",
    "bidi": "lantern \u202egnp.exe\u202c and \u2066left\u2069 and \x1b[31mred\x07",
    "copy": "lantern `code` ');" + RUN + ';(\' " data-copy="',
}
HEADING = f"Lantern <img src=x onerror='{RUN}'> $\\href{{javascript:{RUN}}}{{x}}$"
NAME = "lantern <img src=x onerror={}> $x$ \u202egnp.md".format("window.ran=1")


def write(folder: Path) -> None:
    """Write one document for each trick, one whose name is a trick, and one innocent."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in TEXTS.items():
        (folder / f"{name}.md").write_text(f"# {HEADING}\n\n{text}\n", encoding="utf-8")
    (folder / NAME).write_text("A lantern of the hall.\n", encoding="utf-8")
    (folder / "plain.md").write_text("# Lamps\n\nA lantern at the door.\n", encoding="utf-8")
