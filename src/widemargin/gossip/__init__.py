"""Gossip training: sites that cannot pool their rows agree on one model with their neighbours."""

from .averaging import average
from .faults import NetworkFaults
from .methods import Consensus, Gadget, PrintedGadget, Tracking
from .privacy import PrivacyAccount
from .private import PrivateDescent
from .simulation import Simulation, Stopping, Talking
from .topology import Topology, graph_of

__all__ = [
    "Consensus",
    "Gadget",
    "NetworkFaults",
    "PrintedGadget",
    "PrivacyAccount",
    "PrivateDescent",
    "Simulation",
    "Stopping",
    "Talking",
    "Topology",
    "Tracking",
    "average",
    "graph_of",
]
