// Own process: it counts its own CPU.
import assert from 'node:assert/strict';
import test from 'node:test';
import { runApi } from '../../../../agent/runners/api.ts';
import { definitionOf, runnerContext } from '../../../support/runner-context.ts';
import { tcpServer } from '../../../support/servers.ts';

const small = 8_000;
const factor = 12;

/** What makes patterns look again and again, in so many bytes. */
const values: Record<string, (bytes: number) => string> = {
  'spaces within': (bytes) => `a${' '.repeat(bytes)}b`,
  'tabs before': (bytes) => `${'\t'.repeat(bytes)}b`,
  commas: (bytes) => ', '.repeat(bytes / 2),
  semicolons: (bytes) => ' ;'.repeat(bytes / 2),
  quotes: (bytes) => '"'.repeat(bytes),
  'an open quote': (bytes) => `a="${'\\'.repeat(bytes)}`,
  'equals signs': (bytes) => '='.repeat(bytes),
  'a long part of a path': (bytes) => `/${'x'.repeat(bytes)}/b`,
  'many parts of a path': (bytes) => '/..'.repeat(bytes / 3),
  digits: (bytes) => `${'0'.repeat(bytes)}x`,
  'a charset after spaces': (bytes) => `text/html;${' '.repeat(bytes)}charset`,
  'bytes of no charset': (bytes) => '\xff'.repeat(bytes),
};
const heads: Record<string, (value: string) => string> = {
  'the status line': (value) => `200 ${value}`,
  'a name': (value) => `200 OK\r\n${value}: a`,
  'a folded line': (value) => `200 OK\r\na: b\r\n ${value}`,
  Location: (value) => `302 Found\r\nSet-Cookie: a=b\r\nLocation: ${value}`,
  ...Object.fromEntries(
    ['Set-Cookie', 'Content-Type', 'Content-Encoding', 'Transfer-Encoding', 'Retry-After'].map(
      (name) => [name, (value: string) => `200 OK\r\n${name}: ${value}`],
    ),
  ),
};

test('a head takes no time of the agent that grows with the square of what a target sends', async () => {
  let head = '';
  await using server = await tcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(Buffer.from(`HTTP/1.1 ${head}\r\n\r\nok`, 'latin1')));
  });
  const definition = definitionOf('API', {
    url: `http://127.0.0.1:${server.port}/`,
    method: 'GET',
  });
  const cpuOf = async (next: string): Promise<number> => {
    head = next;
    const before = process.cpuUsage();
    await runApi(definition, runnerContext(60_000));
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  for (const [place, headOf] of Object.entries(heads)) {
    for (const [what, valueOf] of Object.entries(values)) {
      const first = await cpuOf(headOf(valueOf(small)));
      const then = await cpuOf(headOf(valueOf(factor * small)));
      // The square would be 144 times as much; what is too short to measure counts as 10 ms.
      const most = 4 * factor * Math.max(first, 10);
      assert.ok(then < most, `${what} in ${place}: ${first} ms, then ${then} ms`);
    }
  }
});
