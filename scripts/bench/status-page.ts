/**
 * `npm run bench -- status-page`: a status page of twenty services with ninety days behind them, as many
 * visitors as one core takes: with the page read anew every second, and told that nothing has changed.
 */
import { System, temporaryFolder } from '../../test/support/system.ts';
import { measureHttp, shownHttp, type HttpCost } from './load.ts';
import { show } from './show.ts';

const hour = 3_600_000;

/** Gives the path of a page with incidents and maintenance. */
async function seed(system: System): Promise<string> {
  const services: { id: string; name: string }[] = [];
  for (let index = 0; index < 20; index += 1) {
    const name = `Service number ${index}`;
    services.push(await system.api('POST', '/v1/status-pages/services', { name }));
  }
  const cards = [0, 5, 10, 15].map((from) => ({
    name: `Card ${from}`,
    services: services.slice(from, from + 5),
  }));
  await system.api('POST', '/v1/status-pages', { name: 'Bench', url: 'bench', cards });
  const now = Date.now();
  for (let index = 0; index < 40; index += 1) {
    const from = now - (index + 1) * 2 * 24 * hour;
    const at = (instant: number) => ({ publicIncidentUpdateDate: new Date(instant).toISOString() });
    await system.api('POST', '/v1/status-pages/incidents', {
      name: `Incident ${index}`,
      severity: 'MAJOR',
      services: [services[index % services.length]],
      incidentUpdates: [
        { description: 'Something is slow.', status: 'INVESTIGATING', ...at(from) },
        { description: 'All is well again.', status: 'RESOLVED', ...at(from + hour) },
      ],
    });
  }
  return '/status/bench';
}

/** Requests a second, their latency, and what one of them costs and weighs. */
export async function benchStatusPage({ rounds }: { rounds: number }): Promise<void> {
  using folder = temporaryFolder();
  await using system = await System.start(folder.path, { CHECK_RESPONSES: 'false' });
  const path = await seed(system);
  const pid = system.controlPlane.child.pid ?? 0;
  const url = system.baseUrl + path;
  const sample = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
  const plainBytes = (await sample.arrayBuffer()).byteLength;
  const packed = await fetch(url, { headers: { 'accept-encoding': 'gzip' } });
  await packed.arrayBuffer();
  const etag = packed.headers.get('etag') ?? '';
  const loads = [
    { label: 'status page, gzip', path: '', headers: { 'accept-encoding': 'gzip' } },
    { label: 'status page, plain', path: '', headers: {} },
    { label: 'status page, unchanged', path: '', headers: { 'if-none-match': etag } },
    {
      label: 'summary.json, gzip',
      path: '/api/v2/summary.json',
      headers: { 'accept-encoding': 'gzip' },
    },
  ];
  console.log(`page: ${plainBytes} bytes, ${packed.headers.get('content-length')} with gzip`);
  for (const { label, path: below, headers } of loads) {
    const costs: HttpCost[] = [];
    for (let round = 0; round < rounds; round += 1) {
      costs.push(await measureHttp(pid, { url: url + below, headers }));
    }
    show(label, shownHttp(costs));
  }
}
