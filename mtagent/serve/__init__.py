"""An improved MT system as a web service, behind the interfaces that translation tools speak."""
