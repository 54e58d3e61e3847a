"""The data path around one noun: a release, built anew from reports and public columns."""
