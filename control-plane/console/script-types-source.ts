/** `script-types.js` as it is served. Kept until what it is derived from changes, since that takes seconds. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const root = join(import.meta.dirname, '..', '..');
const program = join(import.meta.dirname, 'derive-script-types.ts');

function hashOfInputs(): string {
  const packages = ['@playwright/test', 'typescript'].map(
    (name) => `node_modules/${name}/package.json`,
  );
  const [newest = ''] = readdirSync(join(root, 'agent/runtimes/locks')).toSorted().toReversed();
  const hash = createHash('sha256').update(readFileSync(program));
  for (const file of [
    ...packages,
    `agent/runtimes/locks/${newest}/package.json`,
    'agent/script-host/request-scripts/messages.ts',
  ]) {
    hash.update(readFileSync(join(root, file)));
  }
  return hash.digest('hex').slice(0, 12);
}

/** Derived by a process of its own, as nothing else would run meanwhile. */
export async function scriptTypesSource(): Promise<string> {
  const kept = join(root, 'node_modules', '.cache', `script-types-${hashOfInputs()}.js`);
  if (!existsSync(kept)) {
    const { stdout } = await promisify(execFile)(process.execPath, [program], {
      maxBuffer: 16 * 1_048_576,
    });
    const part = `${kept}.${process.pid}`;
    mkdirSync(dirname(kept), { recursive: true });
    writeFileSync(part, stdout);
    renameSync(part, kept);
  }
  return readFileSync(kept, 'utf8');
}
