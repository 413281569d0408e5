"""What a newcomer may stumble over."""

import pytest

from labeltree import load

from .conftest import execute


def test_quiet_shows_the_test_that_was_asked_for(cli, folder, tmp_path):
    arguments = ["train", folder / "train.svm", "-m", tmp_path / "m", "--test", folder / "test.svm"]
    quiet, loud = cli(*arguments, "--quiet"), cli(*arguments)
    assert quiet.err == ""
    assert quiet.out.startswith("1,500 examples\n")
    assert "precision@1" in quiet.out
    assert loud.out == quiet.out
    assert "saved to" in loud.err


@pytest.mark.parametrize("options", [[], ["--shuffle", 15]])
def test_header_of_text_is_told(cli, tmp_path, options):
    (tmp_path / "a.tsv").write_text("Label\ttext\n" + "cat\tit purrs\ndog\tit barks\n" * 9)
    arguments = ["train", tmp_path / "a.tsv", "-m", tmp_path / "m", "--bits", 18, *options]
    assert "a.tsv: the first label is 'Label': if that is a header, take" in cli(*arguments).err
    (tmp_path / "a.tsv").write_text("cat\tit purrs\nlabel\tit sticks\n" * 9)
    assert "the first label" not in cli(*arguments).err


def test_model_given_as_data(refused, folder, model, tmp_path):
    match = "this is a model file (safetensors), where data were expected"
    for options in ([], ["--format", "svmlight"], ["--format", "tsv"]):
        refused("train", model, *options, "-m", tmp_path / "m", "--quiet", match=match)
    refused("predict", model, model, match=match)
    refused("evaluate", model, model, match=match)
    data = [folder / "train.svm", "--test", model]
    refused("train", *data, "-m", tmp_path / "m", "--quiet", match=match)


def test_head_of_an_xmc_file_is_learned_with_a_warning(tmp_path):
    text = "9 50 5\n" + "".join(f"{i % 5} {i % 5}:1\n" for i in range(7))
    arguments = ["train", "-", "--format", "xmc", "-m", tmp_path / "m", "--bits", 18]
    err = execute(*arguments, input=text).stderr
    told = "standard input: the header announces 2 examples more than came; those that came are"
    assert f"labeltree: warning: {told} read\n" in err
    assert load(tmp_path / "m").progress_.examples == 7
