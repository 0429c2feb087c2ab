import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { sheddingRightsOfInstallations } from '../../../agent/system/shed-rights.ts';

const fileOf = (name: string) => new URL(`../../../agent/runtimes/${name}`, import.meta.url).href;
const user = 10_001;

const program = `
const { runNpm } = await import(${JSON.stringify(fileOf('npm.ts'))});
const { verifyRuntime } = await import(${JSON.stringify(fileOf('verify-runtime.ts'))});
const [folder] = process.argv.slice(1);
const environment = { PATH: folder + '/bin:' + process.env.PATH };
await runNpm({ args: ['ci'], folder, environment, onFetched() {} });
const { failures } = await verifyRuntime({ id: 'x', folder, now: () => 0, packages: { curious: '1.0.0' } });
console.log(failures.map(({ error }) => error).join());
const missing = { PATH: folder };
await runNpm({ args: ['ci'], folder, environment: missing, onFetched() {} }).catch(({ message }) => console.log(message));
const { readFileSync } = await import('node:fs');
console.log(readFileSync(folder + '/status', 'latin1'), readFileSync('/proc/self/status', 'latin1'));
`;

const skip = process.getuid?.() === 0 ? false : 'only root can give capabilities';

test(
  'npm and the packages it brings have no right of an agent with NET_RAW',
  { skip },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rights-'));
    try {
      const packageFolder = join(folder, 'node_modules', 'curious');
      for (const each of ['bin', 'node_modules/.bin', 'node_modules/curious'])
        mkdirSync(join(folder, each), { recursive: true });
      writeFileSync(join(folder, 'bin', 'npm'), '#!/bin/sh\ncat /proc/self/status > status\n');
      chmodSync(join(folder, 'bin', 'npm'), 0o755);
      symlinkSync(process.execPath, join(folder, 'node_modules', '.bin', 'node'));
      writeFileSync(join(packageFolder, 'package.json'), '{"name":"curious","version":"1.0.0"}');
      writeFileSync(
        join(packageFolder, 'index.js'),
        "throw new Error(/CapEff:\\t\\w+/.exec(require('fs').readFileSync('/proc/self/status', 'latin1'))[0]);",
      );
      for (const each of ['', 'bin', 'node_modules']) chownSync(join(folder, each), user, user);
      chmodSync(folder, 0o755);
      const rights = ['--inh-caps', '+net_raw', '--ambient-caps', '+net_raw'];
      const as = ['--reuid', String(user), '--regid', String(user), '--clear-groups', ...rights];
      const words = [process.execPath, '--input-type=module', '-e', program, folder];
      const { stdout } = await promisify(execFile)('setpriv', [...as, ...words]);
      assert.match(stdout, /npm is not on the PATH/);
      const effective = [...stdout.matchAll(/CapEff:\t(\w+)/g)].map(([, bits]) => bits);
      const none = '0000000000000000';
      assert.deepEqual(
        effective,
        [none, none, '0000000000002000'],
        'of a package, of npm, of the agent',
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test('root keeps its rights: without them it cannot write the folders of others', { skip }, () => {
  assert.deepEqual(sheddingRightsOfInstallations('/usr/bin/setpriv'), []);
});
