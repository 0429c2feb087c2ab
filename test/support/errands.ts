/** What takes several calls before one operation can succeed: files, links, runs that an agent holds. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { Job } from '@monitor/shared/contract/agent-protocol.ts';
import type { Answer, TestControlPlane } from './control-plane.ts';
import { declaration, sha256Base64 } from './artifact-api.ts';
import { FakeAgent, resultOfJob } from './fake-agent.ts';
import {
  createCheckTrigger,
  createGroupTrigger,
  exampleBodies,
  type Target,
  type World,
} from './world.ts';

const location = 'eu-west-1';
const types = ['URL', 'TCP', 'API', 'DNS', 'ICMP'];
const file = Buffer.from('what a run has left');

/** A request that succeeds where nothing is damaged; what is absent is as drawn. */
export interface GivenRequest {
  path?: string;
  headers?: Record<string, string>;
  bytes?: Buffer;
}

export interface Errands {
  agent: FakeAgent;
  /** By operation. */
  requests: ReadonlyMap<string, GivenRequest>;
  /** Bodies with which operations succeed. */
  bodies: ReadonlyMap<string, unknown>;
}

/** Takes what waits for the location, and hands in a passing result of each. */
export async function work(agent: FakeAgent): Promise<void> {
  const { jobs } = await agent.checkIn(types);
  if (jobs.length > 0) await agent.handIn(...jobs.map((job) => resultOfJob(job)));
}

/** Leaves the world with triggers whose checks run somewhere, a bundle, a file of a result and a watched run. */
export async function runErrands(
  cp: TestControlPlane,
  { url, key }: Target,
  agentKey: string,
  world: World,
): Promise<Errands> {
  const { ids } = world;
  const authorization = `Bearer ${key}`;
  const api = async (method: string, path: string, body?: unknown): Promise<Answer> => {
    const answer = await cp.api(method, path, body, { authorization });
    assert.ok(answer.status < 300, `${path}: ${JSON.stringify(answer.body)}`);
    return answer;
  };
  const upload = async (path: string): Promise<Record<string, string>> => {
    const type = { 'content-type': 'application/octet-stream' };
    const headers = { authorization, ...type };
    const answer = await fetch(url + path, { method: 'POST', headers, body: gzipSync(path) });
    assert.ok(answer.ok, `${path}: ${await answer.clone().text()}`);
    return (await answer.json()) as Record<string, string>;
  };

  const checkId = String(ids.check[0]);
  const group = Number(ids.group[0]);
  await api('PUT', `/v1/check-groups/${group}`, { name: world.marker, locations: [location] });
  ids.triggeredCheck.unshift(checkId);
  ids.checkTriggerToken.unshift((await createCheckTrigger({ url, key }, checkId)).token);
  ids.groupTriggerToken.unshift((await createGroupTrigger({ url, key }, group)).token);

  const { codeBundlePath } = await upload('/v1/code-bundles');
  await api('PUT', `/v1/checks/playwright/${ids['check:PLAYWRIGHT'][0]}`, { codeBundlePath });
  const bundle = await upload('/next/checkly-storage/upload-code-bundle');
  const stored = await upload('/next/checkly-storage/upload');

  const bodies = new Map(await exampleBodies(world));
  const agent = new FakeAgent(cp, agentKey);
  const watched = bodies.get('runTestSession') as object;
  await api('POST', '/v1/test-sessions/run', { ...watched, streamLogs: true });
  const { jobs } = await agent.checkIn(types);
  const find = (of: (job: Job) => boolean): Job => {
    const found = jobs.find(of);
    assert.ok(found !== undefined, 'a job is missing');
    return found;
  };
  const run = find(({ streamsLogs }) => streamsLogs === true);
  const name = String(ids.fileName[0]);
  const result = resultOfJob(
    find(({ check }) => check.id === checkId),
    // It goes on failing: its alert can be acknowledged.
    { hasFailures: true, artifacts: [declaration(name, file.length)] },
  );
  await agent.handIn(result);
  ids.checkResult.unshift(result.id);
  const artifact = `/v1/agent/artifacts/${result.id}/${name}`;
  const digest = { digest: `sha-256=${sha256Base64(file)}` };
  const sent = await fetch(url + artifact, {
    ...{ method: 'PUT', body: file, headers: { authorization: `Bearer ${agentKey}`, ...digest } },
  });
  assert.equal(sent.status, 204, await sent.text());
  const reported = `test-sessions/${ids.testSession[0]}/results/${ids.testResult[0]}`;
  await upload(`/next/${reported}/upload`);

  bodies.set('peekCodeBundle', { key: bundle['key'] });
  bodies.set('downloadFile', { key: stored['key'] });
  bodies.set('agentSendLogs', {
    ...{ agentId: agent.id, runId: run.runId, position: 0 },
    lines: [{ timestamp: 1, message: randomUUID() }],
  });
  const linkIn = async (path: string): Promise<GivenRequest> => {
    const { body } = await api('GET', path);
    const { pathname, search } = new URL(String(body.assets[0].url));
    return { path: pathname + search };
  };
  return {
    agent,
    bodies,
    requests: new Map<string, GivenRequest>([
      ['agentUploadArtifact', { path: artifact, headers: digest, bytes: file }],
      ['downloadArtifact', await linkIn(`/v1/check-results/${checkId}/${result.id}/assets`)],
      ['downloadReport', await linkIn(`/v1/${reported}/assets`)],
    ]),
  };
}
