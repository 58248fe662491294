"""Gossip training: sites that cannot pool their rows agree on one model with their neighbours."""

from .averaging import average
from .faults import NetworkFaults
from .graph_parameter import graph_of
from .methods import Consensus, Gadget, PrintedGadget, Tracking
from .privacy import PrivacyAccount
from .private import PrivateDescent
from .simulation import Simulation, Stopping, Talking
from .topology import Topology

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
