"""What a type checker must find in a user's program; `make lint` reads it, nothing runs it.

A line that should be an error is marked as one to ignore: were it none, the checker would complain
about the mark.
"""

from widemargin import (
    GossipClassifier,
    LinearSVMClassifierCV,
    MulticlassSVMClassifier,
    ODMClassifier,
)

model = ODMClassifier(C=8.0).fit([[0.0], [1.0]], [0, 1])
gap: float = model.relative_gap_
accuracy: float = model.score([[0.0]], [0])
model.predct([[0.0]])  # type: ignore[attr-defined]
typo = model.relativ_gap_  # type: ignore[attr-defined]
ODMClassifier(c=8.0)  # type: ignore[call-arg]

search = LinearSVMClassifierCV(Cs=5).fit([[0.0], [1.0]], [0, 1])
best: float = search.best_score_
other = search.best_scores_  # type: ignore[attr-defined]

classes: float = MulticlassSVMClassifier("ww").fit([[0.0], [1.0]], [0, 1]).density_
messages: int = GossipClassifier(n_sites=2).fit([[0.0], [1.0]], [0, 1]).n_messages_
