/** What a status page of selected checks writes besides itself, once it is saved. */
import type { CheckOverview } from '../contract.ts';
import { call, changeNow } from '../api.ts';
import { toProblem } from '../problem.ts';
import { useRef, useState } from 'preact/hooks';
import { count } from '../format.ts';
import { wordsOf } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import type { Create } from './form.tsx';
import { keepOnce } from './shown-once.ts';
import { isValues, type Values } from './values.ts';

function triggerOf({ name }: CheckOverview, serviceId: string) {
  return {
    ...{ serviceId, severity: 'MAJOR', name: `${name} is down`, notifySubscribers: false },
    description: "We're investigating.",
  };
}

/** The page with the services in its first card. */
function withServices(page: Values, ids: string[]) {
  const [first, ...others] = Array.isArray(page.cards) ? page.cards : [];
  const card = isValues(first) ? first : { name: 'Services' };
  const own = Array.isArray(card.services) ? card.services : [];
  const services = [...own, ...[...new Set(ids)].map((id) => ({ id }))];
  return { ...page, cards: [{ ...card, services }, ...others] };
}

/** What the form of a new page says and does about these checks; nothing without any. */
export function usePageOfChecks(ids: string | undefined = '') {
  const wanted = ids.split(',').filter(Boolean);
  const query = { checkId: wanted };
  const read = useQuery(wanted.length === 0 ? null : 'v1/check-overview', { query });
  const [opens, setOpens] = useState(false);
  // A second try makes nothing twice.
  const services = useRef<Map<string, string>>(new Map()).current;
  if (wanted.length === 0) return {};
  const names = (read.data ?? []).map(({ name }) => name).join(', ');
  const above = () => (
    <section class="card">
      <p>
        Saving makes {count(wanted.length, 'service')}, one for each monitor, in the first card of
        the page: {names}. A monitor that already opens incidents brings the service on which it
        does. Until you save, nothing is written.
      </p>
      <label class="check-field">
        <input
          type="checkbox"
          checked={opens}
          onChange={({ currentTarget }) => setOpens(currentTarget.checked)}
        />
        <span>
          Saving also changes these monitors: a failure opens a major incident on the service, which
          the page shows. Subscribers are not notified of it. Without it, the page shows the
          incidents that people write.
        </span>
      </label>
    </section>
  );
  const create: Create = async (page, post) => {
    const { data: checks } = await call('v1/check-overview', { query });
    const without: CheckOverview[] = [];
    for (const check of checks) {
      const { data } = await call(`v1/checks/${check.id}`);
      if (data.triggerIncident !== null) services.set(check.id, data.triggerIncident.serviceId);
      else without.push(check);
      if (services.has(check.id)) continue;
      const body = { name: check.name, follows: { checkIds: [check.id] } };
      const service = await call('v1/status-pages/services', { method: 'POST', body });
      services.set(check.id, service.data.id);
    }
    const made = await post(withServices(page, [...services.values()]));
    const refused = [];
    for (const check of opens ? without : []) {
      const triggerIncident = triggerOf(check, services.get(check.id) ?? '');
      try {
        await changeNow(`v1/checks/${check.id}`, (now) =>
          now.triggerIncident === null ? { triggerIncident } : {},
        );
      } catch (error) {
        refused.push(`${check.name}: ${wordsOf(toProblem(error))}`);
      }
    }
    // The page is there: another Save would be of what is typed by then.
    if (refused.length > 0) {
      keepOnce('page', `The page is saved, these monitors are not. ${refused.join(' ')}`);
    }
    return made;
  };
  return { above, create };
}
