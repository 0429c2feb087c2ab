#!/bin/sh
// 2>/dev/null; exec node -- "$0" "$@"
// Without the dashes, Node takes --env-file for an option of its own: its variables would be settings.
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

/** The file of this installation that cannot be read as a program; null where all can. */
async function damagedFile() {
  const { readFileSync, readdirSync } = await import('node:fs');
  const { stripTypeScriptTypes } = await import('node:module');
  const { spawnSync } = await import('node:child_process');
  const { dirname, join } = await import('node:path');
  const { fileURLToPath } = await import('node:url');
  const folder = dirname(fileURLToPath(import.meta.url));
  const isProgram = (name) =>
    /\.[cm]?[jt]s$/.test(name) && !/(^|[/\\])node_modules[/\\]/.test(name);
  const files = readdirSync(folder, { recursive: true }).map(String).filter(isProgram);
  const isWhole = (file) => {
    if (!file.endsWith('.ts')) return spawnSync(process.execPath, ['--check', file]).status === 0;
    try {
      return stripTypeScriptTypes(readFileSync(file, 'utf8')) !== '';
    } catch {
      return false;
    }
  };
  return files.map((name) => join(folder, name)).find((file) => !isWhole(file)) ?? null;
}

/** What goes wrong while modules are loaded is the installation; JSON of users is read by other code. */
function isOfInstallation(error) {
  const { code = '', name, stack = '' } = error ?? {};
  const ofModules =
    /^ERR_(MODULE_NOT_FOUND|DLOPEN_FAILED|INVALID_PACKAGE_CONFIG|INVALID_TYPESCRIPT_SYNTAX)$/;
  return (
    ofModules.test(code) ||
    (name === 'SyntaxError' && /node:internal\/(modules|vm)|ModuleJob/.test(stack))
  );
}

try {
  await import('./main.ts');
} catch (error) {
  if (!isOfInstallation(error)) throw error;
  const file = error.code === 'ERR_MODULE_NOT_FOUND' ? null : await damagedFile();
  process.stderr.write(
    `a file of this installation is damaged or missing: ${file === null ? '' : `${file}: `}${error.message}\n` +
      'Install monitor-agent again.\n',
  );
  process.exit(70);
}
