"""The options that studies and the command line share, each said once: where data are and what their columns are.

A field of a declaration carries one of these (`table.TableDeclaration`, `transactions.BasketsDeclaration`), and the
command line's option of the same name shows the same sentence. Nothing heavy is imported here, since `--help` reads it.
"""

from __future__ import annotations

from sfumato.configuration import Option

SOURCE = Option(
    "A file (CSV, Excel, SPSS, Parquet, ...), a folder or pattern of many, a database's table, or a bundled table.",
    takes="file",
)
QUASI = Option("Columns an outsider may know.", takes="columns")
SENSITIVE = Option("Columns nobody should learn about a person.", takes="columns")
NEUTRAL = Option("Columns to publish as they are.", takes="columns")
IDENTIFIER = Option("Columns that name a person: never published.", takes="columns")
HOUSEHOLD = Option("The column that says who lives together: never published.", takes="column")
PERSON = Option(
    "The column that says whose record it is, where a person may have several: never published; groups are then "
    "counted in different persons.",
    takes="column",
)
ONE_RECORD_PER_PERSON = Option("Declares that every record is another person, although an identifier repeats.")
HIERARCHIES = Option("A TOML file, or a folder of level tables <table>_hierarchy_<column>.csv.", takes="file")
HIERARCHY = Option("Hierarchies of single columns, which come before those of the file or folder.", takes="hierarchies")
WEIGHTS = Option(
    "How much a loss in a quasi-identifier counts beside the others, such as age=2: 1 where nothing is said; with 0 it "
    "does not count.",
    takes="weights",
)
MISSING_VALUES = Option("A missing value is a value of its own (value), or its record is dropped (drop).")
NA = Option("Texts that mean missing, beside the empty one.")
DELIMITER = Option("The delimiter of a text file, if it is guessed wrongly.")
ENCODING = Option("The encoding of a text file, if it is guessed wrongly.")
SHEET = Option("The sheet of a workbook, if it is not the first.")
HEADER = Option("Whether the first record is the names of the columns, if it is guessed wrongly.")
HEADER_ROW = Option("The row of a sheet (or line of a text file) with the names of the columns, below a title.")
COLUMNS = Option("The names of the columns, where the file has none or others.")
DECIMAL_COMMA = Option("Columns whose numbers have a decimal comma (1.234,5), if guessed wrongly.", takes="columns")
DECIMAL_POINT = Option("Columns whose numbers have a decimal point (1,234.5), if guessed wrongly.", takes="columns")
DATES = Option("The order in dates such as 05/06/1999 where no value tells it: day-first or month-first.")
AS_WRITTEN = Option("Columns whose texts are left as they are: no blank, number or date is read.", takes="columns")
ENGINE = Option("Who reads the rows, where the source does not say it: duckdb or spark.")
MEMORY = Option("How much memory the engine takes before it works on disk, such as 4GB.")
SPILL = Option("A folder for what does not fit into memory; by default the system's temporary one.", takes="file")
MOST_CELLS = Option(
    "Columns are coarsened until there are at most so many distinct combinations; by default what fits into memory.",
    least=1,
)
RANGES = Option(
    "The finest ranges that a release may publish: rounded ends, or whole nodes of hierarchies (node); without it, "
    "anonymizers choose.",
)

BASKET_SOURCE = Option("A file of sets of items (lines, rows or lists), or the name of bundled baskets.", takes="file")
ID = Option("Of baskets in rows: the column that says whose an item is.", takes="column")
ITEM = Option("Of baskets in rows: the column of items.", takes="column")
LINES = Option("Of baskets in lines: every line is a basket, although the file looks like a table or has a header.")
COLUMN = Option("Of baskets in lists: the column that holds them, if there are several.", takes="column")
SEPARATOR = Option("Of baskets in lines: what separates items, if it is guessed wrongly.")
TREE = Option(
    "Of baskets: the tree of items, as a level table (each with what it is generalized to), or icd-9-cm or icd-10.",
    takes="file",
)
KNOWN = Option("Of baskets: how many items of a person an attacker may know.", least=1)

ITEM_COLUMN = Option("The column that holds a set of items: a list, or items with a separator.", takes="column")
ITEMS_FILE = Option("A second file with the items of the records, one per row (--id, --item).", takes="file")
ITEM_OWNER = Option("Of a second file of items: the column that says whose an item is, in both files.", takes="column")
ITEM_OF = Option("Of a second file of items: its column of items.", takes="column")
ITEM_SEPARATOR = Option("What separates the items of a field, if it is guessed wrongly.")
ITEM_TREE = Option(
    "The tree of items: a level table (each with what it is generalized to), or icd-9-cm or icd-10.", takes="file"
)
SENSITIVE_ITEMS = Option(
    "Items, or nodes of their tree, that nobody should learn about a person: what a requirement on the column of items "
    "is about."
)

ANONYMIZERS = Option("Who makes the release: names with their options.", takes="anonymizer")
REQUIREMENTS = Option("What every group must satisfy, parts joined by &.", takes="requirement")
IN_FORMS = Option("Generalization (boxes), or bucketization (exact quasi-identifiers, dealt-out values).")
SUPPRESS = Option("The largest share of records that may be left out.", least=0, most=1)
LATTICE = Option(
    "Of full-domain alone: whether every feasible transformation is a candidate, not the optimum alone.", rare=True
)
UTILITY = Option("Of baskets: which items may go together.", takes="utility", rare=True)
LIMIT = Option("Of baskets: what may be left out.", takes="limit", rare=True)
ITEM_ANONYMIZERS = Option("Of a table with items: who makes the items of every group anonymous.", takes="anonymizer")
MERGING = Option("Of a table with items: how groups are merged so that their items lose less.", takes="merging")
SETS = Option(
    "Of a table with items: whether a published set lists items of its group (group: a reader learns that somebody in "
    "the group has each) or is a node of one tree over all items (common: it says nothing more of the group).",
    rare=True,
)
