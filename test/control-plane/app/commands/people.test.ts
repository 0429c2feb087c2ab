// SQLite only: commands work on a file.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Operator } from '../../../support/control-plane-command.ts';
import { tokenOf } from '../../../support/people.ts';
import { temporaryFolder } from '../../../support/system.ts';

const password = 'a sentence that nobody guesses';

async function accept(url: string, link: string, fields: object): Promise<number> {
  const response = await fetch(`${url}/console/session/link/accept`, {
    method: 'POST',
    headers: { 'x-console': '1', 'content-type': 'application/json' },
    body: JSON.stringify({ token: tokenOf(link), password, ...fields }),
  });
  return response.status;
}

test('a command prints a link for the first person, and an operator who is locked out makes others', async () => {
  using folder = temporaryFolder();
  const operator = new Operator(folder.path, { PUBLIC_URL: 'https://monitor.example/base/' });
  {
    await using serving = await operator.serve();
    await serving.log('there are no people yet: the command prints a link to sign in');
    assert.doesNotMatch(serving.lines.join('\n'), /token=/, 'logs are shipped');
    const { link } = await operator.json<{ link: string }>('people', 'first');
    assert.match(String(link), /^https:\/\/monitor\.example\/base\/console\/#\/setup\?token=/);
    const anna = { name: 'Anna', email: 'anna@shop.example' };
    assert.equal(await accept(serving.url, String(link), anna), 200);
    assert.equal(await accept(serving.url, String(link), anna), 404);

    const reset = await operator.json<{ link: string }>('people', 'reset', 'Anna@shop.example');
    assert.equal(await accept(serving.url, reset.link, {}), 200);
    const invited = await operator.json<{ link: string; role: string }>(
      ...['people', 'invite', 'ben@shop.example', '--role', 'READ_RUN'],
    );
    assert.match(invited.link, /^https:\/\/monitor\.example\/base\/console\/#\/invitation\?token=/);
    assert.equal(await accept(serving.url, invited.link, { name: 'Ben' }), 200);
    const people = await operator.json<{ email: string; role: string }[]>('people', 'list');
    assert.deepEqual(
      people.map(({ email, role }) => [email, role]),
      [
        ['anna@shop.example', 'OWNER'],
        ['ben@shop.example', 'READ_RUN'],
      ],
    );
  }
  await using again = await operator.serve();
  again.signal('SIGTERM');
  await again.exited;
  assert.ok(!again.lines.some((line) => line.includes('no people yet')));
  assert.match(
    (await operator.spawn('people', 'reset', 'x@y.example')).error,
    /nobody has the address/,
  );
  assert.match(await operator.refused(2, 'people', 'invite', 'x'), /is not an e-mail address/);
  assert.match(
    await operator.refused(1, 'people', 'invite', 'ben@shop.example'),
    /is already in use/,
  );
});
