import assert from 'node:assert/strict';
import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { nativeMemory, type Libc } from '../../../agent/native/libc.ts';
import { HelperChannel } from '../../../agent/native/socket-helper.ts';
import { AF_PACKET, SOCK_CLOEXEC, SOCK_DGRAM } from '../../../agent/native/sockets.ts';
import { rightsIn } from '../../../agent/system/shed-rights.ts';
import { faultyLibc, realLibc } from '../../support/faulty-libc.ts';

const { EAGAIN, EINTR, EMFILE, ENFILE, EPERM, EPIPE, ETIMEDOUT } = constants.errno;
const packets = [AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0] as const;

interface Peer {
  open: () => number;
  /** Answers the request with this number: an error, or the descriptor that was opened. */
  answer: (sequence: number, result: number) => void;
}

/** A channel whose other end answers by hand, before it is asked. */
function channel(libc: Libc): Peer {
  const pair = nativeMemory(8);
  assert.equal(libc.socketpair(1, 5 | SOCK_CLOEXEC, 0, pair), 0);
  const helper = new HelperChannel(libc, pair.readInt32LE(0));
  return {
    open: () => helper.open(...packets),
    answer: (...words) => {
      const bytes = Buffer.from(Int32Array.from(words).buffer);
      assert.equal(libc.sendto(pair.readInt32LE(4), bytes, 8, 0, null, 0), 8);
    },
  };
}

suite('the channel to the helper', () => {
  test('an answer is waited for beyond a signal', () => {
    const { libc } = faultyLibc((call, before) =>
      call === 'recvmsg' && before < 3 ? -EINTR : null,
    );
    const { open, answer } = channel(libc);
    answer(1, -ENFILE);
    assert.equal(open(), -ENFILE);
  });

  test('a good answer without a descriptor is the limit of descriptors, and the next one counts', () => {
    const { open, answer } = channel(realLibc());
    answer(1, 0);
    assert.equal(open(), -EMFILE);
    answer(2, -ENFILE);
    assert.equal(open(), -ENFILE);
  });

  test('an answer that is late counts for no other request, and the next one is asked', () => {
    const { libc, made } = faultyLibc((call, before) =>
      call === 'recvmsg' && before < 2 ? -EAGAIN : null,
    );
    const { open, answer } = channel(libc);
    answer(1, -ENFILE);
    answer(2, -EMFILE);
    // Nothing is asked of a helper that has not answered yet.
    assert.deepEqual([open(), open(), made.sendto], [-ETIMEDOUT, -ETIMEDOUT, 3]);
    assert.equal(open(), -EMFILE);
    answer(3, -ENFILE);
    assert.equal(open(), -ENFILE);
    assert.deepEqual([made.sendto, made.close], [6, undefined]);
  });

  for (const [why, answered, error] of [
    ['that never answered may not start here', 0, -EPERM],
    ['that has answered has ended', 1, -EPIPE],
  ] as const) {
    test(`a helper without its end of the channel ${why}`, () => {
      const { libc, made } = faultyLibc((call, before) =>
        call === 'recvmsg' && before === answered ? -constants.errno.ECONNRESET : null,
      );
      const { open, answer } = channel(libc);
      answer(1, -ENFILE);
      if (answered === 1) assert.equal(open(), -ENFILE);
      assert.deepEqual([open(), open()], [error, error]);
      assert.equal(made.close, 1);
    });
  }
});

test('beside the helper, what may gain rights has its right', () => {
  const status = (may: number) => `CapPrm:\t0000000000000000\nNoNewPrivs:\t${may}\n`;
  assert.deepEqual(rightsIn(status(0), true), ['NoNewPrivs 0']);
  assert.deepEqual(rightsIn(status(1), true), []);
  assert.deepEqual(rightsIn(status(0), false), []);
});

const missing = ['gcc', 'setcap', 'setpriv', 'prlimit'].find(
  (program) => spawnSync(program, ['--version']).error !== undefined,
);
const skip =
  process.getuid?.() === 0
    ? missing !== undefined && `there is no ${missing}`
    : 'only root gives capabilities';

const native = new URL('../../../agent/native/', import.meta.url).href;
/** An agent of a user without rights, and then code that it starts. */
const program = `
const { openLibc } = await import('${native}libc.ts');
const { openByHelper } = await import('${native}socket-helper.ts');
const { readdirSync, readFileSync, writeFileSync } = await import('node:fs');
const { setImmediate: turn } = await import('node:timers/promises');
const { spawnSync } = await import('node:child_process');
const { libc } = openLibc();
const { openIcmp } = await import('${native}../net/icmp/open-icmp.ts');
const { openPacketCapture } = await import('${native}../net/capture/packet-capture.ts');
const [path, mode] = process.argv.slice(1);
const packets = () => libc.socket(17, 2 | 0x80000, 0);
const said = { problem: openByHelper(libc, path) };
const late = -${ETIMEDOUT};
if (mode === 'late') {
  // What an agent opens at its start is there for its next request.
  const { icmp } = openIcmp({});
  const { capture, problem } = openPacketCapture({ bufferMb: 1 });
  said.late = [packets(), icmp?.way, capture !== null && problem];
  writeFileSync(path + '.fifo', 'go');
  while (packets() === late) await turn();
}
if (mode === 'stopped') {
  const [helper] = readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').split(' ');
  const held = () => readdirSync('/proc/self/fd').length;
  const before = held();
  process.kill(Number(helper), 'SIGSTOP');
  said.late = [packets(), packets()];
  process.kill(Number(helper), 'SIGCONT');
  let opened;
  while ((opened = packets()) === late) await turn();
  libc.close(opened);
  said.left = held() - before;
}
said.status = /NoNewPrivs:\\s*(\\d)/.exec(readFileSync('/proc/self/status', 'latin1'))[1];
  if (mode === 'full') {
    const held = [];
    for (let next; (next = libc.socket(1, 1 | 0x80000, 0)) >= 0;) held.push(next);
    said.full = [packets(), packets()];
    for (const descriptor of held) libc.close(descriptor);
  }
  said.packets = packets();
  said.echo = [libc.socket(2, 3, 1), libc.socket(10, 3, 58)];
  said.others = [libc.socket(2, 3, 6), libc.socket(17, 3, 0), libc.socket(17, 2, 8)];
if (mode !== 'code') {
  const code = [...process.execArgv, path, 'code'];
  const { stdout } = spawnSync(process.execPath, code, { encoding: 'utf8' });
  said.code = JSON.parse(stdout);
}
console.log(JSON.stringify(said));
`;

interface Said {
  problem: string | null;
  status: string;
  full?: number[];
  late?: unknown[];
  left?: number;
  packets: number;
  echo: number[];
  others: number[];
  code: Said;
}

suite('the helper', { skip }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'helper-'));
  const [helper, plain] = [join(folder, 'open-socket'), join(folder, 'without-right')];
  after(() => {
    rmSync(folder, { recursive: true });
  });
  if (skip === false) {
    chmodSync(folder, 0o755);
    const source = join(import.meta.dirname, '../../../agent/native/open-socket.c');
    for (const path of [helper, plain]) {
      execFileSync('gcc', ['-Wall', '-Wextra', '-Werror', '-O2', '-o', path, source]);
    }
    execFileSync('setcap', ['cap_net_raw=ep', helper]);
  }

  async function agent(path: string, mode: string, ...rights: string[]): Promise<Said> {
    const user = ['--reuid', '10001', '--regid', '10001', '--clear-groups', ...rights];
    const words = ['--input-type=module', '-e', program, path, mode];
    const limits = mode === 'full' ? ['prlimit', '--nofile=96:96'] : [];
    const started = [...user, ...limits, process.execPath, ...words];
    const { stdout } = await promisify(execFile)('setpriv', started, { encoding: 'utf8' });
    return JSON.parse(stdout) as Said;
  }

  for (const mode of ['plain', 'full']) {
    test(`opens what an agent without rights needs, and nothing for code (${mode})`, async () => {
      const said = await agent(helper, mode);
      assert.deepEqual([said.problem, said.status], [null, '1']);
      if (mode === 'full') assert.deepEqual(said.full, [-EMFILE, -EMFILE]);
      assert.ok(said.packets > 2, `${said.packets}`);
      assert.ok(said.echo.every((descriptor) => descriptor > 2));
      assert.ok(said.others.every((result) => result < 0));
      assert.match(said.code.problem ?? '', /no right under no-new-privileges/);
      assert.ok([said.code.packets, ...said.code.echo].every((result) => result === -EPERM));
    });
  }

  test('one that was stopped is asked again, and its late answer leaves nothing open', async () => {
    const said = await agent(helper, 'stopped');
    assert.deepEqual([said.problem, said.late, said.left], [null, [-ETIMEDOUT, -ETIMEDOUT], 0]);
    assert.ok(said.packets > 2, `${said.packets}`);
  });

  test('one that does not answer at the start is no missing right, and is asked again', async () => {
    const slow = join(folder, 'slow');
    execFileSync('mkfifo', ['-m', '666', `${slow}.fifo`]);
    writeFileSync(slow, `#!/bin/sh\nread -r go <${slow}.fifo\nexec ${helper}\n`, { mode: 0o755 });
    const said = await agent(slow, 'late');
    const sentence = /the helper that opens sockets did not answer within 2 s/;
    assert.match(said.problem ?? '', sentence);
    const [first, way, capture] = said.late ?? [];
    assert.deepEqual([first, way], [-ETIMEDOUT, 'raw']);
    assert.match(String(capture), sentence);
    assert.ok(said.packets > 2 && said.echo.every((descriptor) => descriptor > 2));
  });

  for (const [why, path, rights, sentence] of [
    ['no-new-privileges', helper, ['--no-new-privs'], /no right under no-new-privileges/],
    ['no NET_RAW', helper, ['--bounding-set', '-net_raw'], /allow this container NET_RAW/],
    ['a file without its capability', plain, [], /gets no right here/],
  ] as const) {
    test(`${why}: one sentence, and no new rights all the same`, async () => {
      const said = await agent(path, 'plain', ...rights);
      assert.match(said.problem ?? '', sentence);
      assert.deepEqual([said.status, said.packets], ['1', -EPERM]);
    });
  }
});
