"""The words: pure data and text that all else is made of. No event loop, no SDK, no Hypothesis, no terminal."""
