"""Time against rows: exact, DC and SODM fits of 10⁴ to 10⁷ generated rows of 18 features.

python -m benchmarks.speed.rows [--rows N ...] [--fit NAME ...] [--limit SECONDS]
python -m benchmarks.speed.rows render

All fit ODM with λ = 64,000, the papers' scale: the mean loss weighs the same however many rows
there are (C = λ / (rows · (1 - θ)²)). A fit that takes longer than the limit is stored as such, and
larger ones of its kind are not tried.
"""
