"""JSON values and call records → a structure-closure suite of one's own (docs/closure.md).

`texts` writes each structure, `cuts` says where it may be cut, `suite` puts rows and inventory together.
"""
