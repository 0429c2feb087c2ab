// Own process: it starts browsers.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { inLongTier } from '../../support/random.ts';

const rootFolder = join(import.meta.dirname, '..', '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'packaged-'));
chmodSync(folder, 0o755);
after(() => {
  rmSync(folder, { recursive: true });
});
const unpackFolder = join(folder, `monitor-agent-chromium-${process.getuid?.() ?? 0}`);

/** Finds a browser as another agent on this machine would, where temporary files go into `folder`. */
async function findAsAnAgent(): Promise<string> {
  const module = join(rootFolder, 'agent', 'browsers', 'find-browser.ts');
  const script =
    `const { findBrowser } = await import(${JSON.stringify(module)});` +
    `const found = await findBrowser({ packagesFolder: ${JSON.stringify(rootFolder)}, searchPath: '' });` +
    'console.log(found.executablePath);';
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--input-type=module', '--eval', script],
    { env: { PATH: process.env['PATH'], HOME: folder, TMPDIR: folder } },
  );
  return stdout.trim();
}

const unpackedHere = (): string[] => readdirSync(unpackFolder).filter((name) => name !== '.lock');

test('agents that start at once unpack the browser one after the other, and all get a whole one', async () => {
  const found = await Promise.all([findAsAnAgent(), findAsAnAgent(), findAsAnAgent()]);
  assert.equal(new Set(found).size, 1);
  assert.ok(found[0]?.startsWith(unpackFolder));
  assert.deepEqual(unpackedHere(), [dirname(found[0] ?? '').slice(unpackFolder.length + 1)]);
});

test(
  'an agent of root does not unpack to where the users of its runs cannot enter',
  { skip: process.getuid?.() === 0 ? false : 'only runs of an agent of root have other users' },
  async () => {
    chmodSync(folder, 0o700);
    try {
      const path = await findAsAnAgent();
      assert.ok(!path.startsWith(folder), path);
      for (let each = path; each !== '/'; each = dirname(each)) {
        assert.ok((statSync(each).mode & 0o001) !== 0, each);
      }
    } finally {
      chmodSync(folder, 0o755);
    }
  },
);

test('what is whole is not unpacked again, and what was cut off is', async () => {
  const path = await findAsAnAgent();
  const { ino: before, size: whole } = statSync(path);
  assert.equal(await findAsAnAgent(), path);
  assert.equal(statSync(path).ino, before);
  const left = `${dirname(path)}.partial-killed`;
  mkdirSync(left);
  writeFileSync(join(left, 'chromium'), 'half of it');
  truncateSync(path, 1_000_000);
  assert.equal(await findAsAnAgent(), path);
  assert.equal(statSync(path).size, whole);
  assert.equal(existsSync(left), false, 'what an interrupted unpacking left is removed');
});

test('a browser whose fonts were deleted is unpacked again', inLongTier, async () => {
  const path = await findAsAnAgent();
  rmSync(join(dirname(path), 'fonts'), { recursive: true });
  assert.equal(await findAsAnAgent(), path);
  assert.ok(existsSync(join(dirname(path), 'fonts', 'fonts.conf')));
});

test('a browser that does not start since its bytes have changed is unpacked again', async () => {
  const path = await findAsAnAgent();
  const file = openSync(path, 'r+');
  const half = statSync(path).size / 2;
  // Instructions that end a program, from its middle on.
  writeSync(file, Buffer.alloc(half, 0xcc), 0, half, half);
  closeSync(file);
  assert.equal(await findAsAnAgent(), path);
});

test('doctor sees an empty page in it', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(rootFolder, 'agent', 'monitor-agent.js'), 'doctor', '--only', 'browser', '--json'],
    {
      env: {
        ...{ PATH: process.env['PATH'], HOME: folder, TMPDIR: folder },
        ...{ AGENT_DATA_DIR: join(folder, 'data'), API_KEY: 'pl_0123456789abcdef0123' },
      },
    },
  );
  assert.match(stdout, /version \d+[\d.]+, starts/);
});

test('a browser that cannot be unpacked says why', async () => {
  rmSync(unpackFolder, { recursive: true });
  writeFileSync(unpackFolder, 'not a folder');
  await assert.rejects(findAsAnAgent(), (error: Error & { stderr: string }) => {
    assert.match(error.stderr, /@sparticuz\/chromium: .*monitor-agent-chromium/);
    return true;
  });
});
