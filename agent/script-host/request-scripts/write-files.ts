/** The files of a run of request scripts, in its workspace. */
import { readFile } from 'node:fs/promises';
import type { NamedScript } from '@monitor/shared/contract/agent-protocol.ts';
import type { Workspace } from '../script-host.ts';

export const childFile = 'run/child.cjs';

let child: Promise<string> | undefined;

function childProgram(): Promise<string> {
  child ??= readFile(new URL('child.cjs', import.meta.url), 'utf8');
  return child;
}

/** A plain file name: a snippet may be called anything, a file may not. */
const plainName = /^(?!\.)[^/\\\0]{1,200}$/;

export interface RequestScriptFiles {
  setup: readonly NamedScript[];
  teardown: readonly NamedScript[];
  snippets: readonly NamedScript[];
}

/** The script is on the first line, so that line numbers are those of its author. */
function asFunctionBody(source: string): string {
  return `module.exports = async function () {${source.replace(/^#!/, '//')}\n};\n`;
}

/** Writes all files; gives the names of snippets that no file can have. */
export async function writeScriptFiles(
  workspace: Workspace,
  { setup, teardown, snippets }: RequestScriptFiles,
): Promise<string[]> {
  await workspace.write(childFile, await childProgram());
  for (const [phase, scripts] of Object.entries({ setup, teardown })) {
    for (const [index, { source }] of scripts.entries()) {
      await workspace.write(`${phase}-${index}.js`, asFunctionBody(source));
      await workspace.write(`${phase}-${index}.mjs`, source);
    }
  }
  const refused: string[] = [];
  for (const { name, source } of snippets) {
    const file = name.endsWith('.js') ? name : `${name}.js`;
    if (plainName.test(name)) await workspace.write(`snippets/${file}`, source);
    else refused.push(name);
  }
  return refused;
}
