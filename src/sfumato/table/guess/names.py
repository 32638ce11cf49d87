"""What the name of a column says of its content, in English and the common European languages.

A name is cut into words (`dateOfBirth`, `date-of-birth` and `DATE_OF_BIRTH` are the same three), accents are dropped,
and the first meaning of which a word or phrase stands in the name is taken. The order of the list decides: what
names a person comes before everything, an age at a diagnosis is an age.
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
class Meaning:
    """Something columns are about: what it is, the role it suggests, and the words by which it is named."""

    what: str
    role: Role
    words: str
    """Words and phrases (`date_of_birth`); with a star at the end, any word that begins so."""

    nominal: bool = True
    """Whether numbers are only names here, without an order."""

    weak: bool = False
    """Whether the name alone is no reason: values must be different in many records as well."""

    @cached_property
    def phrases(self) -> tuple[str, ...]:
        """The words and phrases, one by one."""
        return tuple(self.words.split())


HOUSEHOLD = "the number of a household"
MEANINGS = (
    Meaning(
        HOUSEHOLD,
        "identifier",
        "household_id householdid household_no household_nr household_number household_key hh_id hhid hh_no hh_nr hhnr "
        "hh_number family_id familyid family_no family_number dwelling_id haushalt_id haushalts_id haushaltid "
        "haushaltsid haushaltsnummer haushaltsnr haushalts_nr familien_id familiennummer menage_id id_menage "
        "numero_menage hogar_id id_hogar nucleo_id id_famiglia huishouden_id huishoudnummer hushall_id husstand_id",
    ),
    Meaning(
        "a person's number",
        "identifier",
        "ssn nin nino nir bsn pesel dni nie nif cpf cpr hetu personnummer fodselsnummer rodne_cislo ahv mrn "
        "social_security sozialversicherung* securite_sociale seguridad_social national_id national_insurance "
        "codice_fiscale steuer_id steuernummer tax_id tax_number passport passnummer passeport pasaporte passaporto "
        "medical_record record_number nhs_number nhs_no insurance_number insurance_id policy_number "
        "versichertennummer krankenkassennummer driving_licence drivers_license driver_license license_plate "
        "number_plate kennzeichen account_number account_no kontonummer iban card_number credit_card kreditkarte* "
        "pseudonym* patient_id patientid patient_no patient_number patient_nr patient_key patient_code patientennummer "
        "patienten_id person_id personid person_no person_number subject_id subjectid participant_id participantid "
        "respondent_id respondentid customer_id customerid customer_no client_id clientid member_id memberid user_id "
        "userid employee_id employeeid employee_no student_id studentid resident_id case_id caseid case_number "
        "case_no fallnummer fall_id aktenzeichen matrikelnummer personalnummer kundennummer dossier_patient uuid guid",
    ),
    Meaning(
        "a name",
        "identifier",
        "surname lastname last_name family_name firstname first_name forename given_name middle_name maiden_name "
        "fullname full_name nickname vorname nachname familienname zuname geburtsname prenom nom_de_famille apellido* "
        "nombre_completo cognome voornaam achternaam fornamn efternamn fornavn etternavn efternavn imie nazwisko "
        "sobrenome patient_name person_name customer_name client_name employee_name student_name user_name username "
        "login initials",
    ),
    Meaning(
        "a way to reach a person",
        "identifier",
        "email e_mail mail mailadresse correo_electronico phone telephone telefon* telefono mobile mobil handy "
        "cell_phone cellphone fax portable_no gsm tel street street_address strasse str hausnummer "
        "house_number rue calle "
        "via_indirizzo address adresse anschrift direccion indirizzo adres adress endereco ip ip_address ipaddress "
        "mac_address device_id imei url website homepage facebook twitter instagram linkedin",
    ),
    Meaning(
        "an age",
        "quasi",
        "age ages alter edad eta leeftijd alder wiek idade lebensalter altersjahre age_group altersgruppe",
        nominal=False,
    ),
    Meaning(
        "a birth",
        "quasi",
        "dob yob birth birthdate birthday birthyear birthplace born geburts* geboren geboorte* naissance nacimiento "
        "nascita nascimento fodsels* fodelse* urodzenia urodzenie",
        nominal=False,
    ),
    Meaning(
        "a postal code",
        "quasi",
        "zip zipcode postcode postal postalcode plz postleitzahl code_postal codigo_postal codice_postale "
        "codice_avviamento_postale postnummer postnr kod_pocztowy cep psc",
    ),
    Meaning(
        "health",
        "sensitive",
        "diagnos* diagnostic disease* illness* sickness condition* icd symptom* comorbid* medication* medicine* drug* "
        "prescription* treatment* therap* surgery hiv aids std cancer tumor tumour pregnan* abortion disab* handicap* "
        "mental* psych* suicid* addict* alcohol* smok* genetic* genom* mutation* blood* lab_result "
        "test_result prognosis "
        "cause_of_death krankheit* erkrankung* befund* medikament* behandlung* behinderung* schwanger* todesursache "
        "maladie* traitement* medicament* grossesse enfermedad* tratamiento* embarazo malattia malattie "
        "farmac* terapia "
        "trattamento gravidanza ziekte* behandeling medicijn* sykdom* sygdom* sjukdom* choroba doenca* alergi* allerg*",
    ),
    Meaning(
        "money",
        "sensitive",
        "salary salaries salaryclass income incomes wage wages earnings pay payroll bonus debt debts loan "
        "loans credit* "
        "wealth capital net_worth gehalt einkommen lohn verdienst vermogen schulden salaire revenu* salario sueldo "
        "ingreso ingresos renta stipendio reddito loon inkomen lon inntekt indkomst zarobki rendimento benefits",
        nominal=False,
    ),
    Meaning(
        "a belief or conviction",
        "sensitive",
        "religion* religious relig faith confession denomination church konfession glaube* religione godsdienst "
        "politic* party partei parti partito partido vote voted votes voting ballot wahl* union gewerkschaft* syndicat "
        "sindacato sindicato ideology",
    ),
    Meaning(
        "sexual life",
        "sensitive",
        "sexual sexuality sexual_orientation orientation sexuelle* orientierung partners",
    ),
    Meaning(
        "crime",
        "sensitive",
        "crime* criminal* convict* offence* offense* offender* arrest* sentence* prison* jail straf* vorstrafe* delit* "
        "condamnation* antecedentes reato reati misdrijf",
    ),
    Meaning(
        "a sex or gender", "quasi", "sex gender geschlecht sexe sexo sesso geslacht kon kjonn kon plec genero genere"
    ),
    Meaning(
        "a race or ethnicity",
        "quasi",
        "race races ethnic* ethnie rasse raza razza etnia etnic* herkunft skin_color tribe caste",
    ),
    Meaning(
        "a nationality or language",
        "quasi",
        "nationality national* citizen* country countries nation land pays pais paese kraj origin "
        "staatsangehorig* migration* language langue sprache muttersprache idioma lingua taal mother_tongue",
    ),
    Meaning(
        "a place",
        "quasi",
        "city town village municipality county state province region district suburb borough parish precinct "
        "neighborhood "
        "neighbourhood census_tract tract place location residence domicile ort wohnort stadt gemeinde landkreis "
        "kreis bundesland kanton ville commune departement ciudad provincia municipio citta comune regione plaats "
        "gemeente woonplaats miasto wojewodztwo gmina kommune kommun fylke cidade estado hospital clinic ward "
        "krankenhaus klinik hopital ospedale ziekenhuis school university",
    ),
    Meaning(
        "a position on the map",
        "quasi",
        "lat latitude lon lng long longitude geo gps coordinates x_coord y_coord",
        nominal=False,
    ),
    Meaning(
        "a marital status",
        "quasi",
        "marital maritalstatus marriage civil_status civilstatus familienstand etat_civil situation_familiale "
        "estado_civil "
        "stato_civile burgerlijke_staat sivilstand civilstand stan_cywilny",
    ),
    Meaning(
        "an education",
        "quasi",
        "education* schooling degree qualification* bildung* ausbildung* schulabschluss abschluss diplome "
        "niveau_etude* educacion estudios istruzione titolo_di_studio opleiding utdanning uddannelse utbildning "
        "wyksztalcenie escolaridade",
    ),
    Meaning(
        "work",
        "quasi",
        "occupation* job jobs profession* employment employer employed workclass industry rank beruf* "
        "arbeitgeber metier "
        "emploi profesion ocupacion empleo professione occupazione lavoro beroep yrke erhverv zawod profissao military",
    ),
    Meaning(
        "a family or household",
        "quasi",
        "household* relationship family_size children kids siblings dependents dependants haushalt* kinder "
        "enfants hijos "
        "figli kinderen housing tenure",
        nominal=False,
    ),
    Meaning(
        "what can be seen",
        "quasi",
        "height body_height weight_kg bmi eye_color hair_color eye_colour hair_colour",
        nominal=False,
    ),
    Meaning(
        "a date",
        "quasi",
        "date datum fecha data_di year jahr annee admission discharge admitted discharged visit_date "
        "aufnahme* entlass* "
        "hire_date hired entry_date exit_date death deceased timestamp",
        nominal=False,
    ),
    Meaning("a name", "identifier", "name names nom nombre nome naam navn namn", weak=True),
    Meaning("a number of something", "identifier", "id ids nr no number nummer numero num key code guid", weak=True),
    Meaning(
        "remarks",
        "identifier",
        "comment* note notes remark* bemerkung* kommentar* anmerkung* remarque* observaciones freetext",
        weak=True,
    ),
)


def words_of(name: str) -> tuple[str, ...]:
    """Cut a column's name into plain words in lower case."""
    plain = unicodedata.normalize("NFKD", HUMP.sub(" ", name).replace("ß", "ss"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    letters = letters.replace("ø", "o").replace("Ø", "O").replace("ł", "l").replace("Ł", "L")
    return tuple(WORD.findall(letters.casefold()))


def meaning_of(name: str) -> Meaning | None:
    """Find what a column's name says it is about; None where it says nothing that is known."""
    words = words_of(name)
    spaced, joined = f"_{'_'.join(words)}_", "".join(words)
    for meaning in MEANINGS:
        if any(_stands_in(phrase, spaced, joined) for phrase in meaning.phrases):
            return meaning
    return None


def _stands_in(phrase: str, spaced: str, joined: str) -> bool:
    if phrase.endswith("*"):
        return f"_{phrase[:-1]}" in spaced
    return f"_{phrase}_" in spaced or phrase.replace("_", "") == joined
