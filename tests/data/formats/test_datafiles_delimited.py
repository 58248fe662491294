"""CSV and TSV files; each test reads with pyarrow and with the standard library."""

import sys
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from widemargin.data import DataFileError, read
from widemargin.data.formats import delimited_arrow

ARROW_MODULE = "widemargin.data.formats.delimited_arrow"


@pytest.fixture(params=["pyarrow", "standard library"])
def csv(request, tmp_path, monkeypatch):
    """Read text as a CSV file."""
    if request.param == "standard library":
        monkeypatch.setitem(sys.modules, ARROW_MODULE, None)

    def read_text(text, *, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read(path, **options)

    return read_text


def test_pyarrow_is_used_where_it_is_installed(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n")
    used = []
    original = delimited_arrow.arrow_blocks

    def watched(*args):
        for block in original(*args):
            used.append(block)
            yield block

    monkeypatch.setattr(delimited_arrow, "arrow_blocks", watched)
    read(path)
    assert used
    assert None not in used


def test_without_pyarrow(tmp_path, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, ARROW_MODULE, raising=False)
    path = tmp_path / "data.csv"
    path.write_text("a,b\n1,2\n")
    assert read(path).X == 1.0
    assert ARROW_MODULE not in sys.modules


class TestHeader:
    def test_names(self, csv):
        table = csv("a, b ,label\n1,2,0\n3,4,1\n")
        assert table.feature_names == ("a", "b")
        np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
        np.testing.assert_array_equal(table.y, [0, 1])
        assert table.notes == ("labels are taken from column 'label'",)

    def test_label_that_is_named_needs_no_note(self, csv):
        assert csv("a,b,c\n1,2,0\n3,4,1\n", label="a").notes == ()

    def test_none(self, csv):
        table = csv("1,2,0\n3,4,1\n")
        assert table.feature_names is None
        np.testing.assert_array_equal(table.X, [[1, 2], [3, 4]])
        assert table.notes == ("labels are taken from column 3",)

    def test_none_with_text_labels(self, csv):
        np.testing.assert_array_equal(csv("1,2,y\n3,4,n\n").y, ["y", "n"])

    @pytest.mark.parametrize("header", ["0,1,target", "1,2,Class", "label,0,1"])
    def test_numbered_columns_beside_a_label(self, csv, header):
        table = csv(f"{header}\n5,6,7\n")
        assert table.X.shape == (1, 2)
        assert len(table.feature_names) == 2

    def test_numbered_column_named_by_the_caller(self, csv):
        table = csv("10,20,30\n1,2,3\n", label="20")
        assert table.feature_names == ("10", "30")
        np.testing.assert_array_equal(table.y, [2])

    def test_quoted(self, csv):
        table = csv('"a, b","label"\n"1","x"\n')
        assert table.feature_names == ("a, b",)
        np.testing.assert_array_equal(table.y, ["x"])

    def test_byte_order_mark(self, csv):
        assert csv("\ufeffa,label\n1,0\n").feature_names == ("a",)

    def test_unnamed_column(self, csv):
        with pytest.raises(DataFileError, match=r"line 1: column 1 of the header has no name"):
            csv(",a,label\n0,1,2\n")

    def test_repeated_name(self, csv):
        with pytest.raises(DataFileError, match=r"line 1: two columns are called 'a'"):
            csv("a,a,label\n0,1,2\n")

    def test_line_break_in_a_name(self, csv):
        with pytest.raises(DataFileError, match=r"line 1: a column name contains a line break"):
            csv('a,"b\nc"\n1,2\n')

    def test_alone(self, csv):
        with pytest.raises(DataFileError, match="a header but no rows"):
            csv("a,b\n")


class TestLabelColumn:
    @pytest.mark.parametrize("name", ["label", "target", "class", "y", "Label", "TARGET"])
    def test_known_names(self, csv, name):
        table = csv(f"{name},a\n7,1\n")
        assert table.feature_names == ("a",)
        np.testing.assert_array_equal(table.y, [7])

    def test_last_column_otherwise(self, csv):
        assert csv("a,b,c\n1,2,3\n").feature_names == ("a", "b")

    def test_y_may_be_a_coordinate(self, csv):
        assert csv("x,y,label\n1,2,3\n").feature_names == ("x", "y")

    def test_two_known_names(self, csv):
        with pytest.raises(DataFileError, match="'label', 'target' could each be the label"):
            csv("label,a,target\n1,2,3\n")

    @pytest.mark.parametrize("label", ["b", 1, -2, "1", "-2"])
    def test_chosen(self, csv, label):
        table = csv("a,b,c\n1,2,3\n", label=label)
        assert table.feature_names == ("a", "c")
        np.testing.assert_array_equal(table.y, [2])

    def test_missing_name(self, csv):
        with pytest.raises(DataFileError, match="no column is called 'd'; found 'a', 'b', 'c'"):
            csv("a,b,c\n1,2,3\n", label="d")

    def test_missing_name_without_header(self, csv):
        with pytest.raises(DataFileError, match=r"no header and 3 columns; give the position"):
            csv("1,2,3\n", label="d")

    @pytest.mark.parametrize("label", [3, -4])
    def test_position_out_of_range(self, csv, label):
        with pytest.raises(DataFileError, match=rf"must be in 0 … 2 .*got {label}"):
            csv("1,2,3\n", label=label)

    def test_only_column(self, csv):
        with pytest.raises(DataFileError, match="expected feature columns besides the label"):
            csv("1\n2\n")


class TestLabels:
    @pytest.mark.parametrize(
        ("texts", "expected"),
        [
            (["+1", "-1"], np.array([1, -1])),
            (["1.0", "2"], np.array([1, 2])),
            (["0.5", "2"], np.array([0.5, 2.0])),
            (["1", "a"], np.array(["1", "a"])),
            ([" a ", "a"], np.array(["a", "a"])),
            (["1_0", "10"], np.array(["1_0", "10"])),
            (["True", "False"], np.array(["True", "False"])),
            (["inf", "1"], np.array(["inf", "1"])),
            (["é", "ß"], np.array(["é", "ß"])),
            (["99999999999999999999", "1"], np.array([1e20, 1.0])),
        ],
    )
    def test_types(self, csv, texts, expected):
        y = csv("a,label\n" + "".join(f"1,{text}\n" for text in texts)).y
        assert y.dtype.kind == expected.dtype.kind
        np.testing.assert_array_equal(y, expected)

    def test_kept_as_text(self, csv):
        y = csv("a,label\n1,01\n1,1.0\n", text_labels=True).y
        np.testing.assert_array_equal(y, ["01", "1.0"])

    @pytest.mark.parametrize("text", ["", "  ", "nan", "NaN"])
    def test_missing(self, csv, text):
        with pytest.raises(DataFileError, match=r"line 3: the row has no label"):
            csv(f"a,label\n1,x\n1,{text}\n")

    def test_quote_that_is_not_closed(self, csv):
        with pytest.raises(DataFileError, match=r"line 2: the label 'x\\n1,y\\n1,z' contains a li"):
            csv('a,label\n1,"x\n1,y\n1,z')


class TestPrediction:
    """Files for a model whose features are known, by name or by number."""

    def test_without_labels(self, csv):
        table = csv("1,2\n", n_features=2, labelled=False)
        assert table.y is None
        np.testing.assert_array_equal(table.X, [[1, 2]])

    def test_label_column_is_left_out(self, csv):
        np.testing.assert_array_equal(csv("1,2,3\n", n_features=2, labelled=False).X, [[1, 2]])
        table = csv("label,a,b\n0,1,2\n", n_features=2, labelled=False)
        np.testing.assert_array_equal(table.X, [[1, 2]])

    def test_labels_may_be_empty(self, csv):
        assert csv("a,label\n1,\n", n_features=1, labelled=False).X == 1.0

    def test_columns_by_name_in_any_order(self, csv):
        table = csv("id,b,label,a\nr7,2,x,1\n", feature_names=["a", "b"], labelled=False)
        np.testing.assert_array_equal(table.X, [[1, 2]])
        assert table.feature_names == ("a", "b")

    def test_names_but_no_header(self, csv):
        table = csv("1,2\n", feature_names=["a", "b"], labelled=False)
        np.testing.assert_array_equal(table.X, [[1, 2]])

    def test_numbers_as_names(self, csv):
        table = csv("20,10\n2,1\n", feature_names=["10", "20"], labelled=False)
        np.testing.assert_array_equal(table.X, [[1, 2]])

    def test_the_one_other_column_holds_the_labels(self, csv):
        table = csv("species,a\nx,1\n", feature_names=["a"])
        np.testing.assert_array_equal(table.y, ["x"])

    def test_the_label_among_other_columns(self, csv):
        np.testing.assert_array_equal(csv("id,y,a\nr,x,1\n", feature_names=["a"]).y, ["x"])
        with pytest.raises(DataFileError, match=r"expected one label column .* found 'i', 'j'"):
            csv("i,j,a\n1,2,3\n", feature_names=["a"])
        with pytest.raises(DataFileError, match=r"expected one label column .* found none"):
            csv("a\n3\n", feature_names=["a"])

    def test_a_feature_cannot_be_the_label(self, csv):
        with pytest.raises(DataFileError, match="'a' is a feature of the model"):
            csv("a,b\n1,2\n", feature_names=["a"], label="a")

    def test_missing_features(self, csv):
        with pytest.raises(DataFileError, match=r"missing: 'c'\. Found 'a', 'b', 'label'"):
            csv("a,b,label\n1,2,3\n", feature_names=["a", "c"])

    @pytest.mark.parametrize(
        ("labelled", "problem"),
        [(True, "3 feature columns and a label"), (False, "3 feature columns, with or without a")],
    )
    def test_wrong_number_of_columns(self, csv, labelled, problem):
        with pytest.raises(DataFileError, match=rf"expected {problem}.*; found 2 columns"):
            csv("1,2\n", n_features=3, labelled=labelled)

    def test_no_model_and_no_labels(self, csv):
        assert csv("a,b\n1,2\n", labelled=False).X.shape == (1, 2)
        table = csv("a,y\n1,2\n", labelled=False)
        assert table.X.shape == (1, 1)
        assert "column 'y' is taken for labels" in table.notes[0]
        assert csv("a,y\n1,2\n", labelled=False, label="y").notes == ()
        assert csv("a,y\n1,2\n", labelled=False, n_features=1).notes == ()


class TestDelimiters:
    def test_semicolons(self, csv):
        assert csv("a;b;label\n1;2;3\n").X.shape == (1, 2)

    def test_tabs_in_a_csv_file(self, csv):
        assert csv("a\tb\tlabel\n1\t2\t3\n").X.shape == (1, 2)

    @pytest.mark.parametrize("name", ["data.tsv", "data.tab"])
    def test_tsv(self, csv, name):
        np.testing.assert_array_equal(csv("a,b\tlabel\n1\tx,y\n", name=name).y, ["x,y"])

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("last", [True, False])
    def test_ends_of_lines(self, csv, end, last):
        table = csv(end.join(["a,label", "1,x", "", "2,y"]) + end * last)
        np.testing.assert_array_equal(table.X, [[1], [2]])
        np.testing.assert_array_equal(table.y, ["x", "y"])

    @pytest.mark.parametrize("text", ["\n\n1,x\n2,y\n", "\n\na,label\n\n1,x\n\n2,y\n\n"])
    def test_blank_lines(self, csv, text):
        np.testing.assert_array_equal(csv(text).X, [[1], [2]])


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("foo", r"expected a number in column 'b', found 'foo'\. Code text features"),
        ("1_000", r"expected a number in column 'b', found '1_000'"),
        ("0x10", r"expected a number in column 'b', found '0x10'"),
        ("True", r"expected a number in column 'b', found 'True'"),
        ("", r"column 'b' has no value\. Impute"),
        ("  ", r"column 'b' has no value\. Impute"),
        ("NA", r"column 'b' has a missing value, 'NA'\. Impute"),
        ("?", r"column 'b' has a missing value, '\?'\. Impute.*TablePreprocessor"),
        ("nan", r"expected a finite value \(as float64\) in column 'b', found 'nan'"),
        ("-inf", r"expected a finite value \(as float64\) in column 'b', found '-inf'"),
        ("1e999", r"expected a finite value \(as float64\) in column 'b', found '1e999'"),
        ("1,2", r"expected 3 columns, found 4"),
    ],
)
def test_malformed_rows_are_named(csv, cell, problem):
    with pytest.raises(DataFileError, match=problem) as caught:
        csv(f"a,b,label\n1,2,x\n\n1,{cell},x\n1,2,x\n")
    assert caught.value.line == 4


def test_short_row(csv):
    with pytest.raises(DataFileError, match=r"line 2: expected 3 columns, found 2"):
        csv("1,2,3\n1,2\n")


def test_faults_without_header_name_the_position(csv):
    with pytest.raises(DataFileError, match=r"line 2: expected a number in column 2, found 'x'"):
        csv("1,2,3\n1,x,3\n")


@pytest.mark.parametrize("cell", ["+1.5", " 1.5", "1.5 ", "15e-1", ".15E1"])
def test_spellings_of_numbers(csv, cell):
    assert csv(f"a,label\n{cell},0\n").X == 1.5


def test_large_values_whose_sum_overflows(csv):
    np.testing.assert_array_equal(csv("1e308,1e308,x\n").X, [[1e308, 1e308]])


def test_too_large_for_float32(csv):
    with pytest.raises(DataFileError, match=r"line 2: expected a finite value \(as float32\)"):
        csv("a,label\n1e39,0\n", dtype="float32")


@pytest.mark.parametrize("data", [b"a,label\n1,\xff\n", b"a,label\n\xff,1\n"])
def test_not_utf8(csv, data):
    with pytest.raises(DataFileError, match=r"line 2: expected UTF-8 text.*iconv -f latin1"):
        csv(data)


def test_utf16(csv):
    with pytest.raises(DataFileError, match=r"line 1: expected UTF-8 text"):
        csv("a,label\n1,x\n".encode("utf-16"))


@pytest.mark.parametrize("text", ["", "\n", "\r\n\r\n"])
def test_no_rows(csv, text):
    with pytest.raises(DataFileError, match="the file has no rows"):
        csv(text)


def test_a_cell_beyond_the_limit_of_the_parser(csv):
    with pytest.raises(DataFileError):
        csv("a,label\n1,x\n" + "1" * 200_000 + "x,y\n")


def outcome(path, **options):
    """Everything that a caller can see of a read."""
    try:
        table = read(path, **options)
    except DataFileError as error:
        return str(error)
    y = None if table.y is None else (table.y.dtype.kind, table.y.tolist())
    return table.X.tolist(), y, table.feature_names, table.notes


def assert_both_agree(path, **options):
    with_arrow = outcome(path, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, ARROW_MODULE, None)
        assert outcome(path, **options) == with_arrow


CELLS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False, width=64).map(repr),
    st.integers(-(10**20), 10**20).map(str),
    st.text(alphabet='12.-+e"\r\n\t \0aé_,;', max_size=4),
    st.text(alphabet='12."\n,a', max_size=3).map(lambda text: f'"{text}"'),
)


@settings(max_examples=400, deadline=None)
@given(
    rows=st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=6)
    ),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    header=st.sampled_from(["", "a,label", "a,b,c"]),
    labelled=st.booleans(),
)
@example(rows=[["1", '"x'], ["2", "y"]], end="\n", header="", labelled=True)
@example(rows=[["1", '""x"'], ["2", 'y"']], end="\n", header="", labelled=True)
def test_pyarrow_and_the_standard_library_agree(tmp_path_factory, rows, end, header, labelled):
    path = tmp_path_factory.getbasetemp() / "agree.csv"
    lines = [header] * bool(header) + [",".join(row) for row in rows]
    path.write_bytes(end.join(lines).encode())
    assert_both_agree(path, labelled=labelled)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_numbers_survive_exactly(tmp_path_factory, numbers):
    path = tmp_path_factory.getbasetemp() / "exact.csv"
    path.write_text("".join(f"{number!r},x\n" for number in numbers))
    np.testing.assert_array_equal(read(path).X.ravel(), numbers)
    assert_both_agree(path)


@settings(max_examples=100, deadline=None)
@given(st.text(min_size=1, max_size=8).map(lambda text: unicodedata.normalize("NFC", text)))
def test_any_text_as_label(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "label.csv"
    cell = text.replace('"', '""')
    path.write_bytes(f'a,label\n1,"{cell}"\n2,other\n'.encode("utf-8", "replace"))
    assert_both_agree(path)


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize(
    ("text", "line"),
    [("111\0\n0.0\n0.0\n", 1), ("a,label\n1,x\n2,y\0\n", 3), ("a,label\n1,x\n2\0,y\n", 3)],
    ids=["header", "label", "feature"],
)
def test_nul_bytes_are_refused_with_the_line(tmp_path, monkeypatch, arrow, text, line):
    """Readers disagree about them: one dropped the row after such a header."""
    if not arrow:
        monkeypatch.setitem(sys.modules, ARROW_MODULE, None)
    path = tmp_path / "damaged.csv"
    path.write_bytes(text.encode())
    with pytest.raises(DataFileError, match=rf"line {line}: .*NUL byte"):
        read(path, labelled="label" in text)


def test_an_error_in_a_row_of_several_lines_names_its_first(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,b,label\nP0,"1\n",u\n2,2,v\n', encoding="utf-8")
    with pytest.raises(DataFileError, match=r"line 2: expected a number in column 'a'"):
        read(path)
