r"""What a team with data in silos would use instead: Flower and NVFlare on the rows of our sites.

Each of the two runs in an interpreter of its own, since their requirements exclude each other:

    python -m venv flower && flower/bin/pip install flwr scikit-learn
    python -m venv nvflare && nvflare/bin/pip install nvflare scikit-learn
    WIDEMARGIN_DATA=folder python -m benchmarks.sites.peers \
        --flower flower/bin/python --nvflare nvflare/bin/python
"""
