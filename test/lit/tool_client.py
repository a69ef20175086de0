"""Has `tool_server.py` run a tool with this process's arguments, folder and open files."""

import array
import json
import os
import socket
import sys

server, module, *arguments = sys.argv[1:]
command = {
    "module": module,
    "arguments": arguments,
    "folder": os.getcwd(),
    "environment": dict(os.environ),
}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect("\0" + server)
    text = json.dumps(command).encode() + b"\n"
    files = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))
    sent = connection.sendmsg([text], [files])
    connection.sendall(text[sent:])
    status = int(connection.recv(16) or b"1")
if status < 0:
    os.kill(os.getpid(), -status)
sys.exit(status)
