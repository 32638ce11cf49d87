"""What matters: for whom, what may be learned, what the data are for, and any option by forms."""

from sfumato.workbench.views.wishes.options import ENDPOINTS as OPTIONS
from sfumato.workbench.views.wishes.wishes import ENDPOINTS as WISHES

ENDPOINTS = (*WISHES, *OPTIONS)

__all__ = ["ENDPOINTS"]
