"""Countries by the regions of the United Nations (M49 standard): names in English and German, ISO 3166 codes.

One line per region: names separated by commas, each with its two ISO codes and, after a slash, other names. These are
facts, held against the M49 overview as the package country-converter 1.3.2 has it, and the German names against ISO
3166's in pycountry 26.2; who belongs where is the statistics division's grouping and says nothing else. Melanesia,
Micronesia and Polynesia are joined, the parts of Africa south of the Sahara and of Latin America too (as the standard
itself does), and Taiwan and Kosovo, which the standard does not list, stand with their neighbours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from sfumato.table.hierarchies.hierarchy import Hierarchy
from sfumato.table.structures.structure import Place, grouped, share_known

REGIONS = """
Africa|Northern Africa|Algeria DZ DZA/Algerien, Egypt EG EGY/Ägypten, Libya LY LBY/Libyen, Morocco MA MAR/Marokko, Sudan SD SDN, Tunisia TN TUN/Tunesien, Western Sahara EH ESH/Westsahara
Africa|Sub-Saharan Africa|Angola AO AGO, Benin BJ BEN, Botswana BW BWA/Botsuana, British Indian Ocean Territory IO IOT/Britisches Territorium im Indischen Ozean, Burkina Faso BF BFA, Burundi BI BDI, Cabo Verde CV CPV/Cape Verde/Kap Verde/Kapverden, Cameroon CM CMR/Kamerun, Central African Republic CF CAF/Zentralafrikanische Republik, Chad TD TCD/Tschad, Comoros KM COM/Komoren, Congo CG COG/Republic of the Congo, Côte d'Ivoire CI CIV/Ivory Coast/Elfenbeinküste, Democratic Republic of the Congo CD COD/DR Congo/Zaire/Kongo/Demokratische Republik Kongo/Dem Rep Congo/Congo Kinshasa, Djibouti DJ DJI/Dschibuti, Equatorial Guinea GQ GNQ/Äquatorialguinea, Eritrea ER ERI, Eswatini SZ SWZ/Swaziland/Swasiland, Ethiopia ET ETH/Äthiopien, French Southern Territories TF ATF/Französische Süd- und Antarktisgebiete, Gabon GA GAB/Gabun, Gambia GM GMB, Ghana GH GHA, Guinea GN GIN, Guinea-Bissau GW GNB, Kenya KE KEN/Kenia, Lesotho LS LSO, Liberia LR LBR, Madagascar MG MDG/Madagaskar, Malawi MW MWI, Mali ML MLI, Mauritania MR MRT/Mauretanien, Mauritius MU MUS, Mayotte YT MYT, Mozambique MZ MOZ/Mosambik, Namibia NA NAM, Niger NE NER, Nigeria NG NGA, Réunion RE REU, Rwanda RW RWA/Ruanda, Saint Helena SH SHN/Saint Helena Ascension and Tristan da Cunha, Sao Tome and Principe ST STP, Senegal SN SEN, Seychelles SC SYC/Seychellen, Sierra Leone SL SLE, Somalia SO SOM, South Africa ZA ZAF/Südafrika, South Sudan SS SSD/Südsudan, Tanzania TZ TZA/United Republic of Tanzania/Tansania/Vereinigte Republik Tansania/Tanganyika/Zanzibar, Togo TG TGO, Uganda UG UGA, Zambia ZM ZMB/Sambia, Zimbabwe ZW ZWE/Simbabwe
Americas|Northern America|Bermuda BM BMU, Canada CA CAN/Kanada, Greenland GL GRL/Grönland, Saint Pierre and Miquelon PM SPM, United States US USA/United States of America/America/Vereinigte Staaten/Amerika/Vereinigte Staaten von Amerika
Americas|Latin America and the Caribbean|Anguilla AI AIA, Antigua and Barbuda AG ATG, Argentina AR ARG/Argentinien, Aruba AW ABW, Bahamas BS BHS, Barbados BB BRB, Belize BZ BLZ, Bolivia BO BOL/Plurinational State of Bolivia/Bolivien/Plurinationaler Staat Bolivien, Bonaire BQ BES/Caribbean Netherlands/Bonaire Sint Eustatius and Saba, Bouvet Island BV BVT/Bouvet-Insel, Brazil BR BRA/Brasilien, British Virgin Islands VG VGB/Britische Jungferninseln, Cayman Islands KY CYM/Cayman-Inseln, Chile CL CHL, Colombia CO COL/Kolumbien, Costa Rica CR CRI, Cuba CU CUB/Kuba, Curaçao CW CUW, Dominica DM DMA, Dominican Republic DO DOM/Dominikanische Republik, Ecuador EC ECU, El Salvador SV SLV, Falkland Islands FK FLK/Falkland Islands Malvinas/Falklandinseln, French Guiana GF GUF/Französisch-Guyana, Grenada GD GRD, Guadeloupe GP GLP, Guatemala GT GTM, Guyana GY GUY, Haiti HT HTI, Honduras HN HND, Jamaica JM JAM/Jamaika, Martinique MQ MTQ, Mexico MX MEX/Mexiko, Montserrat MS MSR, Nicaragua NI NIC, Panama PA PAN, Paraguay PY PRY, Peru PE PER, Puerto Rico PR PRI, Saint Barthélemy BL BLM, Saint Kitts and Nevis KN KNA, Saint Lucia LC LCA, Saint Martin MF MAF/Saint Martin French part, Saint Vincent and the Grenadines VC VCT/Saint Vincent und die Grenadinen, Sint Maarten SX SXM/Sint Maarten Dutch part, South Georgia and the South Sandwich Islands GS SGS/South Georgia und die Südlichen Sandwichinseln, Suriname SR SUR, Trinidad and Tobago TT TTO, Turks and Caicos Islands TC TCA/Turks- und Caicosinseln, United States Virgin Islands VI VIR/US Virgin Islands/Amerikanische Jungferninseln, Uruguay UY URY, Venezuela VE VEN/Bolivarian Republic of Venezuela/Bolivarische Republik Venezuela
Asia|Central Asia|Kazakhstan KZ KAZ/Kasachstan, Kyrgyzstan KG KGZ/Kirgisistan/Kirgistan, Tajikistan TJ TJK/Tadschikistan, Turkmenistan TM TKM, Uzbekistan UZ UZB/Usbekistan
Asia|Eastern Asia|China CN CHN, Hong Kong HK HKG/Hong Kong SAR/China Hong Kong Special Administrative Region, Japan JP JPN, Macao MO MAC/Macau/Macao SAR/China Macao Special Administrative Region, Mongolia MN MNG/Mongolei, North Korea KP PRK/Democratic People's Republic of Korea/Nordkorea/Demokratische Volksrepublik Korea, South Korea KR KOR/Republic of Korea/Korea/Südkorea, Taiwan TW TWN/Taiwan Province of China
Asia|South-eastern Asia|Brunei BN BRN/Brunei Darussalam, Cambodia KH KHM/Kambodscha, Indonesia ID IDN/Indonesien, Laos LA LAO/Lao People's Democratic Republic/Demokratische Volksrepublik Laos/Lao PDR, Malaysia MY MYS, Myanmar MM MMR/Burma/Birma, Philippines PH PHL/Philippinen, Singapore SG SGP/Singapur, Thailand TH THA, Timor-Leste TL TLS/East Timor, Vietnam VN VNM/Viet Nam
Asia|Southern Asia|Afghanistan AF AFG, Bangladesh BD BGD/Bangladesch, Bhutan BT BTN, India IN IND/Indien, Iran IR IRN/Islamische Republik Iran, Maldives MV MDV/Malediven, Nepal NP NPL, Pakistan PK PAK, Sri Lanka LK LKA
Asia|Western Asia|Armenia AM ARM/Armenien, Azerbaijan AZ AZE/Aserbaidschan, Bahrain BH BHR, Cyprus CY CYP/Zypern, Georgia GE GEO/Georgien, Iraq IQ IRQ/Irak, Israel IL ISR, Jordan JO JOR/Jordanien, Kuwait KW KWT, Lebanon LB LBN/Libanon, Oman OM OMN, Palestine PS PSE/Staat Palästina/Palästina/Palestinian Territory, Qatar QA QAT/Katar, Saudi Arabia SA SAU/Saudi-Arabien, Syria SY SYR/Syrien/Syrian Arab Republic/Arabische Republik Syrien, Türkiye TR TUR/Turkey/Türkei, United Arab Emirates AE ARE/Vereinigte Arabische Emirate, Yemen YE YEM/Jemen
Europe|Eastern Europe|Belarus BY BLR/Weißrussland, Bulgaria BG BGR/Bulgarien, Czechia CZ CZE/Czech Republic/Tschechien/Tschechische Republik, Hungary HU HUN/Ungarn, Moldova MD MDA/Moldau/Moldawien, Poland PL POL/Polen, Romania RO ROU/Rumänien, Russia RU RUS/Russian Federation/Russland/Russische Föderation, Slovakia SK SVK/Slowakei/Slowakische Republik, Ukraine UA UKR
Europe|Northern Europe|Åland Islands AX ALA/Åland-Inseln, Denmark DK DNK/Dänemark, Estonia EE EST/Estland, Faroe Islands FO FRO/Färöer-Inseln/Färöer, Finland FI FIN/Finnland, Guernsey GG GGY, Iceland IS ISL/Island, Ireland IE IRL/Irland, Isle of Man IM IMN/Insel Man, Jersey JE JEY, Latvia LV LVA/Lettland, Lithuania LT LTU/Litauen, Norway NO NOR/Norwegen, Svalbard and Jan Mayen SJ SJM/Svalbard and Jan Mayen Islands, Sweden SE SWE/Schweden, United Kingdom GB GBR/UK/Great Britain/Großbritannien/Vereinigtes Königreich/England/Scotland/Wales/Northern Ireland/United Kingdom of Great Britain and Northern Ireland
Europe|Southern Europe|Albania AL ALB/Albanien, Andorra AD AND, Bosnia and Herzegovina BA BIH/Bosnia/Bosnien und Herzegowina/Bosnien, Croatia HR HRV/Kroatien, Gibraltar GI GIB, Greece GR GRC/EL/Griechenland, Holy See VA VAT/Vatican/Vatican City/Heiliger Stuhl/Vatikan/Vatikanstadt, Italy IT ITA/Italien, Kosovo XK XKX, Malta MT MLT, Montenegro ME MNE, North Macedonia MK MKD/Macedonia/Nordmazedonien/Mazedonien, Portugal PT PRT, San Marino SM SMR, Serbia RS SRB/Serbien, Slovenia SI SVN/Slowenien, Spain ES ESP/Spanien
Europe|Western Europe|Austria AT AUT/Österreich, Belgium BE BEL/Belgien, France FR FRA/Frankreich, Germany DE DEU/Deutschland, Liechtenstein LI LIE, Luxembourg LU LUX/Luxemburg, Monaco MC MCO, Netherlands NL NLD/Holland/Niederlande, Switzerland CH CHE/Schweiz
Oceania|Australia and New Zealand|Australia AU AUS/Australien, Christmas Island CX CXR/Weihnachtsinseln, Cocos Islands CC CCK/Cocos Keeling Islands/Kokosinseln, Heard Island and McDonald Islands HM HMD/Heard und McDonaldinseln, New Zealand NZ NZL/Neuseeland, Norfolk Island NF NFK/Norfolkinsel
Oceania|Pacific Islands|American Samoa AS ASM/Amerikanisch-Samoa, Cook Islands CK COK/Cookinseln, Fiji FJ FJI/Fidschi, French Polynesia PF PYF/Französisch-Polynesien, Guam GU GUM, Kiribati KI KIR, Marshall Islands MH MHL/Marshallinseln, Micronesia FM FSM/Federated States of Micronesia/Föderierte Staaten von Mikronesien, Nauru NR NRU, New Caledonia NC NCL/Neukaledonien, Niue NU NIU, Northern Mariana Islands MP MNP/Nördliche Marianen, Palau PW PLW, Papua New Guinea PG PNG/Papua-Neuguinea, Pitcairn PN PCN, Samoa WS WSM, Solomon Islands SB SLB/Salomoninseln, Tokelau TK TKL, Tonga TO TON, Tuvalu TV TUV, United States Minor Outlying Islands UM UMI, Vanuatu VU VUT, Wallis and Futuna WF WLF/Wallis and Futuna Islands
"""  # noqa: E501 - one line per region

NAMED = re.compile(
    r"countr|nation|(?<!bundes)land$|staat|pays|pais|paese|citizen|herkunft|(?<![a-z])cob", re.IGNORECASE
)
SMALL = frozenset(["the", "of", "and", "und", "der", "die", "das"])
FORMS = frozenset(
    re.findall(r"\w+", "republic republik kingdom konigreich state stat federal islamic democratic principality")
)
"""Words that say how a country is governed: left out where a name is not known with them."""

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
    words = _words(text)
    bare = [word for word in words if word not in FORMS]
    region = next((_regions()[key] for key in (*_keys(words), *_keys(bare)) if key in _regions()), None)
    return None if region is None else (region, (region[1], region[0]))


@cache
def _regions() -> dict[str, tuple[str, str]]:
    """Return the region and its part of every name and code."""
    return {key: (region, part) for region, part, name in _names() for key in _keys(_words(name))}


def _names() -> Iterator[tuple[str, str, str]]:
    for line in REGIONS.strip().splitlines():
        region, part, written = line.split("|")
        for country in written.split(", "):
            first, *others = country.split("/")
            yield from ((region, part, text) for text in (*first.rsplit(" ", 2), *others))


def _words(text: str) -> list[str]:
    """Take a name apart: no case, accents, articles and marks; umlauts as one letter however they are written."""
    bare = unicodedata.normalize("NFKD", text.casefold().replace(".", ""))
    letters = "".join(letter for letter in bare if not unicodedata.combining(letter))
    words = re.findall(r"\w+", re.sub("([aou])e", r"\1", letters))
    telling = [word for word in words if word not in SMALL] or words  # AND is Andorra
    return ["saint" if word in ("st", "sankt") and len(telling) > 1 else word for word in telling]


def _keys(words: Sequence[str]) -> list[str]:
    """Join words in their order, and in one that "Korea, Republic of" and "Republic of Korea" have in common."""
    return ["".join(words), " ".join(sorted(words))] if words else []
