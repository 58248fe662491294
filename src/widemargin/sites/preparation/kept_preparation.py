"""The preparation in the folder of a site, ``preparation.json``, and answers to who asks for it.

Sites that come later, or have lost theirs, ask their neighbours.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from ...persistence.atomic_write import write_atomically
from ..config import ConfigError, SiteConfig
from ..network.wire import HEADER_BYTES, FrameError
from .agreed_checks import check_agreed
from .agreed_preparation import agreed_preparation
from .column_statistics import Agreed, ColumnStatistics
from .preparation import Preparation
from .preparation_phase import PROBES
from .prepare_frames import MOST_TEXT, PrepareFrame, decode_prepare, encode_prepare

__all__ = ["PreparationAnswers", "keep_preparation", "kept_preparation", "most_bytes"]

FILE = "preparation.json"
# Bytes that CURVE adds to a frame.
ENCRYPTION = 64


def most_bytes(statistics: ColumnStatistics) -> int:
    """Return the size of the largest frame about a preparation."""
    numbers = (
        3
        + PROBES
        + max(statistics.size("sums", {}), 100 * len(statistics.told), len(statistics.told) + 8_000)
    )
    return HEADER_BYTES + 8 * numbers + MOST_TEXT + ENCRYPTION


def kept_preparation(config: SiteConfig) -> tuple[Preparation, Agreed] | None:
    """Return the preparation in the folder of a site, with its stages; None if there is none.

    ConfigError if the file is damaged, or of another schema.
    """
    path = Path(config.folder) / FILE
    # Private sites know the preparation from their schema, and tell nothing of another one.
    if config.schema is None or config.solver == "private" or not path.exists():
        return None
    statistics = ColumnStatistics(config.schema)
    try:
        kept = json.loads(path.read_text("utf-8"))
        if kept["schema"] != config.schema.digest:
            raise ValueError("it is of another schema")
        check_agreed(statistics, kept["agreed"])
        return agreed_preparation(statistics, kept["agreed"]), kept["agreed"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path} cannot be used: {error}. Remove it, and the site asks its neighbours again."
        ) from None


def keep_preparation(config: SiteConfig, agreed: Agreed) -> None:
    """Write the preparation to the folder of a site."""
    assert config.schema is not None
    made = agreed_preparation(ColumnStatistics(config.schema), agreed)
    kept = {"schema": config.schema.digest, "digest": made.digest, "agreed": agreed}
    text = json.dumps(kept, indent=1).encode()
    write_atomically(Path(config.folder) / FILE, text, sync=config.sync)


class PreparationAnswers:
    """Answers of a site that has a preparation to neighbours that ask for it."""

    def __init__(self, config: SiteConfig, public_key: str, agreed: Agreed) -> None:
        self._agreement, self._key, self._agreed = config.preparing_agreement, public_key, agreed
        self._epoch = time.time_ns()
        self._neighbours = len(config.neighbours)
        self._written = 0

    def answer(self, data: bytes, version: int) -> tuple[int, bytes | None]:
        """Return the version of the sender's study, and the answer to its frame.

        The answer, with the own version, is None if the neighbour has a preparation, too.
        FrameError if the frame is invalid.
        """
        frame = decode_prepare(data, agreement=self._agreement)
        theirs_is = int(frame.text["version"])
        theirs = frame.text.get("agreed", {})
        if isinstance(theirs, dict) and any(
            theirs[stage] != self._agreed.get(stage) for stage in theirs
        ):
            raise FrameError(
                "conclusion",
                f"the neighbour has another preparation. Remove `{FILE}` at the site that is "
                "wrong, and start it again.",
            )
        if frame.stage == 3:
            return theirs_is, None
        self._written += 1
        answer = PrepareFrame(
            self._agreement,
            # Not below one that the neighbour has heard, should the clock have been set back.
            max(self._epoch, frame.receiver_epoch),
            frame.sender_epoch,
            self._written,
            0,
            self._neighbours,
            3,
            0,
            np.empty(0),
            {"leader": self._key, "known": "", "version": version, "agreed": self._agreed},
        )
        return theirs_is, encode_prepare(answer)
