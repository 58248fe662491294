"""Thousands of classes, and LLW on text: seconds and memory to a certified gap of 1e-2.

python -m benchmarks.speed.many_classes [--only SET ...] [--quick]
python -m benchmarks.speed.many_classes render

``lshtc`` has the shape of that corpus, 128,710 rows × 381,581 features and 12,294 classes, generated
by :func:`benchmarks.race.generated.topics`; ``lshtc_4``, ``lshtc_8`` and ``lshtc_20`` have a quarter,
an eighth and a twentieth of the rows, features and classes. WW and OVR with C = 1 and no intercept.
``clinc150`` and ``sector``, which need WIDEMARGIN_DATA, are fitted by LLW with an intercept and C =
10, 100 and 1000. Every fit has a process of its own, kept to two cores.
"""
