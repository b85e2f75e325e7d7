"""The rules of the Fold contract: pure functions on frozen values, no I/O, no clock, no randomness.

Start with `submit` in `batch.py` and `decide` in `round.py`. From there, top to bottom:

    values        the contract's closed sets and limits
    state, event, signal, verdict, view    the value types
    instant       times: RFC 3339 texts compared as instants
    answer        from a model's text to one JSON object
    fields, shape, declaration    section 1, D1, D2, D4, D5: a JSON value read into typed declarations
    judgement     B8, D15: every stage of judging a batch, in one place
      identity    D3, D9, D13, D14: which ids may be named
      transition  D4, D8-D11: the state that the declarations result in
      structure   depth, D6, D9, D11, D12: what shape the tree may take
      reasons     D7
      layer       shares, B2 (the budget), rank
    dispositions  R1, R2, R7        evidence  R3-R6        citations  what the ledger is asked for
    annotations   B3                fingerprint  B5        batch  B1, B4-B7: what is recorded
    faults, words, explain          B8, B9: the order of faults, and the sentences that tell them
    lineage       ancestors, depth, last successor
    projection    the state as it is shown at an instant
    surface       the few lines that an agent sees each turn
    signals       when an editor is called

Values never change: a transition returns a new `State` that shares with the old what stayed as it was.
"""
