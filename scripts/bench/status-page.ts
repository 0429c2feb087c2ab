/**
 * `npm run bench -- status-page`: a status page of twenty services with ninety days behind them, as many
 * visitors as one core takes: with the page read anew every second, and told that nothing has changed.
 */
import type { System } from '../../test/support/system.ts';
import { measureHttp, shownHttp, type Bench } from './load.ts';
import { inTurns, show } from './measure.ts';

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

/** Requests a second, their latency, and what one of them costs. */
export async function benchStatusPage({ system, rounds }: Bench): Promise<void> {
  const path = await seed(system);
  const pid = system.controlPlane.child.pid ?? 0;
  const url = system.baseUrl + path;
  const gzip = { 'accept-encoding': 'gzip' };
  const packed = await fetch(url, { headers: gzip });
  await packed.arrayBuffer();
  const unchanged = { 'if-none-match': packed.headers.get('etag') ?? '' };
  const ways = {
    'status page, gzip': () => measureHttp(pid, { url, headers: gzip }),
    'status page, plain': () => measureHttp(pid, { url }),
    'status page, unchanged': () => measureHttp(pid, { url, headers: unchanged }),
    'summary.json, gzip': () =>
      measureHttp(pid, { url: `${url}/api/v2/summary.json`, headers: gzip }),
  };
  for (const [label, costs] of Object.entries(await inTurns(ways, rounds))) {
    show(label, shownHttp(costs));
  }
}
