import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Program } from '../../../support/program.ts';

test('an agent uses its key and keeps it out of its environment, where scripts could read it', async () => {
  const key = 'pl_0123456789abcdef0123456789abcdef';
  const proxyPassword = 'proxy-password';
  const folder = mkdtempSync(join(tmpdir(), 'launch-'));
  const server = createServer((_request, response) => response.writeHead(401).end()).listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    const asked = once(server, 'request') as Promise<[IncomingMessage]>;
    const agent = new Program(['agent/main.ts', 'start'], {
      API_KEY: key,
      LLM_API_KEY: 'model-key',
      https_proxy: `http://user:${proxyPassword}@127.0.0.1:1`,
      CONTROL_PLANE_URL: `http://127.0.0.1:${port}`,
      AGENT_DATA_DIR: join(folder, 'data'),
      AGENT_WORK_DIR: join(folder, 'w'),
      AGENT_HEALTH_PORT: '0',
      AGENT_HEALTH_HOST: '127.0.0.1',
    });
    try {
      const starting = await agent.line('agent is starting');
      const [request] = await asked;
      const environment = readFileSync(`/proc/${agent.child.pid}/environ`, 'utf8');
      assert.equal(request.headers.authorization, `Bearer ${key}`);
      assert.match(environment, /AGENT_DATA_DIR=/);
      for (const secret of [key, 'model-key', proxyPassword]) {
        assert.ok(!environment.includes(secret), `${secret} is in the environment`);
        assert.ok(!starting.includes(secret), `${secret} is in the log`);
      }
      assert.match(starting, /"HTTPS_PROXY"/);
    } finally {
      agent.child.kill('SIGKILL');
      await agent.exited;
    }
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});
