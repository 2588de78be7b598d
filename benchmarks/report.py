"""Tables, ratios and goals, and how they are written: on the terminal and in RESULTS.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .machine import Machine
from .timing import AllSeries, Series, paired_ratio


@dataclass(frozen=True)
class Table:
    """A table of text; the first column is a label, the others are figures."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Goal:
    """What was hoped for: a figure that must not exceed a limit, both in `unit`."""

    text: str
    value: float
    limit: float
    unit: str = ""
    n: int | None = None

    @property
    def met(self) -> bool:
        return self.value <= self.limit

    def cells(self) -> tuple[str, ...]:
        unit = f" {self.unit}" if self.unit else ""
        verdict = "met" if self.met else "MISSED"
        return (self.text, f"{self.value:.3g}{unit}", f"<= {self.limit:g}{unit}", str(self.n or ""), verdict)


@dataclass(frozen=True)
class Section:
    """One scenario's outcome."""

    title: str
    tables: tuple[Table, ...]
    goals: tuple[Goal, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ratio:
    """Two series to be compared, and how much the first may be of the second."""

    above: str
    below: str
    limit: float | None = None


def milliseconds(series: Series, title: str = "") -> tuple[str, ...]:
    """Return a row: label, n, median, p90 and least, in milliseconds."""
    return (
        title or series.label,
        str(series.n),
        *(f"{1000 * x:.2f}" for x in (series.median, series.p90, series.least)),
    )


def time_table(title: str, series: AllSeries) -> Table:
    """Return the statistics of each series."""
    rows = tuple(milliseconds(one) for one in series.values())
    return Table(title, ("contender", "n", "median ms", "p90 ms", "least ms"), rows)


def ratio_table(title: str, series: AllSeries, ratios: Sequence[Ratio]) -> Table:
    """Return each ratio of two medians, and the median of the ratios within each round."""
    rows = []
    for ratio in ratios:
        above, below = series[ratio.above], series[ratio.below]
        pair = f"{ratio.above} / {ratio.below}"
        rows.append((pair, str(above.n), f"{above.median / below.median:.3f}", f"{paired_ratio(above, below):.3f}"))
    return Table(title, ("ratio", "n", "of medians", "median within rounds"), tuple(rows))


def ratio_goals(where: str, series: AllSeries, ratios: Sequence[Ratio]) -> tuple[Goal, ...]:
    """Return the goals among the ratios; a ratio of medians is what counts."""
    return tuple(
        Goal(
            f"{where}: {one.above} / {one.below}",
            series[one.above].median / series[one.below].median,
            one.limit,
            n=series[one.above].n,
        )
        for one in ratios
        if one.limit is not None
    )


@dataclass
class Report:
    """Everything a run has found."""

    machine: Machine
    command: str
    sections: list[Section] = field(default_factory=list)

    def goals_table(self) -> Table:
        cells = tuple(goal.cells() for section in self.sections for goal in section.goals)
        return Table("Goals", ("goal", "measured", "limit", "n", "verdict"), cells)

    def markdown(self) -> str:
        """Return the whole report as Markdown."""
        parts = ["# Results\n", f"`{self.command}`. Everything below was measured in that one run; a call that", ""]
        parts[1] += " fails stops it. Contenders take turns: one sample of each per round, in another order each"
        parts[1] += " time, when nothing of the last one goes on any more. `n` is the number of samples, `p90` the"
        parts[1] += " sample that nine tenths do not exceed. What each contender is: clients.py.\n"
        parts.append(_markdown(Table("Machine", ("", ""), self.machine.rows())))
        parts.append(_markdown(self.goals_table()))
        for section in self.sections:
            parts.append(f"## {section.title}\n")
            parts.extend(f"{note}\n" for note in section.notes)
            parts.extend(_markdown(table, level=3) for table in section.tables)
        return "\n".join(parts)

    def show(self) -> None:
        """Print the tables: with colours and frames if rich is installed, else as Markdown."""
        try:
            from rich.console import Console
            from rich.table import Table as RichTable
        except ImportError:
            print(self.markdown())
            return
        console = Console()
        for section in self.sections:
            console.rule(section.title)
            for note in section.notes:
                console.print(note, markup=False)
            for table in section.tables:
                console.print(_rich(table, RichTable))
        console.print(_rich(self.goals_table(), RichTable))


def _rich(table: Table, kind: type) -> object:
    shown = kind(title=table.title, title_justify="left")
    for number, column in enumerate(table.columns):
        shown.add_column(column, justify="right" if number else "left")
    for row in table.rows:
        shown.add_row(*row, style="bold red" if row[-1] == "MISSED" else None)
    return shown


def _markdown(table: Table, level: int = 2) -> str:
    lines = [f"{'#' * level} {table.title}\n", _line(table.columns)]
    lines.append(_line(("---", *("---:" for _ in table.columns[1:]))))
    lines.extend(map(_line, table.rows))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
