"""The editor without a model: fixed rules over structured facts. Pure, and the same input gives the same answer.

It reads what an event is (its channel, its speaker, the fixed words that intake puts at its head, its metadata) and
never what somebody meant. What it can't place so is deferred, for a person or a model to take up. The rules stand as a
table in `docs/rules-editor.md`.
"""

from foldstate.sidecar.rounds.rules.answer import edit

__all__ = ["edit"]
