/** The runtime of last resort: the packages that the agent itself came with. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import type { InstalledRuntime } from './installed-runtime.ts';

export const builtinId = 'builtin';

const packageNames = ['playwright', '@playwright/test'] as const;

interface Found {
  folder: string;
  version: string;
}

function find(name: string, from: string): Found | null {
  try {
    const manifest = createRequire(from).resolve(`${name}/package.json`);
    const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { version: string };
    return { folder: dirname(manifest), version };
  } catch {
    return null;
  }
}

/**
 * Playwright as it was installed with the agent, on the agent's own Node; null where it was not, as
 * in the image for uptime monitors. `from` is a file whose packages are looked at.
 */
export function builtinRuntime(from: string = import.meta.filename): InstalledRuntime | null {
  const packages: Record<string, string> = {};
  let folder: string | null = null;
  for (const name of packageNames) {
    const found = find(name, from);
    if (found === null) return null;
    packages[name] = found.version;
    folder ??= dirname(dirname(found.folder));
  }
  if (folder === null) return null;
  return { id: builtinId, folder, nodePath: process.execPath, packages };
}
