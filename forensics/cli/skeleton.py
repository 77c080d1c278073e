"""The rule that `rules new` starts from: it loads and proves itself before a word of it is changed."""

from __future__ import annotations


def skeleton(identity: str) -> str:
    """Return a rule file for a cause, its keys explained where they stand."""
    message = f"{identity.partition('.')[2].replace('-', ' ')} (replace this by what the program prints)"
    return TEMPLATE.replace("@ID@", identity).replace("@MESSAGE@", message).replace("@PATTERN@", _literal(message))


def _literal(message: str) -> str:
    return message.replace("(", r"\(").replace(")", r"\)")


TEMPLATE = r"""# @ID@: the id is the path, so moving the file renames the cause.
# The format is described in docs/rules.md; `dflash-forensics rules test @ID@ --rules DIR` runs the cases.

title = 'One line for the head of a report, without a full stop'
severity = 'error'      # error: the run ended or its result is wrong; warning: it cost speed or quality; info
confidence = 'medium'   # high: the message can mean nothing else; medium; low
restart = 'maybe'       # no: the same thing happens again; maybe; yes: it was a matter of luck
why = '''
What happens in the machine, in two or three sentences: who does what, why it fails, and why the
message looks the way it does.
'''
references = []         # where the wording or the mechanism is documented
explains = []           # ids (or 'comm.*') of what follows from this cause and must not be called the root

# Captures of the patterns, and what they are: str int float size kib hex ms s list path signal bool count.
# A capture that is not listed here is refused.
[facts]
missing_path = 'path'

# One way to recognise the cause. Repeat [[signal]] for each further one; any of them is enough.
[[signal]]
speaker = ['output', 'log']  # who says it: exception, kernel, nccl, ...; these two are lines nobody else claims
# kind = []             # what it is in that speaker's vocabulary
# level = []            # error, warning, ...
# source = []           # kinds of file to look in
pattern = '@PATTERN@(?:: (?P<missing_path>\S+))?'
# frames = ''           # searched in the traceback of an exception
# unless = ''           # must not match
# where = ['requested_bytes > total_bytes']  # all must hold; an absent fact makes one fail
# role = 'cause'        # or consequence, or note

[[fix]]
id = 'change-it'        # the name of the fix in reports
title = 'What to change, as an order: {missing_path}'
detail = 'How, and what it costs. Facts stand in braces.'
safe = false            # true only where the change cannot alter the result of the training
# env = { NAME = 'value' }
# args = { '--flag' = 'value' }

# Cases stand last. At least one that fires and one look-alike that must stay silent; one for each
# wording the program has had, with the version that prints it.
[[case]]
name = 'the plain message'
fires = true
version = ''
log = '''
step 1 loss 2.0
@MESSAGE@: /data/shard-7
'''

[[case]]
name = 'a look-alike'
fires = false
log = '''
step 1 loss 2.0
step 2 loss 1.9
'''
"""
