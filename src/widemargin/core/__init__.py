"""What every family uses: arrays, rows, losses, certificates, budgets, histories, the fit."""
