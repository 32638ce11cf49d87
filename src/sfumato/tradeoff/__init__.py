"""Comparing: the table as it stands, which candidates a study has, the map of measured points, its frontier.

The limit under a map, the tighter one for buckets, and the score of a frontier between them.
"""
