#!/bin/sh
// 2>/dev/null; exec node -- "$0" "$@"
// Without the dashes, Node takes --env-file for an option of its own: its variables would be settings.
// Plain JavaScript: an older Node can then report the required version instead of a syntax error.
const needed = 24;
const major = Number(process.versions.node.split('.')[0]);
if (major < needed) {
  process.stderr.write(
    `control-plane needs Node ${needed} or newer; this is ${process.versions.node} (${process.execPath}).\n` +
      'On Linux, install the package @monitor/node beside it, as docs/install.md shows; inside the\n' +
      'repository, run the one in node_modules/.bin with that folder first in the PATH.\n',
  );
  process.exit(2);
}
await import('./main.ts');
