"""What survives: one SQLite file a session, written by one owner, and the surface's file beside it."""
