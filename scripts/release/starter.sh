#!/bin/sh
# Starts the program beside this file with the Node of the package @monitor/node, when that is installed
# beside it, else with the node of PATH. The shell is replaced: there is one process, which gets the signals.
if command -v readlink >/dev/null; then
  self=$(readlink -f "$0")
else
  self=$(node -p 'fs.realpathSync(process.argv[1])' "$0")
fi
here=${self%/*}
for node in "$here"/../node/node_modules/node-linux-*/bin/node "$here"/../../node-linux-*/bin/node; do
  if [ -x "$node" ]; then exec "$node" "$self.js" "$@"; fi
done
exec node "$self.js" "$@"
