// Few share a process: it starts programs.
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import test from 'node:test';
import { callApi, type ApiCall } from '../../../proof/api.ts';
import { findProgram, programs } from '../../../proof/find-program.ts';
import { freePort, Program, surroundings } from '../../../proof/program.ts';
import { controlPlaneProgram } from '../../support/programs.ts';
import { temporaryFolder } from '../../support/system.ts';

interface Key {
  rawKey: string;
}

async function untilSome<T>(ask: () => Promise<T[]>): Promise<T> {
  for (;;) {
    const [found] = await ask();
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** The process of the agent, as it says itself. */
async function agentOf(served: Program, times = 1): Promise<{ pid: number; title: string }> {
  const { data } = JSON.parse(await served.line('an agent of this machine is starting')) as {
    data: string;
  };
  await served.line('"msg":"checked in"', times);
  const children = readFileSync(`/proc/${served.child.pid}/task/${served.child.pid}/children`);
  const pid = Number(children.toString().trim().split(' ').at(-1));
  const title = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  assert.match(title, new RegExp(`start\0--for-control-plane\0${join(data, '..')}\0`));
  return { pid, title };
}

/** A process that nobody has waited for has no command line any more. */
async function untilGone(pid: number): Promise<void> {
  const commandLine = (): string => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    } catch {
      return '';
    }
  };
  while (commandLine() !== '') await new Promise((resolve) => setTimeout(resolve, 50));
}

test(
  'serve --with-agent runs checks at "this-machine" with a key that nobody sees, starts the agent again when it dies, and ends it with itself, also when it is killed',
  { skip: process.platform !== 'linux' && 'processes are read from /proc' },
  async () => {
    using folder = temporaryFolder();
    await using website = createServer((_request, response) => response.end('hello'));
    await new Promise<void>((resolve) => website.listen(0, '127.0.0.1', resolve));
    const { port: target } = website.address() as { port: number };
    const asked: (string | undefined)[] = [];
    await using proxy = createServer(({ url }, response) => {
      asked.push(url);
      response.writeHead(502).end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const data = join(folder.path, 'data');
    // Another user could read it: a run must not see it all the same.
    const artifacts = join(folder.path, 'artifacts');
    const ofResult = join(artifacts, 'of-a-result');
    mkdirSync(artifacts);
    const database = join(data, 'control-plane.db');
    const environment = {
      DATABASE_FILE: database,
      PORT: String(await freePort()),
      ARTIFACTS_DIR: artifacts,
      SMTP_URL: 'smtp://somebody:the-password-of-the-mail@127.0.0.1:1',
      AGENT_WORK_DIR: join(folder.path, 'runs'),
      HOME: folder.path,
      // The key goes to no proxy, whatever the operator uses for others.
      HTTP_PROXY: `http://127.0.0.1:${(proxy.address() as { port: number }).port}`,
      NO_PROXY: 'upper.example',
      no_proxy: 'lower.example',
    };
    const serve = () => new Program([controlPlaneProgram, 'serve', '--with-agent'], environment);
    await using first = serve();
    const { url } = (await first.log('serving')) as { url: string };
    const agent = await agentOf(first);
    const keyFile = join(data, 'agent', 'location-key');
    const key = readFileSync(keyFile, 'utf8');
    assert.match(key, /^pl_/);
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    const seen = readFileSync(`/proc/${agent.pid}/environ`, 'utf8');
    assert.match(seen, /CONTROL_PLANE_URL=/);
    assert.match(seen, /(?:^|\0)no_proxy=lower\.example,127\.0\.0\.1:/);
    assert.deepEqual(asked, []);
    for (const text of [agent.title, seen, first.lines.join('\n')]) {
      assert.doesNotMatch(text, new RegExp(`${key}|the-password-of-the-mail`));
    }

    writeFileSync(ofResult, 'of another person');
    for (const path of [folder.path, artifacts, ofResult]) chmodSync(path, 0o755);
    // The person who set it up makes the first key and the first check.
    await using keys = new Program(
      [controlPlaneProgram, 'keys', 'create', '--name', 'first', '--json'],
      { ...environment },
    );
    await keys.exited;
    const { rawKey } = JSON.parse(keys.lines.join('')) as Key;
    const api: ApiCall = { baseUrl: url, apiKey: rawKey };
    const { id } = await callApi<{ id: string }>(api, 'POST', '/v1/checks/api', {
      name: 'First',
      frequency: 1,
      privateLocations: ['this-machine'],
      request: { url: `http://127.0.0.1:${target}/`, method: 'GET' },
      // What a script must not find, wherever it can be run.
      localSetupScript: `for (const file of ${JSON.stringify([keyFile, ofResult])}) {
        try { request.headers.found = String(require('node:fs').readFileSync(file)); } catch {}
      }`,
    });
    const result = await untilSome(() =>
      callApi<{ hasFailures: boolean; apiCheckResult: unknown }[]>(
        api,
        'GET',
        `/v1/check-results/${id}?limit=1`,
      ),
    );
    assert.equal(result.hasFailures, false);
    assert.doesNotMatch(JSON.stringify(result), /pl_|"found"/);

    // Its key makes way for those of other machines.
    writeFileSync(keyFile, `${key}-revoked`);
    process.kill(agent.pid, 'SIGKILL');
    await first.line('the agent of this machine ended and is started again');
    const again = await agentOf(first, 2);
    assert.notEqual(again.pid, agent.pid);
    const renewed = readFileSync(keyFile, 'utf8');
    assert.match(renewed, /^pl_[^-]+$/);
    await first.kill9();
    await untilGone(again.pid);

    await using second = serve();
    const next = await agentOf(second);
    assert.equal(readFileSync(keyFile, 'utf8'), renewed);
    second.signal('SIGTERM');
    assert.deepEqual(await second.exited, { code: 0, signal: null });
    await untilGone(next.pid);
    assert.match(second.lines.join('\n'), /"msg":"drained"[^]*"msg":"stopped"/);

    // Somebody else's text in the place of the key, or a key that was revoked.
    writeFileSync(keyFile, 'pl_unknown');
    await using third = serve();
    await agentOf(third);
    assert.notEqual(readFileSync(keyFile, 'utf8'), 'pl_unknown');
    third.signal('SIGINT');
    assert.deepEqual(await third.exited, { code: 0, signal: null });
  },
);

test('without the agent beside it or on the PATH, serve --with-agent says which package to install', async () => {
  using folder = temporaryFolder();
  const path = process.env['PATH'];
  process.env['PATH'] = folder.path;
  try {
    assert.equal(findProgram(programs.agent, join(folder.path, 'control-plane')), null);
    const { findAgent } = await import('../../../control-plane/app/agent-here.ts');
    assert.throws(
      () => findAgent(join(folder.path, 'control-plane')),
      /npm install -g \.\/monitor-agent-/,
    );
  } finally {
    process.env['PATH'] = path ?? surroundings().PATH ?? '';
  }
});
