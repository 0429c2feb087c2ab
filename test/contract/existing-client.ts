/** A client that was written for services of this kind: its headers, and how it uses a resource. */
import assert from 'node:assert/strict';
import { after, before } from 'node:test';
import {
  startTestControlPlane,
  type Answer,
  type TestControlPlane,
} from '../support/control-plane.ts';

/** Statically typed clients send the zero value of every field, read-only ones too. */
export const zeroDates = {
  created_at: '0001-01-01T00:00:00Z',
  updated_at: '0001-01-01T00:00:00Z',
  createdAt: '0001-01-01T00:00:00Z',
  updatedAt: '0001-01-01T00:00:00Z',
};
/** Starts a control plane for the tests of a file, set up as for such clients, and stops it after them. */
export function existingClient() {
  let cp: TestControlPlane;
  before(async () => {
    cp = await startTestControlPlane({ requestsPerMinute: 0 });
  });
  after(() => cp[Symbol.asyncDispose]());

  function headersOf(source: string): Record<string, string> {
    return {
      authorization: `bearer ${cp.apiKey}`,
      accept: 'application/json',
      'x-checkly-account': cp.accountId,
      'x-checkly-source': source,
    };
  }

  async function call(
    status: number,
    method: string,
    path: string,
    body?: unknown,
    source = 'go-sdk',
  ): Promise<Answer['body']> {
    const answer = await cp.api(method, path, body, headersOf(source));
    assert.equal(answer.status, status, `${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** What a provider of declarative configuration does: create, read back, replace, read, delete. */
  async function lifeCycle(
    path: string,
    body: Record<string, unknown>,
    expected: Record<string, unknown>,
    { create = path, update = path, key = 'id' } = {},
  ): Promise<void> {
    // What is said of the act of saving alone: providers know no such field.
    const withoutWarnings = ({ warnings: _, ...rest }: Answer['body']): Answer['body'] => rest;
    const created = withoutWarnings(await call(201, 'POST', create, body));
    assert.partialDeepStrictEqual(created, expected);
    const one = `${path}/${encodeURIComponent(String(created[key]))}`;
    assert.deepEqual(await call(200, 'GET', one), created);
    const saved = await call(200, 'PUT', `${update}/${String(created[key])}`, {
      ...body,
      id: created.id,
    });
    const replaced = withoutWarnings(saved);
    // A plan must be empty after it was applied.
    assert.deepEqual({ ...replaced, updated_at: null }, { ...created, updated_at: null });
    await call(204, 'DELETE', one);
    assert.equal((await cp.api('GET', one, undefined, headersOf('TF'))).status, 404);
  }

  return { controlPlane: () => cp, call, lifeCycle };
}
