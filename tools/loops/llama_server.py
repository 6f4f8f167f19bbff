"""Run llama.cpp's server, as built in the package xllamacpp.

python llama_server.py FILE PORT
"""

import sys
import time

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path, parameters.port = sys.argv[1], int(sys.argv[2])
parameters.n_ctx = 4096
server = xllamacpp.Server(parameters)
while True:
    time.sleep(60)
