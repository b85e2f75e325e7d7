"""Measuring an editor: scenarios of judgement on the real kernel. A scenario's format is `scenario.Scenario`."""
