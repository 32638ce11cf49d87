"""Are back pain (M54) and asthma (J45) as common among women as among men?"""

from math import sqrt


def share(visits, code):
    """Return the share of a diagnosis with its interval of 95 %."""
    p, n = (visits["diagnosis"] == code).mean(), len(visits)
    half = 1.96 * sqrt(p * (1 - p) / n)
    return p, p - half, p + half


def analysis(visits):
    """Return the findings: names and numbers, or (estimate, low, high)."""
    return {
        f"{code} among {sex}": share(of_sex, code) for sex, of_sex in visits.groupby("sex") for code in ("M54", "J45")
    }
