/** The alerting decisions about a check: why alerts were sent or not. */
import type { CallOptions, DataAt } from '../contract.ts';
import type { Tone } from '../state.ts';
import { inWords } from '../format.ts';
import { useQuery } from '../query.ts';
import { link } from '../router.ts';
import { List } from './list.tsx';
import { Empty } from './notices.tsx';
import { Time } from './time.tsx';

type DecisionsPath = `v1/check-alerts/${string}/decisions`;

export type AlertDecision = DataAt<DecisionsPath>[number];

type AlertType = DataAt<'v1/check-alerts'>[number]['alertType'];

/** Tone and words of alert types. */
const alerts: Record<AlertType, [Tone, string]> = {
  NO_ALERT: ['quiet', 'No alert'],
  ALERT_FAILURE: ['bad', 'Failing'],
  ALERT_FAILURE_REMAIN: ['bad', 'Still failing'],
  ALERT_FAILURE_DEGRADED: ['warn', 'Degraded (was failing)'],
  ALERT_RECOVERY: ['good', 'Recovered'],
  ALERT_DEGRADED: ['warn', 'Degraded'],
  ALERT_DEGRADED_REMAIN: ['warn', 'Still degraded'],
  ALERT_DEGRADED_FAILURE: ['bad', 'Failing (was degraded)'],
  ALERT_DEGRADED_RECOVERY: ['good', 'Recovered'],
  ALERT_SSL: ['warn', 'Certificate expires'],
};

/** `{ tone, word }` of an alert type. */
export function alertState(type: AlertType) {
  const [tone, word] = alerts[type];
  return { tone, word };
}

function Channel({
  channel: { type, alertChannelId, sent, explanation },
}: {
  channel: AlertDecision['channels'][number];
}) {
  return (
    <span class="tag" title={explanation}>
      {inWords(type)} {alertChannelId}: {sent ? 'notified' : `not notified, ${explanation}`}
    </span>
  );
}

function Decision({ decision }: { decision: AlertDecision }) {
  const { checkId, checkResultId, alertType, outcome, channels } = decision;
  const { tone, word } = alertState(alertType);
  return (
    <tr>
      <th scope="row">
        <Time at={decision.created_at} />
      </th>
      <td>
        <span class={tone}>{word}</span>
        <span class="under">{inWords(outcome)}</span>
      </td>
      <td>
        {decision.explanation}
        <span class="under">
          {channels.map((channel, index) => (
            <Channel key={index} channel={channel} />
          ))}
          {checkResultId && (
            <a href={link('checks', checkId, 'results', checkResultId)}>the result</a>
          )}
        </span>
      </td>
    </tr>
  );
}

interface DecisionsProps {
  checkId: string;
  query?: CallOptions<'GET', DecisionsPath>['query'];
  pick?: (decision: AlertDecision) => boolean;
  everyMs?: number | null;
}

/** The decisions of a check. `query` filters on the server, `pick` in the browser. */
export function Decisions({
  checkId,
  query = {},
  pick = () => true,
  everyMs = null,
}: DecisionsProps) {
  const read = useQuery(`v1/check-alerts/${encodeURIComponent(checkId)}/decisions`, {
    query: { limit: 20, ...query },
    everyMs,
  });
  if (read.problem?.status === 404 && read.data === undefined) {
    return <Empty title="Nothing is known about it" />;
  }
  return List({
    read,
    label: 'Decisions about alerts',
    columns: ['When', 'Alert', 'Why'],
    pick: (decisions) => decisions.filter(pick),
    row: (one, index) => <Decision key={one.id ?? index} decision={one} />,
    empty: <Empty title="No recent alert decisions" />,
  });
}
