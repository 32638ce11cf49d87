"""What the name of a column says of its content, in English, German, French, Spanish, Italian, Dutch and neighbours.

A name is cut into words (`dateOfBirth`, `date-of-birth` and `DATE_OF_BIRTH` are the same three), accents are dropped,
and the first meaning of which a word or phrase stands in the name is taken. The order of the list decides: what
names a person comes before everything, an age at a diagnosis is an age, a degree of a charge is no education.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Role = Literal["identifier", "quasi", "sensitive", "neutral"]

HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class ColumnMeaning:
    """Something columns are about: what it is, the role it suggests, and the words by which it is named."""

    what: str
    role: Role
    words: str
    """Words and phrases (`date_of_birth`). A star stands for any letters before or after a word; `^` and `$` say that
    the name begins or ends there: `^first$` is the whole name."""

    nominal: bool = True
    """Whether numbers are only names here, without an order."""

    weak: bool = False
    """Whether the name alone is no reason: values must be different in many records as well."""

    beside: str = ""
    """Words one of which must stand in the name too."""

    @cached_property
    def phrases(self) -> tuple[re.Pattern[str], ...]:
        """The words and phrases, one by one, as they stand in a name with `_` around every word."""
        return _patterns(self.words)

    @cached_property
    def companions(self) -> tuple[re.Pattern[str], ...]:
        """The words beside, likewise."""
        return _patterns(self.beside)

    @cached_property
    def joined(self) -> frozenset[str]:
        """The phrases written as one word."""
        return frozenset(phrase.strip("^$").replace("_", "") for phrase in self.words.split() if "*" not in phrase)

    def is_meant(self, words: tuple[str, ...]) -> bool:
        """Say whether a name of these words is about this."""
        spaced = f"_{'_'.join(words)}_"
        if self.beside and not any(pattern.search(spaced) for pattern in self.companions):
            return False
        written = not self.beside and "".join(words) in self.joined
        return written or any(pattern.search(spaced) for pattern in self.phrases)


def _patterns(texts: str) -> tuple[re.Pattern[str], ...]:
    def pattern(text: str) -> str:
        core = text.strip("^$").replace("*", "[^_]*")
        return f"{'^' if text.startswith('^') else ''}_{core}_{'$' if text.endswith('$') else ''}"

    return tuple(re.compile(pattern(text)) for text in texts.split())


HOUSEHOLD = "the number of a household"
NAME = "a name"
REACH = "a way to reach a person"
PERSONS = (
    "patient patienten patientin patienta pat person personen persona personne persoon paciente paziente klient "
    "client cliente customer kunde kunden klant member mitglied mitglieds membre miembro socio lid employee "
    "mitarbeiter mitarbeiterin employe salarie empleado dipendente medewerker werknemer student studenten schuler "
    "eleve alumno studente leerling versicherter versicherten versicherte assure asegurado assicurato verzekerde "
    "subject proband probanden participant teilnehmer respondent befragter resident bewohner user usuario utente "
    "gebruiker defendant"
)
"""Words for somebody, beside which a name or a number is that of a person."""

PERSON_KEYS = frozenset(f"{PERSONS} id ids nr no num number nummer numero key kennung pid uid".split())
"""Words of which a name may consist that says whose record it is."""

MEANINGS = (
    ColumnMeaning(
        HOUSEHOLD,
        "identifier",
        "household_id householdid household_no household_nr household_number household_key hh_id hhid hh_no hh_nr "
        "hhnr hh_number family_id familyid family_no family_number dwelling_id haushalt_id haushalts_id haushaltid "
        "haushaltsid haushaltsnummer haushaltsnr haushalts_nr familien_id familiennummer menage_id id_menage "
        "numero_menage hogar_id id_hogar nucleo_id id_famiglia huishouden_id huishoudnummer hushall_id husstand_id",
    ),
    ColumnMeaning(
        "a person's number",
        "identifier",
        "ssn nin nino nir nss bsn pesel dni nie nif cpf cpr hetu ahv mrn nhc ipp kvnr svnr personnummer fodselsnummer "
        "rodne_cislo social_security *sozialversicherung* securite_sociale seguridad_social sicurezza_sociale "
        "burgerservicenummer national_id national_insurance codice_fiscale tessera_sanitaria numero_tessera steuer_id "
        "*steuernummer tax_id tax_number passport *passnummer reisepass* passeport pasaporte passaporto paspoort* "
        "medical_record record_number nhs_number nhs_no insurance_number insurance_no insurance_id policy_number "
        "*versichertennummer *versichertennr *versicherungsnummer *versicherungsnr *versicherten_nr *versicherten_id "
        "*versicherungs_nr numero_d_assurance numero_assurance numero_de_seguro numero_seguro numero_assicurazione "
        "verzekeringsnummer polisnummer krankenkassennummer driving_licence drivers_license driver_license "
        "license_plate number_plate kennzeichen account_number account_no kontonummer iban card_number credit_card "
        "kreditkarte* pseudonym* *patientennummer *patientennr patientid patid patnr patientnummer personid subjectid "
        "participantid respondentid customerid clientid memberid userid employeeid studentid caseid case_id "
        "case_number case_no case_nr *fallnummer *fallnr fall_nr fall_id *aktenzeichen *matrikelnummer matrikelnr "
        "*personalnummer personalnr personal_nr *kundennummer kundennr dossier_patient numero_dossier "
        "numero_de_dossier dossiernummer historia_clinica numero_historia cartella_clinica numero_cartella uuid guid",
    ),
    ColumnMeaning(
        "a person's number",
        "identifier",
        "id nr no number nummer numero key code codice codigo kennung",
        beside=PERSONS,
    ),
    ColumnMeaning(
        NAME,
        "identifier",
        "surname surnames lastname last_name family_name firstname first_name forename forenames given_name "
        "middle_name maiden_name fullname full_name nickname ^first$ ^last$ ^middle$ ^name$ ^names$ ^nom$ ^nombre$ "
        "^nombres$ ^nome$ ^naam$ vorname vornamen nachname *familienname zuname rufname geburtsname madchenname "
        "maedchenname *patientenname *kundenname prenom prenoms nom_de_famille nom_de_naissance nom_prenom nom_usuel "
        "apellido* nombre_completo nombre_y_apellidos primer_nombre cognome cognomi nome_e_cognome nome_cognome "
        "voornaam voornamen achternaam familienaam roepnaam tussenvoegsel fornamn efternamn fornavn etternavn "
        "efternavn imie nazwisko sobrenome username login initials",
    ),
    ColumnMeaning(NAME, "identifier", "name names namen nom noms nombre nome naam namn navn", beside=PERSONS),
    ColumnMeaning(
        REACH,
        "identifier",
        "email e_mail mail *mailadresse correo_electronico correo courriel phone telephone *telefon* telefono "
        "telefoon* mobile mobil mobiel mobilnummer handy handynummer cell_phone cellphone cellulare movil fax "
        "portable_no gsm tel street street_address *strasse str *hausnummer hausnr house_number huisnummer straat "
        "straatnaam rue calle ^via$ via_indirizzo address adresse *anschrift direccion domicilio indirizzo adres "
        "adress endereco ip ip_address ipaddress mac_address device_id imei url website homepage facebook twitter "
        "instagram linkedin",
    ),
    ColumnMeaning(
        "an age",
        "quasi",
        "age ages alter edad eta leeftijd alder wiek idade lebensalter altersjahre age_group *altersgruppe",
        nominal=False,
    ),
    ColumnMeaning(
        "a birth",
        "quasi",
        "dob yob birth birthdate birthday birthyear birthplace born geburt* geboren geboorte* naissance ne_le nee_le "
        "nacimiento nascita nato_il nascimento fodsels* fodelse* urodzenia urodzenie",
        nominal=False,
    ),
    ColumnMeaning(
        "a postal code",
        "quasi",
        "zip zipcode postcode postal postalcode plz postleitzahl code_postal codigo_postal codice_postale "
        "codice_avviamento_postale ^cap$ ^cp$ npa postnummer postnr kod_pocztowy cep psc",
    ),
    ColumnMeaning(
        "health",
        "sensitive",
        "health* *gesundheit* sante salud salute gezondheid* physlim* limitation* chronic* *diagnos* icd10 disease* "
        "illness* sickness condition* icd symptom* comorbid* medication* medicine* drug* prescription* treatment* "
        "therap* surgery hiv aids std cancer tumor tumour pregnan* abortion disab* handicap* mental* psych* suicid* "
        "addict* alcohol* smok* genetic* genom* mutation* blood* lab_result test_result prognosis cause_of_death "
        "krankheit* erkrankung* befund* medikament* behandlung* behinderung* schwanger* todesursache maladie* "
        "traitement* medicament* grossesse enfermedad* tratamiento* embarazo malattia malattie farmac* terapia "
        "trattamento gravidanza ziekte* behandeling medicijn* sykdom* sygdom* sjukdom* choroba doenca* alergi* "
        "allerg*",
    ),
    ColumnMeaning(
        "an admission or a discharge",
        "quasi",
        "admission* admitted discharge* discharged *aufnahme* *entlass* einweisung* date_entree date_d_entree "
        "date_sortie date_de_sortie hospitalisation fecha_ingreso fecha_de_ingreso fecha_alta fecha_de_alta "
        "hospitalizacion ricovero dimissione dimissioni opname* ontslag* ontslagdatum",
        nominal=False,
    ),
    ColumnMeaning(
        "money",
        "sensitive",
        "salary salaries salaryclass *income* ^inc$ linc loginc *wage *wages earnings earn pay payroll bonus debt "
        "debts loan loans credit* cost costs *kosten charges total_charges cout couts coste costes costo costi "
        "dividends tax taxes wealth capital net_worth *gehalt *einkommen lohn bruttolohn nettolohn verdienst vermogen "
        "schulden salaire revenu* salario sueldo ingreso ingresos renta stipendio reddito loon inkomen lon inntekt "
        "indkomst zarobki rendimento benefits",
        nominal=False,
    ),
    ColumnMeaning(
        "a belief or conviction",
        "sensitive",
        "religio* relig faith confession denomination church *konfession* glaube* culto godsdienst geloof kerk* "
        "politic* party partei parti partito partido vote voted votes voting ballot wahl* union gewerkschaft* "
        "syndicat sindacato sindicato ideology",
    ),
    ColumnMeaning(
        "sexual life",
        "sensitive",
        "sexual sexuality sexual_orientation orientation sexuelle* orientierung partners",
    ),
    ColumnMeaning(
        "crime",
        "sensitive",
        "crime* criminal* convict* offence* offense* offender* arrest* sentence* prison* jail* custody felon* fel "
        "misd misdemeanor* juvenile juv priors recid* charge_degree charge_desc charge_description charge_type "
        "charged straf* vorstrafe* ruckfall* delit* recidive condamnation* antecedentes reincidencia reato reati "
        "recidiva misdrijf*",
    ),
    ColumnMeaning("a score about a person", "sensitive", "score scores scoring decile* rating", nominal=False),
    ColumnMeaning(
        "a sex or gender", "quasi", "sex gender geschlecht sexe sexo sesso geslacht kon kjonn plec genre genero genere"
    ),
    ColumnMeaning(
        "a race or ethnicity",
        "quasi",
        "race races ethn ethnic* black white minority *minorit* ethnie rasse raza razza etnia etnic* herkunft "
        "skin_color tribe caste hispanic",
    ),
    ColumnMeaning(
        "a nationality or language",
        "quasi",
        "national* nazional* nacional* citizen* country countries nation land pays pais paese kraj origin "
        "staatsangehor* staatsangehoer* *burgerschaft cittadinanza ciudadania migration* language langue sprache "
        "muttersprache idioma lingua taal mother_tongue",
    ),
    ColumnMeaning(
        "a marital status",
        "quasi",
        "marital* marriage married single divorced widow* spouse verheiratet ledig marie mariee celibataire casado "
        "casada soltero soltera sposato sposata coniugato coniugata celibe nubile gehuwd getrouwd civil_status "
        "civilstatus familienstand etat_civil situation_familiale estado_civil stato_civile burgerlijke_staat "
        "sivilstand civilstand stan_cywilny",
    ),
    ColumnMeaning(
        "a place",
        "quasi",
        "city town village municipality county state province region district suburb borough parish precinct "
        "neighborhood neighbourhood census_tract tract place location residence domicile ort wohnort stadt gemeinde "
        "landkreis kreis bundesland kanton ville commune departement ciudad provincia municipio citta comune regione "
        "plaats gemeente woonplaats stad localite localidad poblacion localita ortschaft *wohnort miasto wojewodztwo "
        "gmina kommune kommun fylke cidade estado hospital clinic ward krankenhaus klinik hopital ospedale ziekenhuis "
        "university",
    ),
    ColumnMeaning(
        "a position on the map",
        "quasi",
        "lat latitude lon lng long longitude geo gps coordinates x_coord y_coord",
        nominal=False,
    ),
    ColumnMeaning(
        "an education",
        "quasi",
        "educ* school schooling schoolyears years_of_school edu degree qualification* *bildung* ausbildung* "
        "schulabschluss abschluss diplom* etudes niveau_etude* educacion nivel_educativo estudios istruzione "
        "titolo_di_studio opleiding* utdanning uddannelse utbildning wyksztalcenie escolaridade scuola ecole escuela "
        "schule",
        nominal=False,
    ),
    ColumnMeaning(
        "experience at work",
        "quasi",
        "exper experience seniority job_tenure *erfahrung *zugehorigkeit experiencia esperienza anzianita ervaring",
        nominal=False,
    ),
    ColumnMeaning(
        "work",
        "quasi",
        "occupation* job jobs profession* employ* unemploy* work* labor labour industry rank *beruf* *arbeit* metier "
        "emploi profesion ocupacion empleo oficio puesto professione occupazione lavoro mestiere beroep functie yrke "
        "erhverv zawod profissao military",
    ),
    ColumnMeaning(
        "a family or household",
        "quasi",
        "household* hogar menage huishouden relationship family family_size famille familia famiglia gezin child "
        "children kid kids lfam siblings dependents dependants haushalt* kinder enfants hijos figli kinderen housing "
        "tenure",
        nominal=False,
    ),
    ColumnMeaning(
        "what can be seen",
        "quasi",
        "height body_height weight_kg bmi eye_color hair_color eye_colour hair_colour",
        nominal=False,
    ),
    ColumnMeaning(
        "a date",
        "quasi",
        "date dates *datum fecha data_di ^year year$ year_of ^jahr jahr$ annee$ ^anno ^ano$ jaar$ hired death "
        "deceased timestamp tag_der dia_de data_del",
        nominal=False,
    ),
    ColumnMeaning(NAME, "identifier", "name names nom nombre nome naam navn namn", weak=True),
    ColumnMeaning(
        "a number of something", "identifier", "id ids nr no number nummer numero num key code guid", weak=True
    ),
    ColumnMeaning(
        "remarks",
        "identifier",
        "comment* note notes remark* bemerkung* kommentar* anmerkung* remarque* observaciones freetext",
        weak=True,
    ),
)


COUNTED = (
    "count counts days weeks months years hours minutes number num amount total times anzahl zahl tage wochen monate "
    "jahre stunden dauer duration jours semaines mois annees duree cantidad dias semanas meses anos duracion giorni "
    "settimane mesi anni durata aantal dagen weken maanden jaren duur"
)
"""Words for what is counted: its numbers have an order, whatever they are about."""


def words_of(name: str) -> tuple[str, ...]:
    """Cut a column's name into plain words in lower case."""
    plain = unicodedata.normalize("NFKD", HUMP.sub(" ", name).replace("ß", "ss"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    letters = letters.replace("ø", "o").replace("Ø", "O").replace("ł", "l").replace("Ł", "L")
    return tuple(WORD.findall(letters.casefold()))


def meaning_of(name: str) -> ColumnMeaning | None:
    """Find what a column's name says it is about; None where it says nothing that is known."""
    words = words_of(name)
    return next((meaning for meaning in MEANINGS if meaning.is_meant(words)), None)


def may_number_persons(name: str) -> bool:
    """Say whether a name may be that of a person's number: `patient`, `nr`, `Patient ID`, but no `number`."""
    words = words_of(name)
    return bool(words) and all(word in PERSON_KEYS for word in words) and not set(words) <= set(COUNTED.split())


def is_counted(name: str) -> bool:
    """Say whether a column is named like a count or a duration."""
    return not set(COUNTED.split()).isdisjoint(words_of(name))
