"""The numbers: where time begins, and for how long the clock has patience."""

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z
UPTIME = 10_000.0  # time.monotonic() at virtual 0.0; far from zero, because code takes 0 for "long ago"
GRACE = 1.0  # real seconds that a thread the client started by itself may keep the clock standing, all in all
SPIN = 50_000  # turns at one virtual moment, before a loop that is never idle counts as polling and time moves on
SLEEPS = 10_000  # calls of time.sleep within one turn, before the loop counts as stalled
DRAIN = 1_000  # turns that cancelled tasks get to end
