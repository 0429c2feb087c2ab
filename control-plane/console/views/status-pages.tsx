/** Status pages, with their public addresses. */
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { besideConsole } from '../api.ts';
import { takeOnce } from '../forms/shown-once.ts';
import { count } from '../format.ts';
import { NewLink } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Empty, Refusal } from '../parts/notices.tsx';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';

type StatusPageEntry = DataAt<'v1/status-pages'>['entries'][number];

function StatusPage({ page }: { page: StatusPageEntry }) {
  const { name, url, customDomain, customDomainChallenge, isPrivate, cards } = page;
  const isProven = page.customDomainStatus === 'VERIFIED';
  const address = isProven
    ? `https://${customDomain}/`
    : besideConsole(`status/${encodeURIComponent(url)}`);
  const services = cards.flatMap((card) => card.services).length;
  return (
    <tr>
      <th scope="row">
        <a href={link('edit', 'page', page.id)}>{name}</a>{' '}
        {isPrivate && <span class="tag">private</span>}
      </th>
      <td>
        <a href={address} rel="noopener" target="_blank">
          {isProven ? customDomain : `/status/${url}`}
        </a>
        {customDomain && !isProven && (
          <p class="muted">
            Not served at {customDomain} before a TXT record
            <code>{customDomainChallenge?.name}</code> says{' '}
            <code>{customDomainChallenge?.txt}</code>.
          </p>
        )}
      </td>
      <td>
        {count(cards.length, 'card')}, {count(services, 'service')}
      </td>
    </tr>
  );
}

export function StatusPagesView() {
  const pages = useQuery('v1/status-pages', { query: { limit: 50 } });
  const [refused] = useState(() => takeOnce('page'));
  return (
    <>
      <div class="title-line">
        <h1>Status pages</h1>
        <div class="actions">
          <NewLink name="page" word="New status page" kind="primary" />
        </div>
      </div>
      <Refusal text={refused} />
      {List({
        read: pages,
        label: 'Status pages',
        columns: ['Page', 'Address', 'Content'],
        pick: ({ entries }) => entries,
        row: (page) => <StatusPage key={page.id} page={page} />,
        empty: <Empty title="No status pages yet" />,
      })}
    </>
  );
}
