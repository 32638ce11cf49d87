"""The engine for rows in Spark, classic or Connect: a frame, a table or files of the user's own session."""
