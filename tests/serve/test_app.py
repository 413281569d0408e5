"""The interface: what is asked, what is answered, and what is refused."""

import io
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import jsonschema
import numpy as np
import pytest

from labeltree import LabelTreeClassifier, TextClassifier, load, runs
from labeltree.data import stream
from labeltree.serve import app as app_module
from labeltree.serve import command, guard, protocol, replies
from labeltree.serve import service as service_module
from labeltree.serve.model import ServedModel
from labeltree.serve.newmodel import NewModel
from labeltree.serve.openapi import PATHS, description
from labeltree.serve.security import Tokens, is_local
from labeltree.serve.service import Service

ANIMALS = [("it purrs", "cat"), ("it barks", "dog"), ("it sings", "bird")] * 4


@pytest.fixture
def client(serve):
    server = serve()
    with httpx.Client(base_url=server.url, timeout=20) as client:
        client.server = server
        for text, label in ANIMALS:
            client.post("/v1/learn", json={"text": text, "labels": [label]})
        yield client


def schema_of(path, method="post"):
    answer = PATHS[path][method]["responses"]["200"]["content"]["application/json"]["schema"]
    return {**answer, "components": description()["components"]}


def test_predict(client):
    answer = client.post("/v1/predict", json={"text": "it purrs", "k": 2}).json()
    assert answer["version"] == 12
    assert answer["labels"][0]["label"] == "cat"
    assert len(answer["labels"]) == 2
    many = client.post("/v1/predict", json={"examples": [{"text": "it barks"}] * 70}).json()
    assert [one["labels"][0]["label"] for one in many["results"]] == ["dog"] * 70
    none = client.post("/v1/predict", json={"text": "it purrs", "threshold": 1.0}).json()
    assert none["labels"] == []


def test_predictions_are_the_librarys(client):
    clf = TextClassifier(LabelTreeClassifier(random_state=0))
    for text, label in ANIMALS:
        clf.partial_fit([text], [label])
    labels, scores = clf.predict_topk(["it sings it barks"], k=3)
    answer = client.post("/v1/predict", json={"text": "it sings it barks", "k": 3}).json()
    assert [one["label"] for one in answer["labels"]] == labels[0].tolist()
    assert [one["score"] for one in answer["labels"]] == scores[0].tolist()


def test_many_at_once_are_answered_each_with_its_own(client):
    asked = [ANIMALS[i % 3] for i in range(200)]
    found = [None] * len(asked)

    def ask(begin):
        with httpx.Client(base_url=client.base_url, timeout=20) as own:
            for i in range(begin, len(asked), 8):
                answer = own.post("/v1/predict", json={"text": asked[i][0], "k": 1 + i % 3})
                found[i] = answer.json()["labels"]

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one[0]["label"] for one in found] == [label for _, label in asked]
    assert [len(one) for one in found] == [1 + i % 3 for i in range(len(asked))]


def test_learn(client):
    one = {"text": "it swims", "labels": ["fish"], "id": "x", "weight": 2.0}
    assert client.post("/v1/learn", json=one).json() == {
        "learned": 1,
        "repeated": 0,
        "version": 13,
    }
    assert client.post("/v1/learn", json=one).json()["repeated"] == 1
    both = {"examples": [{"text": "it hops", "labels": ["frog"]}, {"text": "it", "labels": [3]}]}
    answer = client.post("/v1/learn?predict=2", json=both).json()
    assert answer["learned"] == 2
    assert [len(one["labels"]) for one in answer["results"]] == [2, 2]
    answer = client.post("/v1/predict", json={"text": "it hops"}).json()
    assert answer["labels"][0]["label"] == "frog"


@pytest.mark.parametrize(
    ("body", "status", "where"),
    [
        ({"text": 3}, 422, "text"),
        ({}, 422, "text"),
        ({"features": {"1": 2}}, 422, "text"),
        ({"text": "a", "k": 0}, 422, "k"),
        ({"text": "a", "k": True}, 422, "k"),
        ({"text": "a", "k": 10**6}, 422, "k"),
        ({"text": "a", "threshold": 2}, 422, "threshold"),
        ({"text": "a", "treshold": 0.5}, 422, "treshold"),
        ({"examples": [{"text": "a"}], "text": "a"}, 422, "text"),
        ({"examples": [{"text": "a", "k": 3}]}, 422, "examples[0].k"),
        ({"examples": 3}, 422, "examples"),
        ({"examples": [{"text": "a"}, {"text": None}]}, 422, "examples[1].text"),
        ({"examples": [{"text": "a"}] * 10_001}, 422, "examples"),
        ({"text": "a" * 1_000_001}, 422, "text"),
        ([1], 400, "body"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_with_a_prediction_is_told(client, body, status, where):
    answer = client.post("/v1/predict", json=body)
    jsonschema.validate(answer.json(), description()["components"]["schemas"]["Problem"])
    assert (answer.status_code, answer.json()["where"]) == (status, where)


@pytest.mark.parametrize(
    ("body", "where"),
    [
        ({"labels": ["a"]}, "text"),
        ({"text": "a"}, "labels"),
        ({"text": "a", "labels": "a"}, "labels"),
        ({"text": "a", "labels": []}, "labels"),
        ({"text": "a", "labels": ["a", "b"]}, "labels"),
        ({"text": "a", "labels": [1.5]}, "labels[0]"),
        ({"text": "a", "labels": [True]}, "labels[0]"),
        ({"text": "a", "labels": [""]}, "labels[0]"),
        ({"text": "a", "labels": ["a" * 1001]}, "labels[0]"),
        ({"text": "a", "labels": [2**64]}, "labels[0]"),
        ({"text": "a", "labels": ["a"], "weight": -1}, "weight"),
        ({"text": "a", "labels": ["a"], "weight": 1e300}, "weight"),
        ({"text": "a", "labels": ["a"], "id": ""}, "id"),
        ({"text": "a", "labels": ["a"], "wieght": 2}, "wieght"),
        (
            {"examples": [{"text": "a", "labels": ["b"]}, {"text": "a", "labels": []}]},
            "examples[1].labels",
        ),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_wrong_with_a_lesson_is_told_and_nothing_learned(client, body, where):
    answer = client.post("/v1/learn", json=body)
    assert (answer.status_code, answer.json()["where"]) == (422, where)
    assert client.get("/v1/model").json()["version"] == 12


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b'{"text": NaN}', b"\xff\xfe", b"[" * 10**6],
    ids=lambda body: repr(body[:12]),
)
def test_bodies_that_are_no_json(client, body):
    answer = client.post("/v1/predict", content=body)
    assert (answer.status_code, answer.json()["where"]) == (400, "body")


def test_fields_named_by_half_of_a_surrogate_pair_are_refused(client):
    for path in ("/v1/predict", "/v1/learn?predict=1"):
        answer = client.post(path, content=b'{"text": "a", "labels": ["b"], "\\ud800": 1}')
        assert answer.status_code == 422
    assert client.post("/v1/predict", json={"text": "it barks"}).status_code == 200


def test_a_row_that_is_wrong_takes_no_others_with_it(client, monkeypatch):
    predict = client.server.service.model.predict

    def fails(examples, k):
        time.sleep(0.05)  # so that requests come together
        if any(one.text == "bad" for one in examples):
            raise ValueError("one of them is bad")
        return predict(examples, k)

    monkeypatch.setattr(client.server.service.model, "predict", fails)
    texts = ["bad" if i % 5 == 0 else "it barks" for i in range(40)]
    with ThreadPoolExecutor(16) as pool:
        ask = lambda text: httpx.post(client.server.url + "/v1/predict", json={"text": text})  # noqa: E731
        found = list(pool.map(ask, texts))
    assert [one.status_code for one in found] == [500 if t == "bad" else 200 for t in texts]


def test_half_of_a_surrogate_pair_is_refused(client):
    answer = client.post("/v1/predict", content=b'{"text": "\\ud800"}')
    assert (answer.status_code, answer.json()["where"]) == (422, "text")


def test_explain(client):
    answer = client.post("/v1/explain", json={"text": "it purrs", "labels": ["cat", "dog"]}).json()
    cat, dog = answer["labels"]
    assert cat["words"][0]["word"] == dog["words"][0]["word"] == "purrs"
    assert cat["words"][0]["weight"] > 0 > dog["words"][0]["weight"]


def test_labels(client):
    found = client.get("/v1/labels", params={"query": "D"}).json()
    assert [one["label"] for one in found["labels"]] == ["dog", "bird"]
    assert found["labels"][0]["examples"] == 4
    assert found["total"] == 3
    assert len(client.get("/v1/labels", params={"limit": 2}).json()["labels"]) == 2
    assert client.get("/v1/labels", params={"limit": "x"}).status_code == 422


def test_the_model_can_be_fetched(client, tmp_path):
    (tmp_path / "fetched").write_bytes(client.get("/v1/model/file").content)
    clf = load(tmp_path / "fetched")
    assert clf.examples_ == 12
    assert clf.predict(["it barks"]) == ["dog"]
    assert not list((tmp_path / "log").glob("*download*"))


def test_progress(client):
    events = []
    with client.stream("GET", "/v1/progress") as stream:
        lines = stream.iter_lines()
        assert next(lines)
        client.post("/v1/learn", json={"text": "it purrs now", "labels": ["cat"]})
        for line in lines:
            events.append(line)
            if line.startswith("data") and "it purrs now" in line:
                break
    told = json.loads(events[-1].removeprefix("data: "))
    assert (told["predicted"], told["right"], told["labels"]) == ("cat", True, ["cat"])


def test_metrics(client):
    client.post("/v1/predict", json={"text": "a"})
    text = client.get("/metrics").text
    assert 'labeltree_requests_total{path="learn",status="200"} 12.0' in text
    assert "labeltree_examples 12.0" in text
    assert "labeltree_predicted_examples_total 1.0" in text


def test_annif(client):
    assert client.get("/v1/projects/mine").json()["is_trained"] is True
    answer = client.post("/v1/projects/mine/suggest", data={"text": "it purrs", "limit": 2}).json()
    assert answer["results"][0]["uri"] == "cat"
    assert len(answer["results"]) == 2
    documents = [{"text": "it swims", "subjects": [{"uri": "fish", "label": "Fish"}]}]
    assert client.post("/v1/projects/mine/learn", json=documents).status_code == 204
    assert client.get("/v1/model").json()["labels"] == 4
    assert client.post("/v1/projects/mine/suggest", data={"limit": "x"}).status_code == 422
    assert client.post("/v1/projects/mine/learn", json={"a": 1}).status_code == 400


def test_what_annif_does_not_send_is_refused(client):
    path = "/v1/projects/a/suggest"
    for body in ({"json": {"text": "it purrs"}}, {"data": {"limit": 2}}):
        answer = client.post(path, **body)
        assert (answer.status_code, answer.json()["where"]) == (422, "text")
    answer = client.post(path, data={"text": "it purrs", "limit": "x"})
    assert answer.json()["detail"] == "limit is 'x', expected a number from 0 to 1000"
    assert client.post(path, data={"text": ""}).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/learn?predit=5"), ("GET", "/v1/labels?q=ca")]
)
def test_options_that_mean_nothing_are_refused(client, method, path):
    answer = client.request(method, path, content=b'{"text": "it purrs", "labels": ["cat"]}')
    assert answer.status_code == 422
    assert "expected" in answer.json()["detail"]


def test_the_description_is_what_is_served(client):
    served = client.get("/openapi.json").json()
    assert served == json.loads(json.dumps(description()))
    routes = {route.path for route in client.server.api.routes}
    described = {path.replace("{project_id}", "{project_id:str}") for path in PATHS}
    assert described == routes - {"/openapi.json", "/", "/{name:str}"}
    asked = {
        "/v1/predict": {"text": "it purrs"},
        "/v1/learn": {"text": "it purrs", "labels": ["cat"]},
        "/v1/explain": {"text": "it purrs"},
    }
    for path, body in asked.items():
        content = served["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        jsonschema.validate(body, {**content["schema"], "components": served["components"]})
        jsonschema.validate(client.post(path, json=body).json(), schema_of(path))
    for path in ("/v1/labels", "/v1/model", "/healthz", "/readyz"):
        jsonschema.validate(client.get(path).json(), schema_of(path, "get"))


def test_tokens(serve):
    server = serve(tokens=Tokens("read", "learn"))
    with httpx.Client(base_url=server.url) as client:

        def ask(path, token=None, kind="Bearer"):
            headers = {"Authorization": f"{kind} {token}"} if token else {}
            body = {"text": "a", "labels": ["b"]}
            return client.post(path, json=body, headers=headers).status_code

        assert [ask("/v1/learn", token) for token in (None, "read", "learn")] == [401, 403, 200]
        assert [ask("/v1/predict", token) for token in (None, "x", "read", "learn")] == [
            401,
            401,
            200,
            200,
        ]
        assert ask("/v1/predict", "read", "Basic") == 401
        assert ask("/v1/projects/x/learn", "read") == 403
        assert client.get("/metrics").status_code == 401
        assert client.get("/healthz").status_code == 200
        assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    "path", ["/v1/learn%0a", "/v1/learn%0A?predict=1", "/v1/projects/x/learn%0a", "/v1/learn%00"]
)
def test_line_ends_in_an_address_open_no_door(serve, path):
    server = serve(tokens=Tokens("read", "learn"))
    headers = {"authorization": "Bearer read"}
    body = {"text": "a", "labels": ["b"]}
    answer = httpx.post(server.url + path, json=body, headers=headers)
    assert answer.status_code in (403, 404)
    assert server.service.version == 0


def test_only_a_learning_token_lets_everybody_read():
    tokens = Tokens(None, "secret")
    assert tokens.allow("", learning=False)
    assert not tokens.allow("", learning=True)
    assert tokens.allow("bearer secret", learning=True)
    assert not tokens.allow("Bearer \udcff", learning=True)


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("a.b", False)],
)
def test_others_need_a_token(host, local):
    assert is_local(host) == local
    address = command.Address(host)
    if local:
        address.check()
    else:
        with pytest.raises(ValueError, match="--insecure"):
            address.check()
        command.Address(host, insecure=True).check()
        command.Address(host, tokens=Tokens("a")).check()
        with pytest.raises(ValueError, match="read"):
            command.Address(host, tokens=Tokens(None, "a")).check()


def test_pages_of_other_sites_may_not_ask(serve):
    server = serve(local=True)
    port = server.url.rpartition(":")[2]
    body = {"text": "a", "labels": ["b"]}

    def ask(**headers):
        return httpx.post(server.url + "/v1/learn", json=body, headers=headers).status_code

    assert ask(Origin="http://elsewhere.example") == 403
    assert ask(Origin="null") == 403
    assert ask(Host="elsewhere.example") == 403
    assert ask(Origin=server.url) == 200
    assert ask(Host=f"localhost:{port}") == 200


def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = command.Address(port=taken.getsockname()[1])
        with pytest.raises(ValueError, match="another --port"):
            address.listen()


def test_the_page_loads_nothing_from_elsewhere(client):
    page = client.get("/")
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert "unsafe" not in page.headers["content-security-policy"]
    for name in ("page.css", "page.js"):
        answer = client.get("/" + name)
        assert answer.status_code == 200
        assert "http://" not in answer.text.replace("http://www.w3.org/2000/svg", "")
    assert client.get("/nothing").status_code == 404
    assert client.get("/v1/learn").status_code == 405


def test_a_queue_that_is_full_says_so(client, monkeypatch):
    def busy(*_):
        raise service_module.BusyError("20,000 examples wait to be learned")

    monkeypatch.setattr(client.server.service, "learn", busy)
    answer = client.post("/v1/learn", json={"text": "a", "labels": ["b"]})
    assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
    monkeypatch.undo()


def test_large_bodies_are_refused(client, monkeypatch):
    monkeypatch.setattr(replies, "MOST_BYTES", 1000)
    monkeypatch.setattr(guard, "MOST_BYTES", 1000)
    monkeypatch.setattr(protocol, "MOST_BYTES", 1000)
    assert client.post("/v1/predict", json={"text": "a" * 2000}).status_code == 413

    def parts():
        for _ in range(100):
            yield b" " * 100

    assert client.post("/v1/predict", content=parts()).status_code == 413


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/v1/predict", 405, "/v1/predict takes POST, not GET"),
        ("GET", "/v1/nothing", 404, "there is nothing at /v1/nothing"),
        ("POST", "/v1/predict/", 404, "there is nothing at /v1/predict/"),
        ("GET", "/nothing", 404, "there is nothing at /nothing"),
    ],
)
def test_what_is_not_there_is_told(client, method, path, status, detail):
    answer = client.request(method, path)
    assert answer.status_code == status
    assert answer.json()["detail"].startswith(detail)


def test_what_is_not_http_is_told_as_all_else(serve):
    port = int(serve().url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"what is this?\r\n\r\n")
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert json.loads(body)["type"] == "bad_request"


def test_answers_that_nobody_reads_are_given_up(serve, monkeypatch):
    monkeypatch.setattr(protocol, "UNREAD_SECONDS", 0.2)
    server = serve()
    server.api.feed._lessons.append("x" * (8 << 20))
    port = int(server.url.rpartition(":")[2])
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", port))
        connection.sendall(b"GET /v1/progress HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        for expected in (1, 0):
            until = time.monotonic() + 10
            while len(server.api.feed._watchers) != expected:
                assert time.monotonic() < until
                time.sleep(0.01)


def test_large_requests_are_answered_as_small_ones_are(client, monkeypatch):
    small = client.post("/v1/predict", json={"text": "it barks", "k": 2}).json()
    monkeypatch.setattr(app_module, "LARGE", 0)
    monkeypatch.setattr(app_module, "MOST_K", 2)
    many = {"examples": [{"text": "it barks"}] * 3, "k": 2}
    assert client.post("/v1/predict", json=many).json()["results"] == 3 * [
        {"labels": small["labels"]}
    ]
    learned = client.post("/v1/learn", json={"text": "it barks", "labels": ["dog"]})
    assert learned.json()["learned"] == 1


def test_clients_that_say_nothing_are_sent_away(serve, monkeypatch):
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.3)
    server = serve()
    port = int(server.url.rpartition(":")[2])
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(50)]
    silent[0].sendall(b"POST /v1/predict HTTP/1.1\r\nHost:")
    assert httpx.get(server.url + "/healthz").status_code == 200
    time.sleep(0.6)
    for connection in silent:
        connection.settimeout(5)
        assert connection.recv(1) == b""
        connection.close()


def test_a_compiled_model_answers_and_learns_nothing(serve, tmp_path):
    texts, labels = zip(*ANIMALS, strict=True)
    path = tmp_path / "c.labeltree"
    TextClassifier().fit(texts, labels).compile().save(path)
    server = serve(command.open_service(path, None, None))
    answer = httpx.post(server.url + "/v1/predict", json={"text": "it barks"}).json()
    assert answer["labels"][0]["label"] == "dog"
    learned = httpx.post(server.url + "/v1/learn", json={"text": "a", "labels": ["b"]})
    assert (learned.status_code, learned.json()["type"]) == (403, "read_only")
    assert "compiled" in learned.json()["detail"]
    assert httpx.get(server.url + "/v1/model").json()["read_only"] is True


def test_features(serve):
    server = serve(new=NewModel("one-against-all", {"random_state": 0}, False, {}, None))
    with httpx.Client(base_url=server.url) as client:
        for features in ({"3": 1.0}, {"indices": [3], "values": [1]}):
            body = {"features": features, "labels": [7]}
            assert client.post("/v1/learn", json=body).status_code == 200
        answer = client.post("/v1/predict", json={"indices": [3], "values": [1.0]}).json()
        assert answer["labels"][0]["label"] == 7
        for features in ({"x": 1}, {"-1": 1}, {"99999999": 1}, {"1": "a"}, [1], {"indices": [1]}):
            body = {"features": features}
            answer = client.post("/v1/predict", json=body)
            assert (answer.status_code, answer.json()["where"]) == (422, "features"), features
        assert client.post("/v1/explain", json={"features": {"1": 1}}).status_code == 501


def test_features_with_names(serve, tmp_path):
    lines = ["1 |animal purrs:2 small\n", "2 |animal barks | tail:0.5\n"]
    (tmp_path / "a.vw").write_text("".join(lines * 8))
    runs.train([str(tmp_path / "a.vw")], tmp_path / "m.labeltree", reader_options={"hash_bits": 12})
    clf = load(tmp_path / "m.labeltree")
    row = next(stream(io.BytesIO(lines[1].encode()), format="vw", hash_bits=12)).X
    server = serve(command.open_service(tmp_path / "m.labeltree", None, None))
    with httpx.Client(base_url=server.url) as client:
        asked = {"features": {"animal^barks": 1, "tail": 0.5}, "k": 2}
        answer = client.post("/v1/predict", json=asked).json()["labels"]
        labels, scores = clf.predict_topk(row, k=2)
        assert [one["label"] for one in answer] == labels[0].tolist()
        np.testing.assert_array_equal([one["score"] for one in answer], scores[0])
        learned = client.post("/v1/learn", json={"features": {"animal^hops": 1}, "labels": [3]})
        assert learned.status_code == 200
        refused = client.post("/v1/predict", json={"features": {"a b": 1}})
        assert (refused.status_code, refused.json()["where"]) == (422, "features")


def test_an_error_of_ours_is_told_as_one(serve, monkeypatch):
    server = serve(Service(ServedModel(TextClassifier().fit(["a", "b"], ["x", "y"]))))

    def fails(*_):
        raise RuntimeError("broken")

    monkeypatch.setattr(server.service.model, "predict", fails)
    answer = httpx.post(server.url + "/v1/predict", json={"text": "a"})
    assert (answer.status_code, answer.json()["type"]) == (500, "internal")
