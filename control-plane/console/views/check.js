/** The page of a check: state, figures, results, alerts and settings. */
/** @import { Check, CheckOverview } from '../contract.ts' */
/** @import { Query } from '../router.js' */
import { html } from '../dom.js';
import { checkTypes } from '../facts.js';
import { every, inNumbers, safeLink, typeName } from '../format.js';
import { Decisions } from '../parts/decisions.js';
import { State } from '../parts/icons.js';
import { Facts, Section, Tags } from '../parts/layout.js';
import { Failure, Loading, wordsOf } from '../parts/notices.js';
import { Ago, Time } from '../parts/time.js';
import { useQuery } from '../query.js';
import { link } from '../router.js';
import { isPinged, stateOfCheck, states } from '../state.js';
import { CheckActions } from './check-actions.js';
import { CheckHeartbeat } from './check-heartbeat.js';
import { CheckNumbers } from './check-numbers.js';
import { CheckResults } from './check-results.js';
import { CheckSettings } from './check-settings.js';
import { ErrorGroups } from './error-groups.js';
import { OpenAlertOfCheck } from './open-alerts.js';
import { OpenRuns } from './open-runs.js';

const refreshMs = 15_000;

/**
 * @param {unknown} value
 * @param {string[]} path
 * @returns {unknown}
 */
function valueAt(value, [key, ...further]) {
  if (key === undefined || typeof value !== 'object' || value === null) return value;
  return valueAt(new Map(Object.entries(value)).get(key), further);
}

/**
 * The target of a check in one line: the template of its type, filled with the fields of the check.
 * @param {Check} check
 */
export function targetOf(check) {
  const text = checkTypes[check.checkType]?.target ?? '';
  return text.replace(/\{([^}]+)\}/g, (_all, path) =>
    String(valueAt(check, path.split('.')) ?? ''),
  );
}

/** @param {{ check: Check }} props */
function Target({ check }) {
  const target = targetOf(check);
  return /^https?:/i.test(target) && safeLink(target)
    ? html`<a class="mono" href=${target} rel="noreferrer noopener" target="_blank">${target}</a>`
    : target && html`<span class="mono">${target}</span>`;
}

/**
 * Explains what keeps this check from conclusive results.
 * @param {{ overview: CheckOverview }} props
 */
function Warnings({ overview }) {
  const { unservedLocations, hasErrors, maintenance, muted, state } = overview;
  return html`${
    stateOfCheck(overview) === 'UNPLACED' &&
    html`<p class="notice error">
      The check has no location: nobody runs it.${' '}
      <a href=${link('edit', 'check', overview.id)}>Give it one</a>.
    </p>`
  }
  ${
    unservedLocations.length > 0 &&
    html`<p class="notice error">
      No agent serves ${unservedLocations.join(', ')} at the moment: the check does not run there.${' '}
      <a href=${link('agents')}>Look at the agents</a>
    </p>`
  }
  ${
    hasErrors &&
    html`<p class="notice error">
      The newest run could not be carried out. That is an agent error and says nothing about
      the
      target${state === 'UNKNOWN' ? '' : `, which was ${states[state].word.toLowerCase()} before`}.
    </p>`
  }
  ${
    maintenance !== null &&
    html`<p class="notice warning">
      In maintenance “${maintenance.name}” until <${Time} at=${maintenance.endsAt} />.
    </p>`
  }
  ${muted && html`<p class="notice">Muted: no notifications are sent when it fails.</p>`}`;
}

/** @param {{ overview: CheckOverview, check?: Check, reload: () => Promise<unknown> }} props */
function Head({ overview, check, reload }) {
  const { word, tone } = states[stateOfCheck(overview)];
  return html`<div class="title-line">
      <h1>${overview.name}</h1>
      <${State} tone=${tone} word=${word} />
      <${CheckActions} overview=${overview} check=${check} reload=${reload} />
    </div>
    <${Facts}
      entries=${[
        ['Type', typeName(overview.checkType)],
        ['Looks at', check && targetOf(check) && html`<${Target} check=${check} />`],
        ['Every', isPinged(overview) ? null : every(overview)],
        ['Locations', overview.locations.join(', ')],
        ['Group', overview.groupName],
        ['Tags', overview.tags.length > 0 && html`<${Tags} tags=${overview.tags} />`],
        ['Last run', html`<${Ago} at=${overview.lastRunAt} fallback="not yet" />`],
        [
          'Certificate',
          overview.sslDaysRemaining !== null &&
            `${inNumbers(overview.sslDaysRemaining)} days until it expires`,
        ],
      ]}
    />
    ${check?.description && html`<p class="muted">${check.description}</p>`}
    <${Warnings} overview=${overview} />`;
}

/** @param {{ checkId: string, query: Query }} props */
export function CheckView({ checkId, query }) {
  const overviewRead = useQuery('v1/check-overview', {
    query: { checkId, runs: 60 },
    everyMs: refreshMs,
  });
  const checkRead = useQuery(`v1/checks/${encodeURIComponent(checkId)}`, {
    query: { includeDependencies: false },
  });
  const overview = overviewRead.data?.[0];
  const crumbs = html`<p class="crumbs"><a href=${link('checks')}>Checks</a></p>`;
  if (overview === undefined) {
    return html`${crumbs}
    ${
      overviewRead.problem === null
        ? html`<h1>Check</h1>
            <${Loading} what="Loading the check" />`
        : html`<h1>Check</h1>
            <${Failure} problem=${overviewRead.problem} reload=${overviewRead.reload} />`
    }`;
  }
  const reload = () => Promise.all([overviewRead.reload(), checkRead.reload()]);
  return html`${crumbs}
    ${
      overviewRead.problem !== null &&
      html`<p class="notice stale" role="status">${wordsOf(overviewRead.problem)}</p>`
    }
    <${Head} overview=${overview} check=${checkRead.data} reload=${reload} />
    <${CheckNumbers} overview=${overview} range=${query.range} statistic=${query.statistic} />
    ${isPinged(overview) && html`<${CheckHeartbeat} check=${checkRead.data} checkId=${checkId} />`}
    ${!isPinged(overview) && html`<${OpenRuns} checkId=${checkId} />`}
    <${CheckResults} overview=${overview} query=${query} />
    <${ErrorGroups} checkId=${checkId} />
    <${Section}
      title="Alerts and why"
      aside=${html`<a href=${link('alerts')}>Alerts of all checks</a>`}
    >
      <${OpenAlertOfCheck} checkId=${checkId} />
      <${Decisions} checkId=${checkId} everyMs=${60_000} />
    <//>
    <${Section}
      title="Settings"
      aside=${html`<a class="button" href=${link('edit', 'check', checkId)}>Change</a>`}
    >
      ${
        checkRead.data === undefined
          ? checkRead.problem === null
            ? html`<${Loading} what="Loading settings" />`
            : html`<${Failure} problem=${checkRead.problem} reload=${checkRead.reload} />`
          : html`<${CheckSettings} check=${checkRead.data} />`
      }
    <//>`;
}
