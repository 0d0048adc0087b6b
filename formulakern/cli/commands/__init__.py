"""The commands of the command line, one file each: ``add`` gives it its parser."""
