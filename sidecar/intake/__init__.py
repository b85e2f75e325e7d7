"""From the host's log and bus to events: the only code of the sidecar that knows the host's shapes. Pure."""
