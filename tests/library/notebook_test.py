"""The example notebook, run headless by Jupyter: each cell without an error, and with the numbers that it is for."""
import os
import re
import unittest

import nbclient
import nbformat

NOTEBOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/library/allocations.ipynb")


def text_of(cell):
    return "".join(one.get("text", "") for one in cell.outputs)


class Notebook(unittest.TestCase):
    def test_it_runs(self):
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        nbformat.validate(notebook)
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
        _, records, histogram, spans, mistake = [cell for cell in notebook.cells if cell.cell_type == "code"]
        self.assertRegex(text_of(records), r"^\d+ files, the last of them: /")
        self.assertRegex(text_of(records), r"Counts\(hits=(\d+), recorded=\1, aggregated=0, filtered=0, lost=0, missed=0\)")
        self.assertRegex(text_of(histogram), r"^\d{3,} calls of malloc; \{'keys': \{\}, 'p50': \d+")
        self.assertIn("up to 32</td>", histogram.outputs[-1].data["text/html"])
        told = [re.fullmatch(r"(\d+\.\d) s to (\d+\.\d) s: (\d+) calls, [\d,]+ bytes", line).groups() for line in text_of(spans).splitlines()]
        self.assertEqual([begin for begin, _, _ in told], ["0.0", *(end for _, end, _ in told[:-1])])
        self.assertGreater(sum(int(calls) for _, _, calls in told), 0)
        self.assertIn("open65", text_of(mistake))


if __name__ == "__main__":
    unittest.main(verbosity=2)
