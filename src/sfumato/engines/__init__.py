"""Who does the heavy lifting on rows: one protocol of few verbs, DuckDB behind it."""

from sfumato.engines.factory import ENGINES as ENGINES
from sfumato.engines.factory import open_rows as open_rows
from sfumato.engines.frames import Frame as Frame
from sfumato.engines.frames import FrameKind as FrameKind
from sfumato.engines.frames import frame_kind as frame_kind
from sfumato.engines.protocol import BYTES as BYTES
from sfumato.engines.protocol import CellValues as CellValues
from sfumato.engines.protocol import Coding as Coding
from sfumato.engines.protocol import ColumnFacts as ColumnFacts
from sfumato.engines.protocol import CountedCodes as CountedCodes
from sfumato.engines.protocol import CountedLists as CountedLists
from sfumato.engines.protocol import DistinctValues as DistinctValues
from sfumato.engines.protocol import Engine as Engine
from sfumato.engines.protocol import KeepsOrder as KeepsOrder
from sfumato.engines.protocol import Layout as Layout
from sfumato.engines.protocol import Placement as Placement
from sfumato.engines.protocol import Reading as Reading
from sfumato.engines.protocol import Rule as Rule
from sfumato.engines.protocol import Texts as Texts
from sfumato.engines.protocol import Tuples as Tuples
from sfumato.engines.protocol import column_pairs as column_pairs
