"""What we say of a release."""
# mypy: implicit-reexport

from sfumato.measures.adversary import group_gains
from sfumato.measures.all_measures import MEASURES, READ_NOISY, RECONSTRUCTED
from sfumato.measures.attack import Attack
from sfumato.measures.attacks.attacks import Attacks, Remake
from sfumato.measures.attacks.declared import ATTACK_MEASURES
from sfumato.measures.classification.classification import Classification, ClassificationTask, Learned
from sfumato.measures.classification.worth import Worth
from sfumato.measures.declaration import Measure
from sfumato.measures.definetti import definetti
from sfumato.measures.fidelity.fidelity import Fidelity
from sfumato.measures.fidelity.measures import FIDELITY
from sfumato.measures.groups import Measured, measure
from sfumato.measures.published import published_risks
from sfumato.measures.queries import CLOSED_HALF_RANGES, HALF_RANGES, Queries
from sfumato.measures.reconstruction import READERS, EmReader, Reader, UniformReader
from sfumato.measures.scales import Prepared, Scales
