"""Sites that exist only by what they say: statuses as the control socket gives them."""

import json
import math
import socketserver
import threading
import time
from contextlib import contextmanager

KEY = "Yne@$w-vo<fVvi]a<NY6T1ed:M$fCG*[IaLV{hID"


def status(name="plant-3", neighbours=("plant-1", "plant-2"), **changes):
    now = time.time()
    history = [
        [now - 60 + t, 0.8 * math.exp(-t / 9), 0.5 * math.exp(-t / 7), 0.85 - 0.2 / (1 + t)]
        for t in range(60)
    ]
    return {
        "ok": True,
        "name": name,
        "public_key": KEY,
        "pid": 4711,
        "uptime_seconds": 61.5,
        "rounds": 1234,
        "steps": 1234,
        "estimated_gap": history[-1][1],
        "content": True,
        "agreed": False,
        "distance": history[-1][2],
        "objective_estimate": 12.25,
        "training_accuracy": history[-1][3],
        "n_rows": 8140,
        "n_features": 123,
        "mass": 0.75,
        "model_norm": 3.5,
        "bytes_sent": 1_250_000,
        "bytes_received": 1_240_000,
        "state_saved_seconds_ago": 0.4,
        "links": [
            {
                "name": other,
                "address": "tcp://127.0.0.1:7001",
                "connected": True,
                "silent": 0,
                "sent": 1234,
                "received": 1230,
                "rejected": 2,
                "distance": 0.001,
                "epoch": 3,
                "last_heard_seconds_ago": 0.1,
            }
            for other in neighbours
        ],
        "refused_keys": 1,
        "history": history,
        **changes,
    }


@contextmanager
def answering(folder, answers):
    """Answer commands on the control socket of `folder`; yield the list of what was asked."""
    asked = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            for line in self.rfile:
                asked.append(json.loads(line))
                answer = answers[asked[-1]["command"]]
                self.wfile.write(json.dumps(answer).encode() + b"\n")

    with socketserver.ThreadingUnixStreamServer(str(folder / "control.sock"), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield asked
        finally:
            server.shutdown()
            thread.join()
            (folder / "control.sock").unlink()
