"""Questions to the loop of a running site, which it answers between its rounds."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future

from .control import Answer, ControlClosed, ControlServer

__all__ = ["Questions"]

# Seconds that a question waits for the loop.
LONGEST_WAIT = 60.0


class Questions:
    """Questions that come by the control socket, in threads of its own.

    Parameters
    ----------
    folder : str or path
        Folder of the site, which has the socket; ControlError if another process serves it.
    answer : callable
        Answers one question, in the thread of the loop; ValueError is told to whoever asked.
    wake : Event
        Set when there is a question.
    ended : str
        What is told to those that ask after the end.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        answer: Callable[[Answer], Answer],
        wake: threading.Event,
        *,
        ended: str,
    ) -> None:
        self._answer, self._wake, self._last_words = answer, wake, ended
        self._asking, self._ended = threading.Lock(), False
        self._waiting: queue.SimpleQueue[tuple[Answer, Future[Answer]]] = queue.SimpleQueue()
        self._control = ControlServer(folder, self._ask)

    def answer(self) -> None:
        """Answer those that wait."""
        while not self._waiting.empty():
            question, future = self._waiting.get()
            try:
                future.set_result(self._answer(question))
            except Exception as error:  # reported to whoever asked
                future.set_exception(ValueError(str(error)))

    def close(self, *, answer: bool = True) -> None:
        """Take no more questions, and answer those that wait unless the loop never began."""
        with self._asking:
            self._ended = True
        if answer:
            self.answer()
        self._control.close()

    def _ask(self, question: Answer) -> Answer:
        """Pass a question to the loop and wait for the answer."""
        future: Future[Answer] = Future()
        with self._asking:
            if self._ended:
                raise ControlClosed(self._last_words)
            self._waiting.put((question, future))
        self._wake.set()
        return future.result(LONGEST_WAIT)
