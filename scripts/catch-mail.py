"""Takes a message as `sendmail -t` does and keeps it in a folder: whom it is for, its subject and its text."""

import email
import email.policy
import json
import pathlib
import secrets
import sys
import time

message = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
if message.defects:
    sys.exit(f"the message is damaged: {message.defects}")
folder = pathlib.Path(sys.argv[1])
folder.mkdir(exist_ok=True)
kept = {
    "to": [address.addr_spec for address in message["To"].addresses],
    "subject": message["Subject"],
    "text": message.get_content(),
}
name = f"{time.time_ns():020}-{secrets.token_hex(4)}"
# It is there whole, or not at all.
(folder / name).write_text(json.dumps(kept))
(folder / name).rename(folder / f"{name}.json")
