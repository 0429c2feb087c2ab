import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { Program } from '../../proof/program.ts';
import { temporaryFolder } from '../support/system.ts';
import { locationKey as key } from '../support/fake-control-plane.ts';
import { listening } from '../support/servers.ts';

const secrets = [key, 'model-key', 'proxy-password'];
const user = 10_001;
const asUser = ['setpriv', '--reuid', String(user), '--regid', String(user), '--clear-groups'];
const withNetRaw = [...asUser, '--inh-caps', '+net_raw', '--ambient-caps', '+net_raw'];
const isRoot = process.getuid?.() === 0;

suite('an agent uses its key, and keeps it where scripts cannot read it', () => {
  for (const [who, prefix] of [
    ['as who runs the tests', []],
    ['as an ordinary user', asUser],
    ['as a user with NET_RAW', withNetRaw],
  ] as const) {
    const skip = isRoot || prefix.length === 0 ? false : 'needs root to become another user';
    test(who, { skip }, async () => {
      using folder = temporaryFolder();
      if (prefix.length > 0) chownSync(folder.path, user, user);
      const server = createServer((_request, response) => response.writeHead(401).end());
      await using opened = await listening(server);
      const asked = once(server, 'request') as Promise<[IncomingMessage]>;
      // A program that becomes the agent: its process id is that of the agent.
      const script = ['-e', 'process.execve(process.argv[1], process.argv.slice(1), process.env)'];
      const agentItself = [process.execPath, 'agent/main.ts', 'start'];
      const words = prefix.length === 0 ? agentItself : ['/usr/bin/env', ...prefix, ...agentItself];
      await using agent = new Program([...script, ...words], {
        API_KEY: key,
        LLM_API_KEY: 'model-key',
        https_proxy: 'http://user:proxy-password@127.0.0.1:1',
        ...{ CONTROL_PLANE_URL: opened.url, AGENT_DATA_DIR: join(folder.path, 'data') },
        ...{ AGENT_WORK_DIR: join(folder.path, 'w'), HOME: folder.path, AGENT_HEALTH_PORT: '0' },
        AGENT_HEALTH_HOST: '127.0.0.1',
      });
      const starting = await agent.line('agent is starting');
      const started = await agent.log('agent has started');
      const [request] = await asked;
      assert.equal(request.headers.authorization, `Bearer ${key}`);
      assert.match(starting, /"HTTPS_PROXY"/);
      const { pid } = agent.child;
      const environment = isRoot ? readFileSync(`/proc/${pid}/environ`, 'latin1') : '';
      if (isRoot) assert.match(environment, /AGENT_DATA_DIR=/);
      for (const secret of secrets) {
        assert.ok(!environment.includes(secret), `${secret} is in the environment`);
        assert.ok(!starting.includes(secret), `${secret} is in the log`);
      }
      // It goes on seeing itself.
      const metrics = await fetch(`http://127.0.0.1:${String(started['healthPort'])}/metrics`);
      assert.match(await metrics.text(), /^process_open_fds [1-9]/m);
      if (prefix.length === 0) return;
      for (const file of ['environ', 'fd', 'mem', 'maps']) {
        const { stderr } = spawnSync(asUser[0] ?? '', [
          ...asUser.slice(1),
          ...['sh', '-c', `if [ -d "$0" ]; then ls "$0"; else head -c 1 "$0"; fi`],
          `/proc/${pid}/${file}`,
        ]);
        assert.match(String(stderr), /Permission denied/, `${file} can be read by the same user`);
      }
      if (prefix === withNetRaw) assert.match(starting, /"icmp":"(raw|datagram)"/);
    });
  }
});

/** What a program sees that begins with a call of `guardProcess`, of itself and in a child. */
function guarded(argument: string, environment: Record<string, string>): Record<string, string> {
  const program = `
    const { guardProcess, processEnvironment } = await import('./agent/guard-process.ts');
    guardProcess(${argument});
    const { execFileSync } = await import('node:child_process');
    const { readFileSync } = await import('node:fs');
    console.log(JSON.stringify({
      own: readFileSync('/proc/self/environ', 'latin1'),
      child: execFileSync('env', { encoding: 'latin1' }),
      key: processEnvironment.API_KEY,
    }));`;
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module-typescript', '-e', program],
    { encoding: 'utf8', env: { PATH: process.env['PATH'] ?? '', ...environment } },
  );
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as Record<string, string>;
}

const linuxRoot = {
  skip: isRoot && process.platform === 'linux' ? false : 'reads as root on Linux',
};

test(
  'secrets are gone from what the kernel shows and what children inherit, and nothing else is',
  linuxRoot,
  () => {
    const given = { API_KEY: key, ALL_PROXY: 'http://a:proxy-password@b', A: '1', Z: '2' };
    const { own = '', child = '', key: read } = guarded('', given);
    assert.equal(read, key);
    for (const shown of [own, child]) {
      for (const secret of secrets) assert.ok(!shown.includes(secret), shown);
      assert.match(shown, /(^|\0|\n)A=1(\0|\n)/);
      assert.match(shown, /(^|\0|\n)Z=2(\0|\n)/);
    }
  },
);

test('the signal that opens the debugger of Node, which every user can reach, has a listener', () => {
  const program = `
    const { guardProcess } = await import('./agent/guard-process.ts');
    guardProcess();
    const { url } = await import('node:inspector');
    const heard = process.listenerCount('SIGUSR1');
    process.kill(process.pid, 'SIGUSR1');
    console.log(heard, url());`;
  const words = ['--input-type=module-typescript', '-e', program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  assert.equal(stdout, '1 undefined\n', stderr);
});

test('a secret that is no text overwrites nothing behind it', linuxRoot, () => {
  const program = `exec env -i PATH="$PATH" API_KEY="$(printf 'secret\\\\377\\\\377\\\\377\\\\377')" AFTER=it-is-there "$@"`;
  const words = [
    process.execPath,
    '--input-type=module-typescript',
    '-e',
    `
    const { guardProcess } = await import('./agent/guard-process.ts');
    guardProcess();
    const { readFileSync } = await import('node:fs');
    console.log(readFileSync('/proc/self/environ', 'latin1').replaceAll('\\0', ' '));`,
  ];
  const { stdout, stderr } = spawnSync('sh', ['-c', program, 'sh', ...words], {
    encoding: 'latin1',
  });
  assert.match(stdout, /AFTER=it-is-there/, stderr);
  assert.doesNotMatch(stdout, /secret/);
});

test('without the library children inherit no secret all the same', linuxRoot, () => {
  const {
    own = '',
    child = '',
    key: read,
  } = guarded("{ libc: null, problem: '' }", { API_KEY: key });
  assert.equal(read, key);
  assert.ok(own.includes(key), 'then doctor need not say it');
  assert.ok(!child.includes(key));
});

test('a kernel that refuses the protection ends nothing', linuxRoot, () => {
  const refusing = `{ libc: { ...(await import('./agent/native/libc.ts')).openLibc().libc, prctl: () => -1 } }`;
  const { own = '' } = guarded(refusing, { API_KEY: key });
  assert.ok(!own.includes(key));
});
