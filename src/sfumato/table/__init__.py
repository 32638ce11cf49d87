"""What comes in: reading, roles, hierarchies, missing values, the table, its cells, the bundled data sets."""
# mypy: implicit-reexport

from sfumato.table.assignment import Assignment
from sfumato.table.bundled import DATASETS, load
from sfumato.table.cells import Cells, CountedValues, Histograms, Quasi, Sensitive
from sfumato.table.declaration import TableDeclaration
from sfumato.table.guess.guess import Guess, guess
from sfumato.table.hierarchies.categories import flat, from_level_table, prefixes, tree
from sfumato.table.hierarchies.declared import read_hierarchies, read_level_table
from sfumato.table.hierarchies.hierarchy import Hierarchy, Level
from sfumato.table.hierarchies.ranges import dates, numeric
from sfumato.table.households import Memberships, shared_attributes
from sfumato.table.rows import Points, distinct_rows, laid_out, ranges, weighted_counts
from sfumato.table.table import Columns, Ranges, Roles, Table, as_table, coarser, read
