"""Equations of docstrings, typeset: plain text such as `M_ij = S_i^T I^C_j S_j` as LaTeX.

Docstrings are read in editors, so their equations are plain text. `x` between two factors is a cross product,
`'` a time derivative, `^` and `_` hold what follows up to the next sign, gaps of two spaces and more separate
equations, and words are words.
"""

from __future__ import annotations

import re

GREEK = """
    alpha beta gamma delta epsilon theta lambda mu nu xi pi rho sigma tau phi psi omega
    Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega Upsilon
""".split()
FUNCTIONS = "sum prod det log min max exp sin cos tan".split()
NAMED = "tr sign diag".split()
# Names of several letters that stand for one thing.
SYMBOLS = {
    "dS": r"\dot S",
    "S-ring": r"\mathring S",
    "x-bar*": r"\mathbin{\bar\times^{*}}",
    "x*": r"\mathbin{\times^{*}}",
    "(+)": r"\oplus",
    "+=": r"\mathrel{{+}{=}}",
    "<-": r"\leftarrow",
    "...": r"\dots",
    "taubar": r"\bar\tau",
}
SIGNS = {"|": r"\vert ", "*": r"\cdot ", "@": r"\, "}
# The words of indices; other indices are single letters in a row.
INDEX_WORDS = "ext joint base body frame motor rotor approx".split()
CODE = re.compile(r"\bkt\.|\w\(model|\bop\.|^\w+ = operators")

TOKEN = re.compile(
    r"""
    (?P<symbol>S-ring|x-bar\*|x\*(?=\s)|\(\+\)|\+=|<-|\.\.\.|dS(?![\w])|dS(?=_)|taubar)
  | (?P<array>[A-Za-z]\w*(?=\[[a-z:]))\[(?P<inside>[^\]]*)\]
  | (?P<quoted>"[^"]*"|`[^`]*`)
  | (?P<matrix>\[[^\[\]]*;[^\[\]]*\]|\[\d(?:\s\d)+\])
  | (?P<word>sum(?=\ o(?:f|ver)\b)|[a-z]{2,}(?:\d|-[a-z]{2,})|(?<!\w)vv|qv|aq)
  | (?P<fraction>d2?\ ?(?:tau|[A-Za-z])(?:_[a-z]+)?\ ?/\ ?(?:d[a-z]+(?:_[a-z]+)?(?:\ (?=d[a-z]_))?)+)
  | (?P<partial>d_[a-z](?=\s))
  | (?P<name>[A-Za-z]+)
  | (?P<numbered>(?<=[A-Z])\d)
  | (?P<number>\d+(?:\.\d+)?)
  | (?P<script>[_^](?:-?[A-Za-z0-9]+(?:,[a-z0-9]+)?|\*))
  | (?P<prime>'+)
  | (?P<raised>(?<=[A-Za-z])[*+](?=[\s,)]|$))
  | (?P<space>\s+)
  | (?P<sign>.)
    """,
    re.X,
)


def is_code(block: str) -> bool:
    """Whether an indented block of a docstring is Python rather than an equation."""
    return bool(CODE.search(block))


def display(block: str) -> str:
    """A block of equations, one or several to a line, as a displayed formula."""
    rows = [r" \qquad ".join(line(part) for part in re.split(r"\s{2,}", row.strip())) for row in _rows(block)]
    if len(rows) == 1:
        return f"$$\n{rows[0]}\n$$"
    inner = " \\\\\n".join(f"& {row}" for row in rows)
    return "$$\n\\begin{aligned}\n" + inner + "\n\\end{aligned}\n$$"


def _rows(block: str) -> list[str]:
    """The lines of a block; one that ends in the middle of a bracket goes on in the next."""
    rows: list[str] = []
    for row in block.strip().split("\n"):
        if rows and rows[-1].count("[") > rows[-1].count("]"):
            rows[-1] += " " + row.strip()
        else:
            rows.append(row)
    return rows


def line(text: str) -> str:
    """One equation, or words with symbols in them."""
    out: list[str] = []
    end = 0
    for match in TOKEN.finditer(text):
        end = match.end()
        _append(out, match.lastgroup or "", match, text[: match.start()], text[end:])
    return _tidied("".join(out))


def _tidied(latex: str) -> str:
    """Neighbouring words in one piece, spaces once, and no base with two superscripts."""
    latex = re.sub(r"\s+", " ", latex)
    latex = re.sub(r"(\\[A-Za-z]+) (?=[_^)|,])", r"\1", latex)
    latex = re.sub(r"(\w\^\{\w+\}_\{\w+\})(?=\^)", r"{\1}", latex)
    neighbours = re.compile(r"\\text\{([^{}]*?) ?\} ?\\text\{ ?([^{}]*)\}")
    while (joined := neighbours.sub(r"\\text{\1 \2}", latex)) != latex:
        latex = joined
    return latex.strip()


def _append(out: list[str], kind: str, match: re.Match, before: str, after: str) -> None:
    token = match.group()
    if kind == "symbol":
        out.append(f"{SYMBOLS[token]} ")
    elif kind in ("array", "inside"):
        inside = ", ".join(_argument(part.strip()) for part in match["inside"].split(","))
        out.append(rf"{_typed(match['array'])}[{inside}]")
    elif kind == "quoted":
        out.append(rf"\texttt{{{token.strip('`')}}}")
    elif kind == "matrix":
        out.append(_matrix(token))
    elif kind == "fraction":
        out.append(_fraction(token))
    elif kind == "partial":
        out.append(rf"\partial_{token[2:]} ")
    elif kind == "name":
        out.append(_name(token, before, after))
    elif kind == "word":
        out.append(_word(token, before, after))
    elif kind == "numbered":
        out.append(f"_{token}")
    elif kind == "script":
        out.append(_script(token))
    elif kind == "raised":
        out.append(f"^{{{token}}}")
    elif kind == "prime" and (dotted := _dotted(out)):
        out[-1] = dotted
    elif kind == "sign" and token in SIGNS:
        out.append(SIGNS[token])
    elif kind == "sign" and token in "{}%#&$":
        out.append("\\" + token)
    else:
        out.append(token)


def _name(token: str, before: str, after: str) -> str:
    """A symbol, the cross product, a function, or a word."""
    if token == "x" and re.search(r"[\w')\]*]\s$", before) and re.match(r"\s[A-Za-z(\[]", after):
        return r"\times "
    if token in GREEK or token in FUNCTIONS:
        return rf"\{token} "
    if token in NAMED:
        return rf"\operatorname{{{token}}}"
    if len(token) == 1:
        return token
    if re.fullmatch(r"d[A-Za-z]", token):  # an increment or a defined derivative
        return rf"\mathrm{{d}}{token[1]}"
    if re.fullmatch(r"[A-Z][a-z]?|h[A-Z]", token):
        return token
    return _word(token, before, after)


def _word(token: str, before: str, after: str) -> str:
    """A word with the spaces around it."""
    left, right = (" " if x == " " else "" for x in (before[-1:], after[:1]))
    return rf"\text{{{left}{token}{right}}}"


def _dotted(out: list[str]) -> str:
    """The last symbol with a dot: a prime is a time derivative."""
    return rf"\dot {out[-1]}" if out and re.fullmatch(r"[A-Za-z]|\\[a-z]+ ", out[-1]) else ""


def _script(token: str) -> str:
    """A sub- or superscript: Greek, a word, or letters in a row."""
    mark, text = token[0], token[1:]
    if mark == "^":
        return "^{" + re.sub(r"T$", r"\\mathsf T", text) + "}"
    parts = [_index(part) for part in text.split(",")]
    return f"_{{{','.join(parts)}}}"


def _index(text: str) -> str:
    if text in GREEK:
        return rf"\{text}"
    return rf"\mathrm{{{text}}}" if text in INDEX_WORDS else text


def _matrix(token: str) -> str:
    """[a b; c d] as a matrix; entries with operators or words are not divided."""
    rows = [row.strip() for row in token[1:-1].split(";")]
    divided = not any(re.search(r"[-+=(]|\bx\b|[a-z]{2}", row) for row in rows)
    cells = [[line(cell) for cell in (row.split() if divided else [row])] for row in rows]
    inner = r" \\ ".join(" & ".join(row) for row in cells)
    return rf"\begin{{bmatrix}} {inner} \end{{bmatrix}}"


def _fraction(token: str) -> str:
    """dy/dx or d2 y / dx dz."""
    above, below = (part.strip() for part in token.split("/"))
    order = "^2" if above.startswith("d2") else ""
    top = line(re.sub(r"^d2?\s?", "", above))
    bottom = " ".join(rf"\partial {line(part[1:])}" for part in below.split())
    return rf"\frac{{\partial{order} {top}}}{{{bottom}}}"


def _typed(name: str) -> str:
    return name if len(name) == 1 else rf"\mathtt{{{name}}}".replace("_", r"\_")


def _argument(text: str) -> str:
    return text if len(text) == 1 else _typed(text)
