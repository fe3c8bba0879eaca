"""The numbers: where time begins, and for how long the clock has patience."""

EPOCH = 1_767_225_600.0  # 2026-01-01T00:00:00Z
UPTIME = 10_000.0  # time.monotonic() at virtual 0.0; far from zero, because code takes 0 for "long ago"
GRACE = 1.0  # real seconds that a thread the client started by itself may keep the clock standing, all in all
SPIN = 50_000  # turns at one virtual moment, before a loop that is never idle counts as polling and time moves on
SLEEPS = 10_000  # calls of time.sleep within one turn, before the loop counts as stalled
DRAIN = 1_000  # turns that cancelled tasks get to end
FAIR = 50  # turns of a loop, after which the threads that wait for their turn go first
POLLS = 1_000  # how often a thread lets the others go first at one moment, before it counts as polling and rests
LOOK = 0.02  # real seconds between two looks at the thread whose turn it is
LOOKS = 5  # looks at a thread that has not moved, after which the others go on without it
