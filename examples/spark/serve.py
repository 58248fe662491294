"""Predict rows one at a time with the model saved by train.py; needs neither Spark nor Java.

echo '{"age": 3.2, "calls": -1, "income": 900, "noise": 0}' | python serve.py churn.wm
"""

import json
import sys

from widemargin import load_model


def main():
    """Read rows as lines of JSON and print a prediction for each."""
    model = load_model(sys.argv[1])
    names = list(model.feature_names_in_)
    weights, intercept = model.coef_[0], model.intercept_[0]
    for line in sys.stdin:
        row = json.loads(line)
        # A single row needs only one product; model.predict(rows) is for many at a time.
        decision = float(weights @ [row[name] for name in names] + intercept)
        print(json.dumps({"label": int(decision > 0), "decision": decision}), flush=True)


if __name__ == "__main__":
    main()
