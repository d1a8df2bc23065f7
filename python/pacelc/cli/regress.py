"""``pacelc regress``: multiple regression on runs, a CSV file, or published tables."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from pacelc.cli.options import (  # noqa: TC001 - Typer reads annotations
    JsonOption,
    LoadFactorOption,
    MixFactorOption,
    SettingFactorOption,
)
from pacelc.cli.output import put
from pacelc.cli.table import aligned
from pacelc.errors import InputError
from pacelc.files import make_directory, write_text

if TYPE_CHECKING:
    import polars as pl

    from pacelc.analysis.records import Records
    from pacelc.analysis.regression import Prediction, Regression
    from pacelc.papers.vyas_2022 import Equation

__all__ = ["regress"]


def regress(  # noqa: PLR0917 - Typer's way to have options
    source: Annotated[
        str | None,
        typer.Argument(help="A results directory, or a published table: vyas-2022."),
    ] = None,
    csv: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Take the rows from a table instead."),
    ] = None,
    y: Annotated[str | None, typer.Option("--y", metavar="COLUMN", help="What to explain.")] = None,
    x: Annotated[
        list[str] | None,
        typer.Option(
            "--x",
            metavar="COLUMN,…",
            help="Columns that explain it: numbers unchanged, text as dummies. Repeatable.",
        ),
    ] = None,
    interaction: Annotated[
        list[str] | None,
        typer.Option("--interaction", metavar="A*B", help="Columns to multiply. Repeatable."),
    ] = None,
    equation: Annotated[
        Literal["2", "3", "4"] | None,
        typer.Option(help="An equation of Vyas and Jat 2022, instead of --y and --x."),
    ] = None,
    scale: Annotated[
        Literal["none", "max", "minmax", "standard"],
        typer.Option(help="Scale all numbers, y included; t and p stay as they are."),
    ] = "none",
    predict: Annotated[
        list[str] | None,
        typer.Option(
            "--predict", metavar="A=1,B=2", help="Predict there, with intervals. Repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIRECTORY", help="Write residual plots (SVG, PNG) and the JSON."),
    ] = None,
    columns: Annotated[
        bool, typer.Option("--columns", help="List the columns that there are, and end.")
    ] = False,
    as_json: JsonOption = False,
    load_factor: LoadFactorOption = "users",
    mix_factor: MixFactorOption = "mix",
    setting_factor: SettingFactorOption = "setting",
) -> None:
    """Explain a measured column by others: coefficients, errors, intervals, and cautions.

    \b
    pacelc regress vyas-2022 --equation 3
    pacelc regress results/mine --y latency_ms_mean --x users,setting
    pacelc regress --csv mine.csv --y ms --x a,b --interaction a*b --predict a=1,b=2
    """  # noqa: D301 - \b keeps the lines of the example apart
    from pacelc.analysis.records import Naming, records_of_csv  # noqa: PLC0415 - slow to import
    from pacelc.papers.records import PAPERS, records_of  # noqa: PLC0415 - as above

    naming = Naming(load_factor, mix_factor, setting_factor)
    if (source is None) == (csv is None):
        raise InputError(
            "give one of: a results directory, a published table, --csv FILE",
            "pacelc regress vyas-2022",
        )
    records = records_of(source, naming) if source else records_of_csv(csv or Path(), naming)
    if columns:
        put(_columns_text(records.frame))
        return
    published = source in PAPERS and not Path(source or "").is_dir()
    asked = _asked(y, x or (), interaction or (), equation, published=published)
    if predict and len(asked) > 1:
        raise InputError("--predict needs a single equation", "add --equation 3, for example")
    answers = [
        _Answer(records, e, y, x or (), interaction or (), scale, published=published)
        for e in asked
    ]
    predictions = [answers[0].predict(text) for text in predict or ()]
    document = {
        "source": records.source,
        "regressions": [answer.as_document() for answer in answers],
        "predictions": [_plain(p) for p in predictions],
    }
    if out is not None:
        _write(out, answers, document)
    if as_json:
        put(json.dumps(document, indent=2, ensure_ascii=False))
        return
    put("\n\n".join(answer.text() for answer in answers))
    if predictions:
        from pacelc.cli.regression_text import predictions_text  # noqa: PLC0415 - as above

        put("\n" + predictions_text(answers[0].regression, predictions))


class _Answer:
    """One regression, and the equation that it is of, if it is."""

    def __init__(  # noqa: PLR0917 - what the command was asked
        self,
        records: Records,
        equation: Equation | None,
        y: str | None,
        x: list[str] | tuple[()],
        interaction: list[str] | tuple[()],
        scale: Literal["none", "max", "minmax", "standard"],
        *,
        published: bool,
    ) -> None:
        from pacelc.analysis import regression  # noqa: PLC0415 - as above

        self.records, self.equation = records, equation
        self.compared = published and equation is not None and scale == "none"
        cautions = list(records.cautions)
        if equation is not None:
            self._need(equation)
            cautions.insert(0, regression.Caution("model", equation.caution))
        names = [name.strip() for text in x for name in text.split(",") if name.strip()]
        self.regression: Regression = regression.regress(
            records.frame,
            equation.y if equation else y or "",
            equation.x if equation else names,
            interactions=[_parts(text) for text in interaction],
            scale=scale,
            labels=records.labels,
            cautions=cautions,
        )

    def _need(self, equation: Equation) -> None:
        missing = [n for n in (equation.y, *equation.x) if n not in self.records.frame.columns]
        if missing:
            raise InputError(
                f"equation {equation.number} needs {', '.join(missing)}, which can't be derived "
                f"from {self.records.source}",
                "--setting-factor, --mix-factor and --load-factor name the factors; "
                "--columns lists what there is",
            )

    @property
    def name(self) -> str:
        return f"equation-{self.equation.number}-" if self.equation else ""

    def predict(self, text: str) -> Prediction:
        at: dict[str, str] = {}
        for part in text.split(","):
            key, sign, value = part.partition("=")
            if not sign or not key.strip() or not value.strip():
                raise InputError(f"--predict {text}: {part!r} is not COLUMN=VALUE")
            at[key.strip()] = value.strip()
        return self.regression.predict(at)

    def text(self) -> str:
        from pacelc.cli.regression_text import (  # noqa: PLC0415 - as above
            cautions_text,
            published_text,
            regression_text,
        )

        r = self.regression
        title = f"{r.y} explained by {', '.join(v.name for v in r.design.variables)}"
        if self.equation:
            title = f"Equation {self.equation.number}: {self.equation.title}\n{title}"
        head, _, rest = title.partition("\n")
        parts = [*([head] if rest else []), regression_text(r, rest or head, self.records.source)]
        if self.compared and self.equation:
            number = self.equation.number
            parts += ["", published_text(self._published(), f"table{number + 9}")]
        if r.cautions:
            parts += ["", cautions_text(r.cautions)]
        return "\n".join(parts)

    def _published(self) -> pl.DataFrame:
        from pacelc.papers.vyas_2022.reproduction import against_published  # noqa: PLC0415

        if self.equation is None:
            raise ValueError("only an equation was published")
        return against_published(self.equation.number, self.regression)

    def as_document(self) -> dict[str, Any]:
        document = self.regression.as_document()
        if self.equation:
            document = {"equation": self.equation.number, **document}
        if self.compared:
            document["published"] = self._published().to_dicts()
        return document


def _asked(
    y: str | None,
    x: list[str] | tuple[()],
    interaction: list[str] | tuple[()],
    equation: str | None,
    *,
    published: bool,
) -> list[Equation | None]:
    from pacelc.papers.vyas_2022 import EQUATIONS  # noqa: PLC0415 - as above

    own = y is not None or bool(x) or bool(interaction)
    if equation is not None:
        if own:
            raise InputError("--equation has its own columns", "leave out --y, --x, --interaction")
        return [EQUATIONS[int(equation)]]
    if y is not None:
        return [None]
    if published and not own:
        return list(EQUATIONS.values())
    raise InputError(
        "no column to explain was named", "--y latency_ms_mean --x users,setting, or --equation 3"
    )


def _parts(text: str) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in text.replace(":", "*").split("*"))
    if len(set(parts)) < 2 or not all(parts):  # noqa: PLR2004 - it takes two
        raise InputError(f"--interaction {text}: it takes two columns", "--interaction users*mix")
    return parts


def _columns_text(frame: pl.DataFrame) -> str:
    rows: list[list[str]] = []
    for name in frame.columns:
        column = frame.get_column(name)
        present = column.drop_nulls()
        if column.dtype.is_numeric() and present.len():
            low, high = (float(str(v)) for v in (present.min(), present.max()))
            what = f"{low:g} to {high:g}" if low < high else f"{low:g}"
        else:
            levels = present.unique().sort().cast(str).to_list()
            more = f", … ({len(levels)})" if len(levels) > 4 else ""  # noqa: PLR2004 - a line
            what = ", ".join(levels[:4]) + more
        rows.append([name, f"{present.len()}", what])
    return aligned(["column", "rows", "values"], rows, right=["rows"])


def _plain(prediction: Prediction) -> dict[str, Any]:
    from pacelc.analysis.regression import plain  # noqa: PLC0415 - as above

    return plain(prediction)


def _write(out: Path, answers: list[_Answer], document: dict[str, Any]) -> None:
    from pacelc.plots.figures import NothingToDraw  # noqa: PLC0415 - as above
    from pacelc.plots.regression import residual_checks, residuals_by_column  # noqa: PLC0415
    from pacelc.plots.save import save_figure  # noqa: PLC0415

    make_directory(out)
    for answer in answers:
        charts = {"residuals": residual_checks(answer.regression)}
        # Where all columns are text, the first figure shows what there is.
        with contextlib.suppress(NothingToDraw):
            charts["residuals-by-column"] = residuals_by_column(answer.regression)
        for name, chart in charts.items():
            for suffix in ("svg", "png"):
                save_figure(chart, out / f"{answer.name}{name}.{suffix}")
    text = json.dumps(document, indent=2, ensure_ascii=False)
    write_text(out / "regression.json", text + "\n")
