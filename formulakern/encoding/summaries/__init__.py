"""What each column of a table holds, added up over parts: values, and how often they occur."""
