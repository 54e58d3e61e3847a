"""Any number of states: bounds from zones, brought together by branch and bound."""
