"""What a published file shows, whoever made it: its texts counted, what they mean, groups judged by the definitions.

The audit is built of this, and files that were made elsewhere are read by it. It stands before all rooms that make or
measure releases, so it can share nothing with them.

The audit of any published file: its own reading, counting, measures and decisions.
"""
