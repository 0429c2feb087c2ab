// Own process: it starts many programs.
/** Who writes the database of the control plane neither reads encrypted results in silence, nor ends the encryption. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test from 'node:test';
import { createKeyFile } from '@monitor/shared/encryption/encryption.ts';
import { agent as command } from '../support/agent-command.ts';
import { httpServer } from '../support/servers.ts';
import { eventually, filesUnder, System, temporaryFolder } from '../support/system.ts';

test('an attacker in the database is refused readable results, and a recipient he adds is stated', async () => {
  using folder = temporaryFolder();
  const canary = 'only-for-the-operators';
  await using target = await httpServer((_request, response) =>
    response.writeHead(503, { 'x-seen': canary }).end(canary),
  );
  await using system = await System.start(folder.path);
  const [own, attacker] = [await createKeyFile(null), await createKeyFile(null)];
  const key = await system.makeLocation('sealed', {
    resultEncryptionKeys: [{ name: 'operators', publicKey: own.publicKey }],
  });
  const settings = {
    ...{ AGENT_DATA_DIR: join(folder.path, 'agent'), AGENT_HEALTH_PORT: '0' },
    ...{ API_KEY: key, CONTROL_PLANE_URL: system.baseUrl },
  };
  const agent = system.startAgent('agent', key);
  await agent.log('results are encrypted from now on');
  await system.createUrlCheck(`${target.url}/`, {
    ...{ name: 'secret', privateLocations: ['sealed'] },
  });
  const results = (): number =>
    system.query<{ n: number }>('select count(*) as n from check_results')[0]?.n ?? 0;
  const until = (count: number) =>
    eventually(
      () => results() >= count,
      () => `${results()} results`,
    );
  const rewrite = async (keys: unknown[]): Promise<void> => {
    system.controlPlane.signal('SIGTERM');
    await system.controlPlane.exited;
    const db = new DatabaseSync(system.databaseFile);
    db.prepare('update private_locations set result_keys_json = ?, encrypted_since = null').run(
      JSON.stringify(keys),
    );
    db.close();
    await system.restartControlPlane();
  };
  const stored = JSON.parse(
    system.query<{ keys: string }>('select result_keys_json as keys from private_locations')[0]
      ?.keys ?? '',
  ) as Record<string, unknown>[];
  const status = async () => {
    const { out } = await command(['status', '--json'], settings);
    return JSON.parse(out) as { degraded: string[]; healthPort: number };
  };

  await rewrite([]);
  await agent.log('the control plane asks for readable results, which is refused');
  await until(results() + 2);
  for (const file of filesUnder(folder.path).filter((path) => /control-plane\.db/.test(path))) {
    assert.equal(readFileSync(file).includes(canary), false, file);
  }
  const { degraded, healthPort } = await status();
  assert.match(degraded.join('\n'), new RegExp(`stay encrypted for ${own.id}`));
  const health = await (await fetch(`http://127.0.0.1:${healthPort}/health`)).text();
  assert.match(health, /asks for readable results/);
  const doctor = await command(['doctor', '--only', 'data-directory'], settings);
  assert.match(doctor.out.replace(/\s+/g, ' '), /asks for readable results/);

  const added = { ...stored[0], id: attacker.id, publicKey: attacker.publicKey, name: 'operators' };
  await rewrite([...stored, added]);
  const { added: ids } = await agent.log('the control plane changed who can read results');
  assert.deepEqual(ids, [attacker.id]);
  assert.match((await status()).degraded.join('\n'), new RegExp(`added ${attacker.id}`));
});
