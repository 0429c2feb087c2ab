import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { AllowedClients } from '../../../../agent/net/gateway/allowed-clients.ts';

const connectTo = "require('node:net').connect(PORT, 'ADDRESS').resume();";
const byChild = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(connectTo)}]);`;

/** The near end of a connection that a process, or a child of it, makes; and the number of the process. */
async function connected(
  t: TestContext,
  { isChild = false, uid = process.getuid?.() ?? 0, address = '127.0.0.1' } = {},
): Promise<{ socket: Socket; pid: number }> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const script = (isChild ? byChild : connectTo)
    .replaceAll('PORT', String(port))
    .replaceAll('ADDRESS', address);
  const process_ = spawn(process.execPath, ['-e', script], { stdio: 'ignore', uid });
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.after(() => {
    socket.destroy();
    process_.kill();
    server.close();
  });
  socket.on('error', () => undefined);
  return { socket, pid: process_.pid ?? 0 };
}

function clientsWith(...pids: number[]): AllowedClients {
  const clients = new AllowedClients();
  clients.admit({ uid: null, pids: () => pids });
  return clients;
}

test('a run that shares the user of others is known by its processes', async (t) => {
  const [one, deep] = [await connected(t), await connected(t, { isChild: true })];
  const both = clientsWith(one.pid, deep.pid);
  assert.deepEqual(
    [await both.include(one.socket), await both.include(deep.socket)],
    [true, true],
    'its own and those that it started',
  );
  assert.deepEqual(
    [
      await clientsWith(deep.pid).include(one.socket),
      await clientsWith(one.pid).include(deep.socket),
      await clientsWith().include(one.socket),
      await new AllowedClients().include(one.socket),
    ],
    [false, false, false, false],
    'those of another are not',
  );
  // The process that was right once is asked first, and is right for its own connections alone.
  assert.equal(await both.include(one.socket), true);
  assert.equal(await both.include(deep.socket), true);
});

test('an IPv6 socket that speaks IPv4 is known like any other', async (t) => {
  const { socket, pid } = await connected(t, { address: '::ffff:127.0.0.1' });
  assert.equal(socket.remoteAddress, '127.0.0.1');
  assert.equal(await clientsWith(pid).include(socket), true);
  assert.equal(await clientsWith().include(socket), false);
});

const isRoot = process.getuid?.() === 0;

test(
  'a run that has a user of its own is known by it',
  { skip: isRoot ? false : 'only root can start processes of other users' },
  async (t) => {
    const { socket, pid } = await connected(t, { uid: 10_007 });
    const clients = new AllowedClients();
    clients.admit({ uid: 10_008, pids: () => [pid] });
    assert.equal(await clients.include(socket), false);
    clients.admit({ uid: 10_007, pids: () => [] });
    assert.equal(await clients.include(socket), true);
  },
);

test('who comes in vain, however often, costs one look at the processes', async (t) => {
  const { socket } = await connected(t);
  let looks = 0;
  const clients = new AllowedClients();
  clients.admit({
    uid: null,
    pids: () => {
      looks += 1;
      return [];
    },
  });
  const answers = await Promise.all(Array.from({ length: 20 }, () => clients.include(socket)));
  assert.ok(answers.every((isAllowed) => !isAllowed));
  assert.ok(looks <= 2, `${looks} looks`);
});

test(
  'for users who cannot be clients no process is looked at',
  { skip: isRoot ? false : 'only root can start processes of other users' },
  async (t) => {
    const { socket } = await connected(t, { uid: 10_007 });
    const clients = new AllowedClients();
    clients.admit({ uid: null, pids: () => assert.fail('processes are looked at') });
    assert.equal(await clients.include(socket), false);
  },
);

test('who has gone is let in no more', async (t) => {
  const { socket, pid } = await connected(t);
  const clients = clientsWith(pid);
  process.kill(pid);
  await once(socket.resume(), 'close');
  assert.equal(await clients.include(socket), false);
});
