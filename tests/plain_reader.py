"""The better reader written a second time, record by record, from its definition; the kernels must agree with it."""

import math
from collections import defaultdict

import plain_releases as plain


class Plain:
    """The records of a release as an adversary knows them, and what is dealt to each: one row of shares per record."""

    def __init__(self, release, attribute):
        cells, assignment = release.cells, release.assignment
        entries = zip(assignment.cell.tolist(), assignment.group.tolist(), assignment.count.tolist(), strict=True)
        self.people = [(group, tuple(cells.codes[c].tolist())) for c, group, count in entries for _ in range(count)]
        _, members = plain.published_records(release)
        self.size = cells.sensitive[attribute].size
        self.histograms = {g: plain.histogram(values, attribute, self.size) for g, values in members.items()}
        self.totals = [sum(own[s] for own in self.histograms.values()) for s in range(self.size)]
        self.attributes = range(len(cells.quasi))
        self.usual = [defaultdict(float) for _ in self.attributes]
        for _, codes in self.people:
            for a in self.attributes:
                self.usual[a][codes[a]] += 1 / len(self.people)

    def uniform(self):
        """Everybody has the shares of the group."""
        sizes = {group: sum(own) for group, own in self.histograms.items()}
        return [[n / sizes[group] for n in self.histograms[group]] for group, _ in self.people]

    def model(self, dealt):
        """P(leaf | value), with one record more of every value that is spread as all records are."""
        found = [[defaultdict(float) for _ in range(self.size)] for _ in self.attributes]
        for a in self.attributes:
            for s in range(self.size):
                for (_, codes), shares in zip(self.people, dealt, strict=True):
                    found[a][s][codes[a]] += shares[s] / (self.totals[s] + 1)
                for leaf, share in self.usual[a].items():
                    found[a][s][leaf] += share / (self.totals[s] + 1)
        return found

    def likelihoods(self, model):
        """Of every person the probability of the quasi-identifiers under each value."""
        return [
            [math.prod(model[a][s][codes[a]] for a in self.attributes) for s in range(self.size)]
            for _, codes in self.people
        ]

    def deal(self, model):
        """Scale rows and columns of every group in turn, until nothing changes."""
        dealt = self.likelihoods(model)
        for group, histogram in self.histograms.items():
            own = [i for i, (other, _) in enumerate(self.people) if other == group]
            for _ in range(3000):
                moved = 0.0
                for s, count in enumerate(histogram):
                    reached = sum(dealt[i][s] for i in own)
                    for i in own:
                        dealt[i][s] *= count / reached if reached else 0.0
                for i in own:
                    reached = sum(dealt[i])
                    moved = max(moved, abs(reached - 1))
                    dealt[i] = [share / reached for share in dealt[i]]
                if moved < 1e-10:
                    break
        return dealt

    def rounds(self, number):
        """What is dealt after so many rounds."""
        dealt = self.uniform()
        for _ in range(number):
            dealt = self.deal(self.model(dealt))
        return dealt

    def divergence(self, dealt):
        """How far what is dealt is from its own model, less what the smoothing record adds: what rounds make small."""
        model = self.model(dealt)
        likely = self.likelihoods(model)
        total = sum(
            share * (math.log(share) - math.log(likely[i][s]))
            for i, shares in enumerate(dealt)
            for s, share in enumerate(shares)
            if share > 1e-300
        )
        for a in self.attributes:
            for s in range(self.size):
                total -= sum(share * math.log(model[a][s][leaf]) for leaf, share in self.usual[a].items())
        return total


def box_weights(release, attribute, rounds):
    """Per quasi-identifier and value the weight of every leaf, and after every round the smoothed log-likelihood."""
    published, members = plain.published_records(release)
    size, quasi = release.cells.sensitive[attribute].size, release.cells.quasi
    counts = {group: plain.histogram(values, attribute, size) for group, values in members.items()}
    boxes = {(own.lo, own.hi, own.group) for own in published}
    people = {box: sum(own == plain.Published(*box) for own in published) for box in boxes}
    content = {box: [people[box] * n / sum(counts[box[2]]) for n in counts[box[2]]] for box in boxes}
    totals = [sum(own[s] for own in content.values()) for s in range(size)]
    found, told = [], [0.0] * (rounds + 1)
    for a, own in enumerate(quasi):
        weights, usual = [list(own.hierarchy.widths) for _ in range(size)], None
        for number in range(rounds):
            spread = [[0.0] * own.hierarchy.size for _ in range(size)]
            for (lo, hi, _), inside in content.items():
                for s in range(size):
                    whole = sum(weights[s][lo[a] : hi[a] + 1])
                    for leaf in range(lo[a], hi[a] + 1):
                        spread[s][leaf] += inside[s] * weights[s][leaf] / whole
            usual = usual or [sum(column) / sum(totals) for column in zip(*spread, strict=True)]
            weights = [[(n + u) / (totals[s] + 1) for n, u in zip(spread[s], usual, strict=True)] for s in range(size)]
            for s in range(size):
                for (lo, hi, _), inside in content.items():
                    told[number + 1] += inside[s] * math.log(sum(weights[s][lo[a] : hi[a] + 1]))
                told[number + 1] += sum(u * math.log(w) for u, w in zip(usual, weights[s], strict=True) if u)
        found.append(weights)
    return found, told[1:], content
