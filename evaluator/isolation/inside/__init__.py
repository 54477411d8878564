"""What runs in the supervisor of one command. What is slow to import (typing, json, signal) has no place here."""
