"""What comes of ``widemargin train``: a measurement, a model to save, and what is told of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import typer

from .html_report import label_given, write_report
from .info import describe, described_lines
from .measures import Verdict, judge, measure, measured_text, neglected
from .messages import print_summary, reader_may_leave, say
from .task_measures import measure_task, task_text
from .tasks import Task
from .training import Training, trained_on_all


@dataclass(frozen=True)
class TrainingResult:
    """A model that was measured, and the one that is saved, which may have seen more rows."""

    first: Training
    again: Training | None  # on all rows, after the measurement
    task: Task
    test: Path | None
    verdict: Verdict | None
    measured: dict[str, Any] | None

    @classmethod
    def of(cls, training: Training, task: Task, test: Path | None) -> Self:
        """Measure the model on rows that it has not seen, then train on all if there is time."""
        split, verdict = training.split, None
        if split.y_test is None or training.interrupted:
            return cls(training, None, task, test, None, None)
        if task is Task.classification:
            verdict = judge(training.estimator, split.X_test, split.y_test)
            measured = measure(verdict)
        else:
            measured = measure_task(task, training.estimator, split.X_test, split.y_test)
        again = trained_on_all(training) if test is None else None
        return cls(training, again, task, test, verdict, measured)

    @property
    def saved(self) -> Training:
        """The training whose model is saved."""
        return self.again or self.first

    def summary(self, model: Path, data: Path, warned: list[str]) -> dict[str, Any]:
        """Return what is known of the model that is saved."""
        return {
            "command": "train",
            "model": str(model),
            "file_bytes": model.stat().st_size,
            "data": str(data),
            "rows": self.saved.rows,
            **describe(self.saved.estimator),
            "seconds": self.saved.seconds,
            "held_out": self.measured,
            "interrupted": self.first.interrupted,
            "warnings": warned,
        }

    def write_report(
        self, path: Path, data: Path, label: str | None, summary: dict[str, Any]
    ) -> None:
        """Write the report of the model that was measured."""
        if self.measured is None or self.verdict is None:
            say("--report: no rows were held out, so there is nothing to draw")
            return
        held_out, account = self._accounts()
        write_report(
            path,
            self.first.estimator,
            self.verdict,
            self.first.split.X_test,
            {**self.measured, "warnings": summary["warnings"]},
            data=data,
            facts=[*label_given(label), *self.first.notes, held_out],
            account=account,
            described=described_lines(summary, history=False),
        )

    def tell(self, summary: dict[str, Any], *, as_json: bool, report: Path | None) -> None:
        """Print the summary and the figures."""
        lines = [*described_lines(summary), ("seconds", f"{self.saved.seconds:.2f}")]
        print_summary(summary, lines, as_json)
        if self.measured is None:
            return
        if not as_json:
            where = str(self.test) if self.test is not None else "rows held out from training"
            then = "" if self.again is None else ", before training on all rows"
            shown = measured_text if self.task is Task.classification else task_text
            with reader_may_leave():
                typer.echo(f"\nmeasured on {where}{then}:\n{shown(self.measured)}")
        if self.verdict is None:
            return
        advice = neglected(self.first.estimator, self.measured)
        if advice is not None:
            say(f"note: {advice}")
        if report is not None:
            say(f"report: {report}")

    def _accounts(self) -> tuple[str, str]:
        """Say which rows were held out, in short, and what was measured on what and then saved."""
        rows, tested = self.first.rows, len(self.first.split.y_test)
        if self.test is not None:
            held_out = f"measured on {self.test.name}"
            account = f"Trained on {rows:,} rows, measured on {tested:,} rows of {self.test.name}."
        else:
            share = tested / (rows + tested)
            held_out = f"{100 * share:.0f} % of {rows + tested:,} rows held out"
            account = (
                f"Trained on {rows:,} rows, measured on {tested:,} rows held out from training."
            )
        if self.again is None:
            return held_out, f"{account} This model was saved."
        return held_out, (
            f"{account} Afterwards it was trained anew on all {self.again.rows:,} rows, and that "
            "model was saved; it has not been measured. What follows is about the measured model, "
            "unless it says otherwise."
        )
