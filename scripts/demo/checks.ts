/** The checks of the demo, as anybody would create them through the API. */
import type { TargetPorts } from './targets.ts';

export interface DemoCheck {
  pathPart: 'url' | 'tcp' | 'dns' | 'icmp' | 'heartbeat';
  body: { name: string } & Record<string, unknown>;
}

export const demoTag = 'demo';
export const privateSlug = 'demo-network';
export const dataCenter = 'eu-central-1';
export const heartbeatName = 'nightly job (heartbeat)';

export function demoChecks(ports: TargetPorts): DemoCheck[] {
  const everyTenSeconds = { frequency: 0, frequencyOffset: 10 };
  const common = {
    ...everyTenSeconds,
    tags: [demoTag],
    privateLocations: [privateSlug],
    doubleCheck: false,
  };
  const website = (path: string) => ({ url: `http://127.0.0.1:${ports.http}${path}` });
  const isOk = { source: 'STATUS_CODE', comparison: 'EQUALS', target: '200' };
  return [
    {
      pathPart: 'url',
      body: {
        ...common,
        name: 'healthy website',
        locations: [dataCenter],
        request: { ...website('/healthy'), assertions: [isOk] },
      },
    },
    {
      pathPart: 'url',
      body: {
        ...common,
        name: 'slow website',
        degradedResponseTime: 200,
        maxResponseTime: 2000,
        request: website('/slow'),
      },
    },
    {
      pathPart: 'url',
      body: {
        ...common,
        name: 'failing website',
        retryStrategy: { type: 'FIXED', baseBackoffSeconds: 1, maxRetries: 1 },
        request: website('/failing'),
      },
    },
    {
      pathPart: 'url',
      body: { ...common, name: 'flapping website', request: website('/flapping') },
    },
    {
      pathPart: 'tcp',
      body: {
        ...common,
        name: 'echo server',
        request: {
          hostname: '127.0.0.1',
          port: ports.tcp,
          data: 'hello',
          assertions: [{ source: 'RESPONSE_DATA', comparison: 'CONTAINS', target: 'hello' }],
        },
      },
    },
    {
      pathPart: 'dns',
      body: {
        ...common,
        name: 'name server',
        heartbeat: {},
        script: '',
        request: {
          query: 'shop.demo',
          recordType: 'A',
          nameServer: '127.0.0.1',
          port: ports.dns,
          assertions: [
            {
              source: 'JSON_ANSWER',
              property: '$.Answer[0].data',
              comparison: 'EQUALS',
              target: '192.0.2.10',
            },
          ],
        },
      },
    },
    {
      pathPart: 'icmp',
      body: { ...common, name: 'loopback ping', request: { hostname: '127.0.0.1', pingCount: 3 } },
    },
    {
      pathPart: 'heartbeat',
      body: {
        name: heartbeatName,
        tags: [demoTag],
        heartbeat: { period: 30, periodUnit: 'seconds', grace: 10, graceUnit: 'seconds' },
      },
    },
  ];
}
