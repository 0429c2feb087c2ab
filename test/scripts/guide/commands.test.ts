// Own process: it starts many programs.
/**
 * Every command of the guide that can run on a machine with Node, npm, git, curl and jq runs here, but those that
 * install the packages: `npm run stranger` runs these.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import test, { after, before, describe } from 'node:test';
import {
  guideBlocks,
  installPage,
  shellTextOf,
  type Block,
} from '../../../scripts/guide/blocks.ts';
import { Operator } from '../../support/control-plane-command.ts';
import { fillKumaDatabase, makeKumaDatabase } from '../../support/kuma-database.ts';
import { freePort, Program, surroundings } from '../../../proof/program.ts';
import { agentProgram, controlPlaneProgram } from '../../support/programs.ts';
import { inLongTier } from '../../support/random.ts';
import { httpServer, type TestServer } from '../../support/servers.ts';
import { temporaryFolder } from '../../support/system.ts';

const pages = Map.groupBy(
  guideBlocks().filter(
    ({ page, language, how }) =>
      page !== installPage && ((language === 'sh' && how !== 'not-run') || language === 'ts'),
  ),
  ({ page }) => page,
);
/**
 * Those that need what no other page needs. The short tier plays them; `blocks.test.ts` holds commands, options and calls
 * of all pages against what there is, and the tests of each command do what it does.
 */
const ofShortTier = new Set(
  ['first-monitor', 'api', 'as-code', 'backup', 'deploy', 'encryption', 'keys', 'moving-csv'].map(
    (name) => `${name}.md`,
  ),
);
/** Pages whose commands are for a control plane that is stopped, or that start one themselves. */
const startsItself = (blocks: readonly Block[]): boolean =>
  blocks.some(({ how, text }) => how === 'background' && text.includes('control-plane serve'));
const needsServe = (blocks: readonly Block[]): boolean =>
  !startsItself(blocks) && blocks.some(({ text }) => /\$(URL|KEY)\b|--yes$/m.test(text));

const missing = ['bash', 'curl', 'jq'].filter(
  (program) => spawnSync('which', [program]).status !== 0,
);

let website: TestServer;
/** What a control plane has with one key: each page begins with a copy. */
const prepared = temporaryFolder();
let key = '';
before(async () => {
  const create = ['keys', 'create', '--name', 'guide'];
  ({ rawKey: key } = await new Operator(prepared.path).json<{ rawKey: string }>(...create));
  website = await httpServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end('<h1>Shop</h1>ok');
  });
});
after(() => {
  prepared[Symbol.dispose]();
  return website[Symbol.asyncDispose]();
});

/** A file that a page speaks of, from a block of TypeScript that begins with its name. */
function writeFiles(folder: string, blocks: readonly Block[]): void {
  for (const { language, text } of blocks) {
    const name = language === 'ts' ? /^\/\/ (\S+)\n/.exec(text)?.[1] : undefined;
    if (name !== undefined) writeFileSync(join(folder, name), text);
  }
}

/** What readers have of other products. */
function writeSources(folder: string): void {
  const database = makeKumaDatabase(join(folder, 'kuma.db'), '2.5.3');
  fillKumaDatabase(database, '2.5.3');
  database.close();
  const fixtures = 'test/fixtures/movers';
  cpSync(`${fixtures}/gatus-folder`, join(folder, 'gatus'), { recursive: true });
  cpSync(`${fixtures}/blackbox`, join(folder, 'prometheus'), { recursive: true });
  cpSync(`${fixtures}/openstatus/openstatus.yaml`, join(folder, 'openstatus.yaml'));
}

function installPrograms(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, program] of [
    ['monitor-agent', agentProgram],
    ['control-plane', controlPlaneProgram],
  ] as const) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\nexec '${process.execPath}' '${resolve(program)}' "$@"\n`,
    );
    chmodSync(join(bin, name), 0o755);
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return bin;
}

/** The commands of a page as one script. What runs beside the rest ends with it. */
function scriptOf(blocks: readonly Block[], port: number): string {
  const lines = blocks
    .filter(({ language }) => language === 'sh')
    .map(
      (block) =>
        `echo "== line ${block.line}"\n${shellTextOf(block, `background-${block.line}.log`)}`,
    );
  return ['set -eu -o pipefail', ...lines]
    .join('\n')
    .replaceAll('127.0.0.1:3000', `127.0.0.1:${port}`)
    .replaceAll(/https:\/\/hooks\.slack\.com/g, website.url)
    .replaceAll('https://example.com', website.url);
}

/** What "your first monitor" leaves: a location and a monitor. */
async function makeFirst(url: string, key: string): Promise<void> {
  const post = async (path: string, body: object): Promise<void> => {
    const response = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(response.status, 201, await response.text());
  };
  await post('/v1/private-locations', { name: 'Office', slugName: 'office' });
  await post('/v1/checks/url', { name: 'First', frequency: 10, request: { url: website.url } });
}

async function runPage(page: string, blocks: readonly Block[], signal: AbortSignal): Promise<void> {
  using folder = temporaryFolder();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const settings = {
    PORT: String(port),
    PUBLIC_URL: url,
    OUTGOING_ALLOWED_NETWORKS: '127.0.0.1',
    CHECK_RESPONSES: 'true',
  };
  const operator = new Operator(folder.path, settings);
  await using stack = new AsyncDisposableStack();
  if (!startsItself(blocks)) cpSync(prepared.path, folder.path, { recursive: true });
  if (needsServe(blocks)) {
    const serve = new Program([controlPlaneProgram, 'serve'], {
      ...settings,
      DATABASE_FILE: operator.database,
      REQUESTS_PER_MINUTE: '0',
    });
    stack.use(serve);
    await serve.log('serving');
    if (page !== 'api.md') await makeFirst(url, key);
  }
  const { PATH = '', ...others } = surroundings();
  const bin = installPrograms(folder.path);
  writeFiles(folder.path, blocks);
  if (page.startsWith('moving')) writeSources(folder.path);
  const child = spawn('bash', ['-c', scriptOf(blocks, port)], {
    cwd: folder.path,
    detached: true,
    env: {
      ...others,
      ...settings,
      PATH: `${bin}:${PATH}`,
      HOME: folder.path,
      DATABASE_FILE: operator.database,
      REQUESTS_PER_MINUTE: '0',
      URL: url,
      ...(startsItself(blocks) ? {} : { KEY: key, CONTROL_PLANE_API_KEY: key }),
      CONTROL_PLANE_URL: url,
      AGENT_HEALTH_PORT: '0',
      AGENT_DATA_DIR: join(folder.path, 'agent'),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { pid } = child;
  assert.ok(pid !== undefined, 'bash did not start');
  signal.addEventListener('abort', () => {
    endGroup(pid);
  });
  let said = '';
  child.stdout.on('data', (chunk) => (said += String(chunk)));
  child.stderr.on('data', (chunk) => (said += String(chunk)));
  const closed = once(child, 'close');
  const [code] = (await once(child, 'exit')) as [number | null];
  // What it started beside itself has its group.
  endGroup(pid);
  await closed;
  assert.equal(code, 0, `docs/${page} failed:\n${said.slice(-3000)}`);
}

function endGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // Nothing of it is left.
  }
}

describe('the commands of the guide', { concurrency: 2 }, () => {
  for (const [page, blocks] of pages) {
    test(
      `docs/${page} does what it says, command by command`,
      missing.length > 0
        ? { skip: `it needs ${missing.join(', ')}` }
        : ofShortTier.has(page)
          ? {}
          : inLongTier,
      ({ signal }) => runPage(page, blocks, signal),
    );
  }
});
