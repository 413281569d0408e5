"""Annif itself as a client, where it is installed."""

from types import SimpleNamespace

import httpx
import pytest

annif = pytest.importorskip("annif.backend.http", reason="needs pip install annif")


def test_the_http_backend_of_annif(serve):
    from annif.corpus import Document

    server = serve()
    endpoint = server.url + "/v1/projects/animals"
    subjects = SimpleNamespace(by_uri=lambda uri: uri)
    project = SimpleNamespace(project_id="animals", subjects=subjects, datadir=None)
    params = {"endpoint": endpoint + "/suggest", "limit": 2}
    backend = annif.HTTPBackend("http", params, project)
    assert backend.is_trained is False
    documents = [
        {"text": text, "subjects": [{"uri": f"http://example.org/{label}", "label": label}]}
        for text, label in [("it purrs", "cat"), ("it barks", "dog")] * 4
    ]
    assert httpx.post(endpoint + "/learn", json=documents).status_code == 204
    assert backend.is_trained is True
    assert backend.modification_time is None
    found = backend._suggest(Document(text="it barks at night"), params)
    assert [one.subject_id for one in found][:1] == ["http://example.org/dog"]
    assert found[0].score > 0.5
