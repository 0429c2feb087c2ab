// Own process: it kills control planes.
// SQLite only: they are programs on a file.
import assert from 'node:assert/strict';
import test from 'node:test';
import type { DeploymentWire } from '@monitor/shared/contract/compatibility/projects.ts';
import { pathOf, projectOf, url } from '../../support/projects.ts';
import { eventually, System, temporaryFolder } from '../../support/system.ts';

const many = 400;
const round = (name: string) =>
  projectOf(
    Array.from({ length: many }, (_, index) => url(`check ${index}`, { description: name })),
  );

/** Reads events of a deployment until one says so; the connection breaks with the process. */
async function until(
  system: System,
  deployment: DeploymentWire,
  isEnough: (text: string) => boolean,
) {
  const response = await fetch(`${system.baseUrl}${pathOf(deployment)}/events`, {
    headers: { authorization: `Bearer ${system.apiKey}` },
  });
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (isEnough(text)) return;
  }
}

const moments: [moment: string, isThere: (text: string) => boolean][] = [
  ['at its begin', () => true],
  ['at a third', (text) => Number(/.*"progress":(\d+)/s.exec(text)?.[1]) >= 33],
  ['near its end', (text) => Number(/.*"progress":(\d+)/s.exec(text)?.[1]) >= 90],
  ['after its end', (text) => text.includes('event: complete')],
];

test('a control plane that is killed while it deploys leaves all or nothing', async () => {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path);
  let stored: string | null = null;
  for (const [moment, isThere] of moments) {
    const deployment = await system.api<DeploymentWire>(
      ...(['POST', '/v1/projects/deploy', round(moment)] as const),
    );
    await until(system, deployment, (text) => isThere(text) || text.includes('event: complete'));
    await system.controlPlane.kill9();
    await system.restartControlPlane();
    let end = deployment;
    const hasEnded = async () => {
      end = await system.api('GET', pathOf(deployment));
      return end.endedAt !== null;
    };
    await eventually(hasEnded, () => 'the next start ends it');
    if (end.status === 'SUCCEEDED') stored = moment;
    else assert.deepEqual([end.status, end.error?.code], ['FAILED', 'ABANDONED'], moment);
    const rows = system.query<{ description: string; count: number }>(
      `select json_extract(body_json, '$.description') as description, count(*) as count
        from checks group by 1`,
    );
    const expected: object[] = stored === null ? [] : [{ description: stored, count: many }];
    assert.deepEqual(
      rows.map((row) => ({ ...row })),
      expected,
      moment,
    );
    const [owned] = system.query<{ count: number }>(
      'select count(*) as count from project_resources',
    );
    assert.equal(owned?.count, stored === null ? 0 : many, moment);
  }
  assert.equal(stored, moments.at(-1)?.[0]);
});
