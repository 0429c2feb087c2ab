/** The page of a check: state, figures, results, alerts and settings. */
import type { Check, CheckOverview } from '../contract.ts';
import { checkTypes } from '../facts.ts';
import { every, inNumbers, safeLink, typeName } from '../format.ts';
import { Decisions } from '../parts/decisions.tsx';
import { State } from '../parts/icons.tsx';
import { Facts, Section, Tags } from '../parts/layout.tsx';
import { wordsOf, Pending } from '../parts/notices.tsx';
import { Ago, Time } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { link, type Query } from '../router.ts';
import { isPinged, states } from '../state.ts';
import { CheckActions } from './check-actions.tsx';
import { CheckHeartbeat } from './check-heartbeat.tsx';
import { CheckNumbers } from './check-numbers.tsx';
import { CheckResults } from './check-results.tsx';
import { CheckTests } from './check-tests.tsx';
import { CheckSettings } from './check-settings.tsx';
import { ErrorGroups } from './error-groups.tsx';
import { AlertsOfCheck } from './alerts.tsx';
import { OpenRuns } from './open-runs.tsx';

const refreshMs = 15_000;

function valueAt(value: unknown, [key, ...further]: string[]): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return value;
  return valueAt(new Map(Object.entries(value)).get(key), further);
}

/**
 * The target of a check in one line: the template of its type, filled with the fields of the check.
 */
export function targetOf(check: Check) {
  const text = checkTypes[check.checkType]?.target ?? '';
  return text.replace(/\{([^}]+)\}/g, (_all, path) =>
    String(valueAt(check, path.split('.')) ?? ''),
  );
}

function Target({ check }: { check: Check }) {
  const target = targetOf(check);
  return /^https?:/i.test(target) && safeLink(target) ? (
    <a class="mono" href={target} rel="noreferrer noopener" target="_blank">
      {target}
    </a>
  ) : (
    target && <span class="mono">{target}</span>
  );
}

/** Explains what keeps this check from conclusive results. */
function Warnings({ overview }: { overview: CheckOverview }) {
  const { unservedLocations, hasErrors, maintenance, muted, state } = overview;
  return (
    <>
      {overview.status === 'UNPLACED' && (
        <p class="notice error">
          This monitor has no location, so it does not run.{' '}
          <a href={link('edit', 'check', overview.id)}>Add a location</a>
        </p>
      )}
      {unservedLocations.length > 0 && (
        <p class="notice error">
          No agent serves {unservedLocations.join(', ')} at the moment, so the monitor does not run
          there. <a href={link('locations')}>Show locations</a>
        </p>
      )}
      {hasErrors && (
        <p class="notice error">
          The latest run ended with an agent error, which says nothing about the target
          {state === 'UNKNOWN' ? '' : `. Before it was ${states[state].word.toLowerCase()}`}.
        </p>
      )}
      {maintenance !== null && (
        <p class="notice warning">
          In maintenance “{maintenance.name}” until <Time at={maintenance.endsAt} />.
        </p>
      )}
      {muted && <p class="notice">Muted: failures send no notifications.</p>}
    </>
  );
}

function Head({ overview, check }: { overview: CheckOverview; check: Check | undefined }) {
  const { word, tone } = states[overview.status];
  return (
    <>
      <div class="title-line">
        <h1>{overview.name}</h1>
        <State tone={tone} word={word} />
        <CheckActions overview={overview} check={check} />
      </div>
      <Facts
        entries={[
          ['Type', typeName(overview.checkType)],
          ['Target', check && targetOf(check) && <Target check={check} />],
          ['Interval', isPinged(overview) ? null : every(overview)],
          ['Locations', overview.locations.join(', ')],
          ['Group', overview.groupName],
          ['Tags', overview.tags.length > 0 && <Tags tags={overview.tags} />],
          ['Last run', <Ago at={overview.lastRunAt} fallback="not yet" />],
          [
            'Certificate',
            overview.sslDaysRemaining !== null &&
              `${inNumbers(overview.sslDaysRemaining)} days until it expires`,
          ],
        ]}
      />
      {check?.description && <p class="muted">{check.description}</p>}
      <Warnings overview={overview} />
    </>
  );
}

export function CheckView({ checkId, query }: { checkId: string; query: Query }) {
  const overviewRead = useQuery('v1/check-overview', {
    query: { checkId, runs: 60 },
    everyMs: refreshMs,
  });
  const checkRead = useQuery(`v1/checks/${encodeURIComponent(checkId)}`, {
    query: { includeDependencies: false },
  });
  const overview = overviewRead.data?.[0];
  const crumbs = (
    <p class="crumbs">
      <a href={link('checks')}>Monitors</a>
    </p>
  );
  if (overview === undefined) {
    return (
      <>
        {crumbs}
        <h1>Monitor</h1>
        <Pending read={overviewRead} what="Loading the monitor" />
      </>
    );
  }
  return (
    <>
      {crumbs}
      {overviewRead.problem !== null && (
        <p class="notice stale" role="status">
          {wordsOf(overviewRead.problem)}
        </p>
      )}
      <Head overview={overview} check={checkRead.data} />
      <CheckNumbers
        overview={overview}
        {...{ range: query.range, statistic: query.statistic, compare: query.compare }}
      />
      {isPinged(overview) && <CheckHeartbeat check={checkRead.data} checkId={checkId} />}
      {!isPinged(overview) && <OpenRuns checkId={checkId} />}
      {checkTypes[overview.checkType]?.hasTests === true && (
        <CheckTests checkId={checkId} check={checkRead.data} />
      )}
      <CheckResults overview={overview} query={query} />
      <ErrorGroups checkId={checkId} />
      <Section title="Alerts" aside={<a href={link('alerts')}>All alerts</a>}>
        <AlertsOfCheck checkId={checkId} />
        <Decisions checkId={checkId} everyMs={60_000} />
      </Section>
      <Section
        title="Settings"
        aside={
          <a class="button" href={link('edit', 'check', checkId)}>
            Edit
          </a>
        }
      >
        {checkRead.data === undefined ? (
          <Pending read={checkRead} what="Loading settings" />
        ) : (
          <CheckSettings check={checkRead.data} />
        )}
      </Section>
    </>
  );
}
