/** The alerting decisions about a check: why alerts were sent or not. */
/** @import { CallOptions, DataAt } from '../contract.ts' */
/** @import { Tone } from '../state.js' */
/** @typedef {`v1/check-alerts/${string}/decisions`} DecisionsPath */
/** @typedef {DataAt<DecisionsPath>[number]} AlertDecision */
/** @typedef {DataAt<'v1/check-alerts'>[number]['alertType']} AlertType */
import { html } from '../dom.js';
import { inWords } from '../format.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { List } from './list.js';
import { Empty } from './notices.js';
import { Time } from './time.js';

/**
 * Tone and words of alert types.
 * @type {Record<AlertType, [Tone, string]>}
 */
const alerts = {
  NO_ALERT: ['quiet', 'No alert'],
  ALERT_FAILURE: ['bad', 'Failing'],
  ALERT_FAILURE_REMAIN: ['bad', 'Still failing'],
  ALERT_FAILURE_DEGRADED: ['warn', 'Degraded after failing'],
  ALERT_RECOVERY: ['good', 'Recovered'],
  ALERT_DEGRADED: ['warn', 'Degraded'],
  ALERT_DEGRADED_REMAIN: ['warn', 'Still degraded'],
  ALERT_DEGRADED_FAILURE: ['bad', 'Failing after degraded'],
  ALERT_DEGRADED_RECOVERY: ['good', 'Recovered'],
  ALERT_SSL: ['warn', 'Certificate expires'],
};

/**
 * `{ tone, word }` of an alert type.
 * @param {AlertType} type
 */
export function alertState(type) {
  const [tone, word] = alerts[type];
  return { tone, word };
}

/** @param {{ channel: AlertDecision['channels'][number] }} props */
function Channel({ channel: { type, alertChannelId, sent, explanation } }) {
  return html`<span class="tag" title=${explanation}>
    ${inWords(type)} ${alertChannelId}: ${sent ? 'notified' : `not notified, ${explanation}`}
  </span>`;
}

/** @param {{ decision: AlertDecision }} props */
function Decision({ decision }) {
  const { checkId, checkResultId, alertType, outcome, channels } = decision;
  const { tone, word } = alertState(alertType);
  return html`<tr>
    <th scope="row"><${Time} at=${decision.created_at} /></th>
    <td>
      <span class=${tone}>${word}</span>
      <span class="under">${inWords(outcome)}</span>
    </td>
    <td>
      ${decision.explanation}
      <span class="under">
        ${channels.map((channel, index) => html`<${Channel} key=${index} channel=${channel} />`)}
        ${
          checkResultId &&
          html`
          <a href=${link('checks', checkId, 'results', checkResultId)}>the result</a>
        `
        }
      </span>
    </td>
  </tr>`;
}

/**
 * The decisions of a check. `query` filters on the server, `pick` in the browser.
 * @param {{
 *   checkId: string,
 *   query?: CallOptions<'GET', DecisionsPath>['query'],
 *   pick?: (decision: AlertDecision) => boolean,
 *   everyMs?: number | null,
 * }} props
 */
export function Decisions({ checkId, query = {}, pick = () => true, everyMs = null }) {
  const read = useQuery(`v1/check-alerts/${encodeURIComponent(checkId)}/decisions`, {
    query: { limit: 20, ...query },
    everyMs,
  });
  if (read.problem?.status === 404 && read.data === undefined) {
    return html`<${Empty} title="Nothing is known about it" />`;
  }
  return List({
    read,
    label: 'Decisions about alerts',
    columns: ['When', 'Alert', 'Why'],
    pick: (decisions) => decisions.filter(pick),
    row: (one, index) => html`<${Decision} key=${one.id ?? index} decision=${one} />`,
    empty: html`<${Empty} title="Nothing was decided lately">
      Passing runs of a passing check need no decision.
    <//>`,
  });
}
