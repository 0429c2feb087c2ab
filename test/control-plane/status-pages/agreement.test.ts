// PostgreSQL in the long tier: pages.test.ts and incident-automation.test.ts run its statements on both.
/** The page, its badge, its JSON, its feeds and the API say the same, and what is true. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { isLong, seededRandom } from '../../support/random.ts';
import {
  hour,
  iso,
  minute,
  PageVisitor,
  start,
  toldBy,
  type Service,
} from '../../support/page-visitor.ts';

const words: Record<string, string> = {
  major_outage: 'Major outage',
  partial_outage: 'Partial outage',
  degraded_performance: 'Degraded performance',
  under_maintenance: 'Under maintenance',
  operational: 'Operational',
};
const fromWorst = Object.keys(words);
const stateOf: Record<string, string> = {
  CRITICAL: 'major_outage',
  MAJOR: 'partial_outage',
  MEDIUM: 'degraded_performance',
  MINOR: 'degraded_performance',
};
const indicatorOf: Record<string, string> = {
  major_outage: 'critical',
  partial_outage: 'major',
  degraded_performance: 'minor',
  under_maintenance: 'maintenance',
  operational: 'none',
};

const rounds = isLong ? 1_000 : 150;

/** What the test has done to an incident: its own account of it. */
interface Known {
  id: string;
  severity: string;
  services: Service[];
  updates: { at: number; status: string }[];
}

const worst = (states: string[]): string =>
  fromWorst.find((state) => states.includes(state)) ?? 'operational';

/** The newest of what was said up to an instant; undefined for nothing. */
function lastSaid({ updates }: Known, at: number): string | undefined {
  return updates
    .filter((update) => update.at <= at)
    .sort((left, right) => left.at - right.at)
    .at(-1)?.status;
}

test('page, badge, JSON, feeds and API agree in random states', async () => {
  await using visitor = await PageVisitor.open({ CHECK_RESPONSES: 'false' });
  const random = seededRandom(20261121);
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
  const services = await visitor.services('Search', 'Checkout', 'Login', 'Elsewhere');
  const [maintained] = services as [Service];
  const shown = services.slice(0, 3);
  await visitor.page(shown);
  await visitor.maintenance(maintained, {
    startsAt: iso(hour),
    endsAt: iso(2 * hour),
    repeatUnit: 'DAY',
  });

  let known: Known[] = [];
  const seen = new Set<string>();
  const change = async (): Promise<void> => {
    const now = visitor.clock.now() - start;
    const open = known.filter((one) => lastSaid(one, now) !== 'RESOLVED');
    const dice = random();
    if (known.length > 6) {
      const [oldest, ...rest] = known;
      await visitor.done('DELETE', `/v1/status-pages/incidents/${oldest?.id ?? ''}`);
      known = rest;
    } else if (dice < 0.35 || known.length === 0) {
      const affected = services.filter(() => random() < 0.4);
      const one: Known = {
        id: '',
        severity: pick(Object.keys(stateOf)),
        services: affected.length === 0 ? [pick(services)] : affected,
        // Some are announced for later.
        updates: [{ at: now + (random() < 0.2 ? 90 * minute : 0), status: 'INVESTIGATING' }],
      };
      one.id = (await visitor.incident(one.services, one.severity, one.updates)).id;
      known.push(one);
    } else {
      const one = pick(open.length > 0 && random() < 0.8 ? open : known);
      const status = pick(['IDENTIFIED', 'MONITORING', 'RESOLVED', 'RESOLVED', 'INVESTIGATING']);
      const at = now + (random() < 0.15 ? 30 * minute : 0);
      if (one.updates.some((update) => update.at === at)) return;
      await visitor.done('POST', `/v1/status-pages/incidents/${one.id}/incident-updates`, {
        description: 'more',
        status,
        publicIncidentUpdateDate: iso(at),
      });
      one.updates.push({ at, status });
    }
  };

  for (let round = 0; round < rounds; round += 1) {
    visitor.pass(Math.floor(random() * 40) * minute);
    await change();
    const now = visitor.clock.now() - start;
    const open = known.filter((one) => {
      const last = lastSaid(one, now);
      const isShown = one.services.some(({ id }) => shown.some((service) => service.id === id));
      return last !== undefined && last !== 'RESOLVED' && isShown;
    });
    const isMaintained = now % (24 * hour) >= hour && now % (24 * hour) < 2 * hour;
    const states = new Map(
      shown.map(({ id, name }) => [
        name,
        worst([
          ...open
            .filter((one) => one.services.some((service) => service.id === id))
            .map(({ severity }) => stateOf[severity] ?? ''),
          ...(isMaintained && id === maintained.id ? ['under_maintenance'] : []),
        ]),
      ]),
    );
    const overall = worst([...states.values()]);
    const openIds = open.map(({ id }) => id).sort();
    seen.add(overall);

    // What is only written differently is asked for now and then.
    const isThorough = round % 10 === 0;
    const [page, badge, summary, rss, list] = await Promise.all([
      visitor.see('/'),
      visitor.json('/badge.json'),
      visitor.json('/api/v2/summary.json'),
      visitor.see('/feed.rss'),
      visitor.done('GET', '/v1/status-pages/incidents?limit=100'),
    ]);
    const context = `round ${round}`;
    const headline = overall === 'operational' ? 'All systems operational' : words[overall];
    const told = toldBy(page.text);
    assert.equal(told.headline, headline, context);
    assert.deepEqual(
      told.services,
      new Map([...states].map(([name, state]) => [name, words[state]])),
      context,
    );
    const current = page.text.split('id="past"')[0] ?? '';
    const linked = [...current.matchAll(/\/incidents\/([0-9a-f-]{36})">/g)].map(([, id]) => id);
    assert.deepEqual([...new Set(linked)].sort(), openIds, context);
    assert.equal(badge.message, words[overall]?.toLowerCase(), context);
    assert.deepEqual(
      summary.status,
      { indicator: indicatorOf[overall], description: headline },
      context,
    );
    assert.deepEqual(
      summary.components
        .filter(({ group }: { group: boolean }) => !group)
        .map(({ name, status }: { name: string; status: string }) => [name, status]),
      [...states],
      context,
    );
    const idsOf = ({ incidents }: { incidents: { id: string }[] }) =>
      incidents.map(({ id }) => id).sort();
    assert.deepEqual(idsOf(summary), openIds, context);
    if (isThorough) {
      const unresolved = await visitor.json('/api/v2/incidents/unresolved.json');
      assert.deepEqual(idsOf(unresolved), openIds, context);
      const { text: picture } = await visitor.see('/badge.svg');
      assert.ok(picture.includes(`Shop: ${badge.message}`), context);
      assert.equal((await visitor.json('/feed.json')).description, headline, context);
    }
    const ofRss = [
      ...rss.text.matchAll(/<!\[CDATA\[(\w+): Trouble\]\]>.*?\/incidents\/([0-9a-f-]{36})/gs),
    ]
      .filter(([, status]) => status !== 'Resolved')
      .map(([, , id]) => id);
    assert.deepEqual(ofRss.sort(), openIds, context);
    assert.ok(rss.text.includes(`<description>${headline}</description>`), context);
    const ofApi = list.entries
      .filter((one: { services: Service[]; incidentUpdates: Record<string, string>[] }) => {
        const [newest] = one.incidentUpdates.filter(
          ({ publicIncidentUpdateDate = '' }) =>
            Date.parse(publicIncidentUpdateDate) <= start + now,
        );
        const isShown = one.services.some(({ id }) => shown.some((service) => service.id === id));
        return newest !== undefined && newest['status'] !== 'RESOLVED' && isShown;
      })
      .map(({ id }: { id: string }) => id);
    assert.deepEqual(ofApi.sort(), openIds, context);
  }
  assert.equal(seen.size, fromWorst.length, 'every state was met');
});
