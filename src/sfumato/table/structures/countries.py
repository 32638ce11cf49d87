"""Countries by the regions of the United Nations (M49 standard): names in English, ISO 3166 codes, some German names.

One line per region: names separated by commas, each with its two ISO codes and, after a slash, other names. These are
facts; who belongs where is the statistics division's grouping and says nothing else. Melanesia, Micronesia and
Polynesia are joined, and Taiwan and Kosovo, which the standard does not list, stand with their neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.structures.structure import Place, grouped, share_known

REGIONS = """
Africa|Northern Africa|Algeria DZ DZA/Algerien, Egypt EG EGY/Ägypten, Libya LY LBY/Libyen, Morocco MA MAR/Marokko, Sudan SD SDN, Tunisia TN TUN/Tunesien, Western Sahara EH ESH
Africa|Sub-Saharan Africa|Angola AO AGO, Benin BJ BEN, Botswana BW BWA, Burkina Faso BF BFA, Burundi BI BDI, Cabo Verde CV CPV/Cape Verde, Cameroon CM CMR/Kamerun, Central African Republic CF CAF, Chad TD TCD, Comoros KM COM, Congo CG COG/Republic of the Congo, Democratic Republic of the Congo CD COD/DR Congo/Zaire/Kongo, Côte d'Ivoire CI CIV/Ivory Coast/Elfenbeinküste, Djibouti DJ DJI, Equatorial Guinea GQ GNQ, Eritrea ER ERI, Eswatini SZ SWZ/Swaziland, Ethiopia ET ETH/Äthiopien, Gabon GA GAB, Gambia GM GMB, Ghana GH GHA, Guinea GN GIN, Guinea-Bissau GW GNB, Kenya KE KEN/Kenia, Lesotho LS LSO, Liberia LR LBR, Madagascar MG MDG, Malawi MW MWI, Mali ML MLI, Mauritania MR MRT, Mauritius MU MUS, Mozambique MZ MOZ, Namibia NA NAM, Niger NE NER, Nigeria NG NGA, Rwanda RW RWA, Sao Tome and Principe ST STP, Senegal SN SEN, Seychelles SC SYC, Sierra Leone SL SLE, Somalia SO SOM, South Africa ZA ZAF/Südafrika, South Sudan SS SSD, Tanzania TZ TZA/United Republic of Tanzania, Togo TG TGO, Uganda UG UGA, Zambia ZM ZMB, Zimbabwe ZW ZWE
Americas|Northern America|Bermuda BM BMU, Canada CA CAN/Kanada, Greenland GL GRL, United States US USA/United States of America/U.S.A./U.S./America/Vereinigte Staaten/Amerika
Americas|Latin America and the Caribbean|Antigua and Barbuda AG ATG, Argentina AR ARG/Argentinien, Bahamas BS BHS, Barbados BB BRB, Belize BZ BLZ, Bolivia BO BOL, Brazil BR BRA/Brasilien, Chile CL CHL, Colombia CO COL/Kolumbien, Costa Rica CR CRI, Cuba CU CUB/Kuba, Dominica DM DMA, Dominican Republic DO DOM, Ecuador EC ECU, El Salvador SV SLV, Grenada GD GRD, Guatemala GT GTM, Guyana GY GUY, Haiti HT HTI, Honduras HN HND, Jamaica JM JAM, Mexico MX MEX/Mexiko, Nicaragua NI NIC, Panama PA PAN, Paraguay PY PRY, Peru PE PER, Puerto Rico PR PRI, Saint Kitts and Nevis KN KNA, Saint Lucia LC LCA, Saint Vincent and the Grenadines VC VCT, Suriname SR SUR, Trinidad and Tobago TT TTO, Uruguay UY URY, Venezuela VE VEN
Asia|Central Asia|Kazakhstan KZ KAZ/Kasachstan, Kyrgyzstan KG KGZ, Tajikistan TJ TJK, Turkmenistan TM TKM, Uzbekistan UZ UZB
Asia|Eastern Asia|China CN CHN, Hong Kong HK HKG, Macao MO MAC/Macau, Japan JP JPN, Mongolia MN MNG, North Korea KP PRK, South Korea KR KOR/Republic of Korea/Korea/Südkorea, Taiwan TW TWN
Asia|South-eastern Asia|Brunei BN BRN, Cambodia KH KHM, Indonesia ID IDN/Indonesien, Laos LA LAO, Malaysia MY MYS, Myanmar MM MMR/Burma, Philippines PH PHL/Philippinen, Singapore SG SGP, Thailand TH THA, Timor-Leste TL TLS/East Timor, Vietnam VN VNM/Viet Nam
Asia|Southern Asia|Afghanistan AF AFG, Bangladesh BD BGD, Bhutan BT BTN, India IN IND/Indien, Iran IR IRN, Maldives MV MDV, Nepal NP NPL, Pakistan PK PAK, Sri Lanka LK LKA
Asia|Western Asia|Armenia AM ARM, Azerbaijan AZ AZE, Bahrain BH BHR, Cyprus CY CYP/Zypern, Georgia GE GEO/Georgien, Iraq IQ IRQ/Irak, Israel IL ISR, Jordan JO JOR/Jordanien, Kuwait KW KWT, Lebanon LB LBN/Libanon, Oman OM OMN, Palestine PS PSE, Qatar QA QAT, Saudi Arabia SA SAU/Saudi-Arabien, Syria SY SYR/Syrien, Türkiye TR TUR/Turkey/Türkei, United Arab Emirates AE ARE, Yemen YE YEM/Jemen
Europe|Eastern Europe|Belarus BY BLR/Weißrussland, Bulgaria BG BGR/Bulgarien, Czechia CZ CZE/Czech Republic/Tschechien, Hungary HU HUN/Ungarn, Moldova MD MDA, Poland PL POL/Polen, Romania RO ROU/Rumänien, Russia RU RUS/Russian Federation/Russland, Slovakia SK SVK/Slowakei, Ukraine UA UKR
Europe|Northern Europe|Denmark DK DNK/Dänemark, Estonia EE EST/Estland, Finland FI FIN/Finnland, Iceland IS ISL/Island, Ireland IE IRL/Irland, Latvia LV LVA/Lettland, Lithuania LT LTU/Litauen, Norway NO NOR/Norwegen, Sweden SE SWE/Schweden, United Kingdom GB GBR/UK/Great Britain/Großbritannien/Vereinigtes Königreich/England/Scotland/Wales/Northern Ireland
Europe|Southern Europe|Albania AL ALB/Albanien, Andorra AD AND, Bosnia and Herzegovina BA BIH/Bosnia/Bosnien und Herzegowina/Bosnien, Croatia HR HRV/Kroatien, Greece GR GRC/Griechenland, Italy IT ITA/Italien, Kosovo XK XKX, Malta MT MLT, Montenegro ME MNE, North Macedonia MK MKD/Macedonia, Portugal PT PRT, San Marino SM SMR, Serbia RS SRB/Serbien, Slovenia SI SVN/Slowenien, Spain ES ESP/Spanien
Europe|Western Europe|Austria AT AUT/Österreich, Belgium BE BEL/Belgien, France FR FRA/Frankreich, Germany DE DEU/Deutschland, Liechtenstein LI LIE, Luxembourg LU LUX/Luxemburg, Monaco MC MCO, Netherlands NL NLD/Holland/Niederlande, Switzerland CH CHE/Schweiz
Oceania|Australia and New Zealand|Australia AU AUS/Australien, New Zealand NZ NZL/Neuseeland
Oceania|Pacific Islands|Fiji FJ FJI, Guam GU GUM, Kiribati KI KIR, Marshall Islands MH MHL, Micronesia FM FSM, Nauru NR NRU, Palau PW PLW, Papua New Guinea PG PNG, Samoa WS WSM, Solomon Islands SB SLB, Tonga TO TON, Tuvalu TV TUV, Vanuatu VU VUT
"""  # noqa: E501 - one line per region

NAMED = re.compile(
    r"countr|nation|(?<!bundes)land$|staat|pays|pais|paese|citizen|herkunft|(?<![a-z])cob", re.IGNORECASE
)
MOST = 0.7
NEARLY_ALL = 0.9


def countries(values: Iterable[object], observed: bool = False) -> Hierarchy:
    """Build the hierarchy of countries by the United Nations' regions: names, or their ISO codes.

    >>> countries(["Germany", "France", "Poland", "Japan"]).levels[2].labels
    ('Asia', 'Europe')
    """
    return grouped(values, _place, observed)


def looks_like_countries(column: str, values: Sequence[str]) -> bool:
    """Say whether values are countries: by name, or by code where the column's name says so (states have codes too)."""
    named = NAMED.search(column) is not None
    names = [value for value in values if len(value.strip()) > 3]
    known, _ = share_known(names, _place)
    if known >= 3 and known >= MOST * len(values):
        return True
    known, share = share_known(values, _place)
    return named and known >= 3 and share >= NEARLY_ALL


def _place(text: str) -> Place | None:
    region = _regions().get(_plain(text))
    return None if region is None else (region, (region[1], region[0]))


@cache
def _regions() -> dict[str, tuple[str, str]]:
    """Return the region and its part of every name and code."""
    return {name: (region, part) for region, part, name in _names()}


def _names() -> Iterator[tuple[str, str, str]]:
    for line in REGIONS.strip().splitlines():
        region, part, written = line.split("|")
        for country in written.split(", "):
            first, *others = country.split("/")
            name, two, three = first.rsplit(" ", 2)
            yield from ((region, part, _plain(text)) for text in (name, two, three, *others))


def _plain(text: str) -> str:
    """Write a name without case, accents, articles and marks."""
    bare = unicodedata.normalize("NFKD", text.casefold().replace("&", " and "))
    words = re.findall(r"\w+", "".join(letter for letter in bare if not unicodedata.combining(letter)))
    return "".join(word for word in words if word not in ("the", "of", "and"))
