"""Has `tool_server.py` run a tool with this process's arguments, folder and open files.

It imports only C modules and what Python itself needs to start: `socket` and `json` take longer
than all else that this program does.
"""

import _socket
import os
import sys

server, module, *arguments = sys.argv[1:]
command = (module, arguments, os.getcwd(), dict(os.environ))
text = repr(command).encode() + b"\n"
files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2))
connection = _socket.socket(_socket.AF_UNIX)
connection.connect("\0" + server)
sent = connection.sendmsg([text], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
if sent < len(text):  # sending nothing would fail once the server has answered and gone
    connection.sendall(text[sent:])
status = connection.recv(16)
if not status:
    os.abort()
sys.exit(int(status))
