#!/usr/bin/env node
// Plain JavaScript, so that an older Node can say what is wrong instead of failing on the syntax.
const needed = 24;
const major = Number(process.versions.node.split('.')[0]);
if (major < needed) {
  process.stderr.write(
    `monitor-agent needs Node ${needed} or newer; this is ${process.versions.node} (${process.execPath}).\n` +
      'On Linux, install the package @monitor/node beside it, as docs/install.md shows; inside the\n' +
      'repository, run the one in node_modules/.bin with that folder first in the PATH.\n',
  );
  process.exit(2);
}
await import('./main.ts');
