"""A server that learns and answers over HTTP, and loses nothing that it has acknowledged.

`log` and `service` know nothing of HTTP; `app` knows nothing of files.
"""
