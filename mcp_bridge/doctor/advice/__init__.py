"""Causes and fixes of failures, in English and Chinese."""

from .advice import Advice as Advice
from .catalogue import ADVICE as ADVICE
