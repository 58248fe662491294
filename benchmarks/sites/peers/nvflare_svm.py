"""NVFlare's SVM: sites send their support vectors, the server trains on the union of them.

Run by the interpreter of an environment that has ``nvflare`` and scikit-learn, on rows that
``benchmarks.sites.peers`` wrote; prints one line of JSON.

The server's part is NVFlare's own ``SVMAssembler``; the site's part is that of its example, an
``SVC`` of the same kernel with its default C. Messages pass through NVFlare's serialisation (FOBS),
whose bytes are counted in both directions. They are driven in one process: the simulator of the
package starts processes and does the same. What a site sends are rows of its own.
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from typing import Any

import numpy as np
from nvflare.apis.dxo import DXO, DataKind, from_shareable
from nvflare.apis.fl_context import FLContext
from nvflare.apis.utils.decomposers import flare_decomposers
from nvflare.app_common.app_constant import AppConstants
from nvflare.app_common.decomposers import common_decomposers
from nvflare.app_opt.sklearn.svm_assembler import SVMAssembler
from nvflare.fuel.utils import fobs
from sklearn.svm import SVC

KERNELS = ("linear", "rbf")


def sent(message: DXO) -> tuple[DXO, int]:
    """Return what arrives of a message, and its bytes."""
    text = fobs.dumps(message.to_shareable())
    return from_shareable(fobs.loads(text)), len(text)


def run(kernel: str, rows: Any) -> dict[str, Any]:
    """Run the one round of the example."""
    X, y, site = rows["X"], rows["y"], rows["site"]
    sites = range(int(site.max()) + 1)
    server, n_bytes, left = SVMAssembler(kernel), 0, 0
    for k in sites:
        try:
            local = SVC(kernel=kernel).fit(X[site == k], y[site == k])
        except ValueError as error:
            return {"kernel": kernel, "error": f"site {k}: {error}"}
        support = local.support_
        data = {"support_x": X[site == k][support], "support_y": y[site == k][support]}
        arrived, size = sent(DXO(data_kind=DataKind.WEIGHTS, data=data))
        n_bytes += size
        left += len(support)
        server.collection[f"site-{k}"] = server.get_model_params(arrived)
    context = FLContext()
    context.set_prop(AppConstants.CURRENT_ROUND, 0)
    answer = server.assemble({}, context)
    n_bytes += len(sites) * sent(answer)[1]
    model = SVC(kernel=kernel).fit(answer.data["support_x"], answer.data["support_y"])
    return {
        "kernel": kernel,
        "accuracy": float(model.score(rows["X_test"], rows["y_test"])),
        "rounds": 1,
        "bytes": n_bytes,
        "rows_sent": left,
        "rows": len(y),
    }


def main() -> int:
    flare_decomposers.register()
    common_decomposers.register()
    with np.load(sys.argv[1]) as file:
        rows = {name: file[name] for name in file.files}
    found = [run(kernel, rows) for kernel in KERNELS]
    print(json.dumps({"version": version("nvflare"), "kernels": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
