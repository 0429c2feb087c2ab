/** Alerts whose outage lasts, and the alerts of one group. */
import type { DataAt } from '../contract.ts';
import { useState } from 'preact/hooks';
import { Decisions, alertState, type AlertDecision } from '../parts/decisions.tsx';
import { State } from '../parts/icons.tsx';
import { Facts, Section, Select } from '../parts/layout.tsx';
import { List } from '../parts/list.tsx';
import { Answer, Empty } from '../parts/notices.tsx';
import { Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { changeQuery, choosing, link } from '../router.ts';
import { AlertActions, Taken, type CheckAlert } from './alert-actions.tsx';

type AlertGroup = DataAt<'v1/alert-groups'>[number];

const refreshMs = 20_000;
/** A decision and its alert are written together, within this time. */
const besideSeconds = 60;

/** Without `onDone` it offers no actions. */
export function Alert({
  alert,
  onDone,
  isOfCheck = false,
}: {
  alert: CheckAlert;
  onDone?: () => Promise<unknown>;
  isOfCheck?: boolean;
}) {
  const [isShown, setShown] = useState(false);
  const at = Math.floor(Date.parse(alert.created_at) / 1000);
  return (
    <>
      <tr>
        <td>
          <State {...alertState(alert.alertType)} />
        </td>
        <th scope="row">
          {!isOfCheck && <a href={link('checks', alert.checkId)}>{alert.name}</a>}
          <span class="under">
            <Time at={alert.created_at} />
            {alert.runLocation && <span>{alert.runLocation}</span>}
            <span class="breakable">{alert.error ?? ''}</span>
            <Taken alert={alert} />
          </span>
          {alert.open && onDone !== undefined && (
            <AlertActions
              place="check-alerts"
              id={alert.id}
              about={alert.name}
              checkId={isOfCheck ? undefined : alert.checkId}
              onDone={onDone}
            />
          )}
        </th>
        <td class="right">
          <button type="button" aria-expanded={isShown} onClick={() => setShown(!isShown)}>
            Why
          </button>
        </td>
      </tr>
      {isShown && (
        <tr>
          <td colspan={3}>
            <Decisions
              checkId={alert.checkId}
              query={{ from: at - besideSeconds, to: at + besideSeconds }}
              pick={({ checkAlertId }: AlertDecision) => checkAlertId === alert.id}
            />
          </td>
        </tr>
      )}
    </>
  );
}

export const alertColumns = ['Alert', 'Check', ''];

/** The open alerts of all checks. */
export function OpenAlerts() {
  const read = useQuery('v1/check-alerts', {
    query: { limit: 100, open: true },
    everyMs: refreshMs,
  });
  return (
    <Section title="Open alerts">
      {List({
        read,
        label: 'Open alerts',
        columns: alertColumns,
        pick: (all) => all,
        row: (alert) => <Alert key={alert.id} alert={alert} onDone={read.reload} />,
        empty: <p class="notice empty">No alert is open.</p>,
        after: ({ length }) =>
          (read.total ?? 0) > length && (
            <p class="muted">
              The newest {length} of {read.total}.
            </p>
          ),
      })}
    </Section>
  );
}

/** The open alert of a check, if there is one. */
export function OpenAlertOfCheck({ checkId }: { checkId: string }) {
  const read = useQuery(`v1/check-alerts/${encodeURIComponent(checkId)}`, {
    query: { limit: 1, open: true },
    everyMs: refreshMs,
  });
  if (read.data === undefined || read.data.length === 0) return null;
  return List({
    read,
    label: 'Open alert',
    columns: alertColumns,
    pick: (all) => all,
    row: (alert) => <Alert key={alert.id} alert={alert} onDone={read.reload} isOfCheck />,
  });
}

const nameOf = ({ cause }: AlertGroup) => cause?.text ?? 'several causes';

/** Chooses one of the newest groups; nothing where no channel groups. */
export function GroupChoice() {
  const { data = [] } = useQuery('v1/alert-groups', { query: { limit: 20 }, everyMs: refreshMs });
  if (data.length === 0) return null;
  return (
    <Select
      label="Only the group"
      value=""
      options={[
        ['', 'All alerts'],
        ...data.map(
          (group) =>
            [group.id, `${nameOf(group)}, ${new Date(group.created_at).toLocaleString()}`] as const,
        ),
      ]}
      onChange={choosing('group')}
    />
  );
}

/** The alerts of one group of a channel. */
export function GroupAlerts({ id }: { id: string }) {
  const group = useQuery(`v1/alert-groups/${encodeURIComponent(id)}`, { everyMs: refreshMs });
  const read = useQuery('v1/check-alerts', {
    query: { limit: 100, alertGroupId: id },
    everyMs: refreshMs,
  });
  const reload = () => Promise.all([group.reload(), read.reload()]);
  const all = (
    <button type="button" onClick={() => changeQuery({ group: '' }, { replace: false })}>
      All alerts
    </button>
  );
  return (
    <Section title="Alerts of a group" aside={all}>
      {Answer({
        read: group,
        what: 'Loading the group',
        isEmpty: () => false,
        children: (data) => (
          <>
            <Facts
              entries={[
                ['They share', nameOf(data)],
                ['Began', <Time at={data.created_at} />],
                ['Last notification', <Time at={data.lastSentAt} />],
                ['Notifications', data.notifications],
              ]}
            />
            {(read.data ?? []).some(({ open }) => open) && (
              <>
                <p>All open alerts of this group:</p>
                <AlertActions
                  place="alert-groups"
                  id={data.id}
                  about="all alerts of this group"
                  onDone={reload}
                />
              </>
            )}
          </>
        ),
      })}
      {List({
        read,
        label: 'Alerts of the group',
        columns: alertColumns,
        pick: (all) => all,
        row: (alert) => <Alert key={alert.id} alert={alert} onDone={reload} />,
        empty: <Empty title="The alerts of this group are not kept any more" />,
        after: ({ length }) =>
          (read.total ?? 0) > length && (
            <p class="muted">
              The newest {length} of {read.total}.
            </p>
          ),
      })}
    </Section>
  );
}
