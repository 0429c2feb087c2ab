/**
 * What must be so at every moment: looked at after each commit of the control plane, and asked for by a reader of the
 * API and a visitor of the status page, who see what was so while they waited.
 */
import SqliteDatabase from 'better-sqlite3';
import { alertsAfter, type History, type Result } from './alerts.ts';
import { statements } from './files.ts';
import { overlaps, type AgentProgram } from './hosts.ts';
import type { Play } from './play.ts';
import { epoch } from './world.ts';

const second = 1_000;
/** How long after a step back of the clock results may still be stored at times that are yet to come. */
const stepNoticedMs = 60 * second;
/** Clocks of agents differ by so much, and a run may begin so early. */
const aheadMs = 5 * second;
/** A visitor may be shown what was so a little while ago. */
const snapshotMs = 2 * second;
/** While the control plane is busy, a visitor is shown what the one before was shown. */
const busyMs = 60 * second;
const askEveryMs = 15 * second;
const said = 5;
/** Worst first. */
const verdicts = ['failing', 'degraded', 'passing', 'unknown'] as const;

const statusesSql = `
  select s.check_id as id, c.group_id is not null and c.activated as counts, s.longest_run_ms as known,
    s.has_failures as failures, s.has_errors as errors, s.is_degraded as degraded
  from check_statuses s join checks c on c.id = s.check_id`;
const incidentsSql = `
  select c.id, (select alert_type from check_alerts a where a.check_id = c.id order by seq desc limit 1) as alert,
    (select u.status from incidents i join incident_updates u on u.incident_id = i.id
      where i.check_id = c.id order by i.seq desc, u.seq desc limit 1) as incident
  from checks c where c.activated = 1 and c.id in (select value from json_each(?))`;

const changedSql = `
  select check_id as id from check_results where seq > $results
  union select check_id from check_alerts where seq > $alerts`;
const upToSql = `
  select (select coalesce(max(seq), 0) from check_results) as results,
    (select coalesce(max(seq), 0) from check_alerts) as alerts`;
const resultsSql = `select result_type, has_failures, has_errors, is_degraded, is_cancelled,
    started_at, stopped_at, created_at
  from check_results where check_id = ? and result_type = 'FINAL' order by seq`;

interface Status {
  id: string;
  /** Whether the badge of the group speaks of it, and whether anything is known of its target. */
  counts: number;
  known: number | null;
  failures: number;
  errors: number;
  degraded: number;
}
type Reads = Record<
  | ('version' | 'statuses' | 'incidents' | 'newest' | 'changed' | 'upTo')
  | ('results' | 'alerts' | 'taken'),
  SqliteDatabase.Statement
>;

interface IncidentOfCheck {
  id: string;
  alert: string | null;
  incident: string | null;
}

/** What was so from an instant on. */
interface Seen {
  at: number;
  value: string;
}

export class Watch {
  readonly #play: Play;
  readonly wrong = new Set<string>();
  readonly #seen = new Map<string, Seen[]>();
  #db: SqliteDatabase.Database | null = null;
  #version: unknown = null;
  #statements = 0;
  #read: Reads | null = null;
  #upTo: unknown = { results: 0, alerts: 0 };
  /** The FINAL results of each check, as they were when it got one last. */
  readonly #results = new Map<string, { all: readonly Result[]; newest: readonly Result[] }>();

  constructor(play: Play) {
    this.#play = play;
  }

  #say(what: string): void {
    if (this.wrong.size >= said) return;
    this.wrong.add(`at ${(this.#play.world.now / second).toFixed(3)} s: ${what}`);
  }

  #nameOf(id: string): string {
    return this.#play.subjects.find((subject) => subject.id === id)?.name ?? id;
  }

  #open(): SqliteDatabase.Database | null {
    const { controlPlane } = this.#play;
    if (controlPlane.running === null) return null;
    if (this.#db?.open === true && this.#db.name === controlPlane.file) return this.#db;
    const db = new SqliteDatabase(controlPlane.file, { readonly: true });
    this.#db = db;
    this.#version = null;
    const newestSql = `select max(started_at) as at from check_results where result_type = 'FINAL'`;
    const alertsSql = `select alert_type as type, created_at as at from check_alerts where check_id = ? order by seq`;
    const takenSql = `select created_at as at, until_at as untilAt from alert_acknowledgements where check_id = ?`;
    this.#read = {
      version: db.prepare('pragma data_version').pluck(),
      ...{ statuses: db.prepare(statusesSql), incidents: db.prepare(incidentsSql) },
      ...{ newest: db.prepare(newestSql).pluck(), changed: db.prepare(changedSql) },
      ...{ upTo: db.prepare(upToSql), results: db.prepare(resultsSql) },
      ...{ alerts: db.prepare(alertsSql), taken: db.prepare(takenSql) },
    };
    return db;
  }

  /** Compares what is stored, where something was stored since the last look. */
  look(): void {
    if (statements.count === this.#statements) return;
    if (this.#open() === null || this.#read === null) return;
    const version = this.#read.version.get();
    if (version !== this.#version) this.#compare(this.#read);
    this.#version = version;
    this.#statements = statements.count;
  }

  #compare(read: Reads): void {
    const changed = (read.changed.all(this.#upTo) as { id: string }[]).map(({ id }) => id);
    if (changed.length > 0) this.#upTo = read.upTo.get();
    for (const id of changed) {
      const all = read.results.all(id) as Result[];
      const newestAt = Math.max(...all.map(({ started_at: at }) => at));
      this.#results.set(id, { all, newest: all.filter((each) => each.started_at === newestAt) });
    }
    this.#statuses(read.statuses.all() as Status[]);
    this.#incidents(read.incidents);
    this.#times(changed);
    this.#alerts(changed, read);
  }

  /** What has to be said of the results of a check is said in the commit that stores them. */
  #alerts(changed: readonly string[], read: Reads): void {
    const { subjects, maintenances, hasWrongClock } = this.#play;
    if (maintenances.length > 0 || hasWrongClock) return;
    for (const id of changed) {
      const subject = subjects.find((each) => each.id === id);
      if (subject === undefined || subject.isParallel || this.#wasPaused(id)) continue;
      const alerts = read.alerts.all(id) as History['alerts'];
      const taken = read.taken.all(id) as History['taken'];
      const results = this.#results.get(id)?.all ?? [];
      const expected = alertsAfter(subject, { results, alerts, taken });
      if (expected === null) continue;
      const said = alerts.map(({ type }) => type).join();
      const types = expected.types.join();
      if (said !== types)
        this.#say(`${subject.name}: alerts ${said || 'none'}, not ${types || 'none'} yet`);
    }
  }

  #note(key: string, value: string): void {
    const seen = this.#seen.get(key) ?? [];
    if (seen.at(-1)?.value === value) return;
    seen.push({ at: this.#play.world.now, value });
    this.#seen.set(key, seen);
  }

  /** The status of a check is that of its newest FINAL result; an error keeps the verdict before it. */
  #statuses(rows: readonly Status[]): void {
    const ofGroup = rows
      .filter(({ counts, known }) => counts === 1 && known !== null)
      .map(({ failures, degraded }) =>
        failures === 1 ? 'failing' : degraded === 1 ? 'degraded' : 'passing',
      );
    this.#note('group', verdicts.find((each) => ofGroup.some((of) => of === each)) ?? 'unknown');
    for (const { id, failures, errors, degraded } of rows) {
      const status = `${failures} ${errors} ${degraded}`;
      this.#note(id, status);
      // Times of results are moved with the clock.
      if (this.#play.hasWrongClock) continue;
      const newest = this.#results.get(id)?.newest ?? [];
      const isSo = newest.some(
        (result) =>
          errors === result.has_errors &&
          (errors === 1 || (failures === result.has_failures && degraded === result.is_degraded)),
      );
      if (!isSo && newest.length > 0)
        this.#say(
          `${this.#nameOf(id)}: its status is ${status}, not that of its newest result: ${JSON.stringify(newest)}`,
        );
    }
  }

  /** An incident is open as long as its check fails: from the alert to the recovery. */
  #incidents(statement: SqliteDatabase.Statement): void {
    const services = new Map(
      this.#play.subjects.flatMap(({ id, serviceId }) =>
        serviceId === null ? [] : [[id, serviceId]],
      ),
    );
    if (services.size === 0) return;
    const rows = statement.all(JSON.stringify([...services.keys()])) as IncidentOfCheck[];
    for (const { id, alert, incident } of rows) {
      const serviceId = services.get(id) ?? '';
      const isOpen = incident !== null && incident !== 'RESOLVED';
      this.#note(serviceId, isOpen ? 'major_outage' : 'operational');
      if (isOpen && (alert === null || alert.endsWith('RECOVERY')))
        this.#say(`${this.#nameOf(id)}: an open incident after ${alert}`);
      // A failure below its threshold that becomes degraded is alerted, and opens nothing.
      const mustBeOpen = /^ALERT_(FAILURE|FAILURE_REMAIN|DEGRADED_FAILURE)$/.test(alert ?? '');
      // Who has muted a check hears of no recovery; the page does.
      const wasMuted = this.#play.subjects.some((each) => each.id === id && each.mutes.length > 0);
      if (!isOpen && mustBeOpen && !this.#wasPaused(id) && !wasMuted)
        this.#say(`${this.#nameOf(id)}: no open incident after ${alert}`);
    }
  }

  /** Nobody knows any more what becomes of a check that is switched off: its incident ends. */
  #wasPaused(id: string): boolean {
    const all = this.#play.subjects.filter((subject) => subject.id === id);
    return all.some(({ active, isPausing }) => isPausing || active.some(({ to }) => to < Infinity));
  }

  #beganWrong({ name, away }: AgentProgram): boolean {
    const wrong = this.#play.faults.filter(
      ({ kind, where }) => /^(clock|drift)$/.test(kind) && where === name,
    );
    return wrong.some(({ span }) => away.some(({ to }) => to >= span.from && to <= span.to));
  }

  /** No result stands at a time that is yet to come. */
  #times(changed: readonly string[]): void {
    const { world, controlPlane, faults } = this.#play;
    const steps = faults.filter(
      ({ kind, where }) => kind === 'clock' && where === controlPlane.name,
    );
    const others = [
      ...faults.filter(({ where }) => where !== controlPlane.name).map(({ span }) => span),
      ...controlPlane.away,
    ];
    const isUnclear = steps.some(({ span, aheadMs = 0 }) =>
      [span.from, span.to].some(
        (at) =>
          at <= world.now &&
          // Who does not hear of a step stays where the clock was.
          (world.now < at + stepNoticedMs ||
            (world.now < at + 2 * stepNoticedMs + Math.abs(aheadMs) &&
              overlaps(others, at - second, at + stepNoticedMs))),
      ),
    );
    if (isUnclear) return;
    // An agent that began with a wrong clock and no word from the control plane cannot know better.
    if (this.#play.agents.some((agent) => this.#beganWrong(agent))) return;
    const wall = epoch + world.now + controlPlane.wall.aheadAt(world.now);
    // Those that are stored already are moved with the clock alone.
    const at = this.#play.hasWrongClock
      ? (this.#read?.newest.get() as number | null)
      : Math.max(...changed.map((id) => this.#results.get(id)?.newest[0]?.started_at ?? 0));
    if (at !== null && at > wall + aheadMs)
      this.#say(`a result stands ${((at - wall) / second).toFixed(1)} s ahead`);
  }

  /** Asks again and again, as a board on a wall does, and as a visitor of the status page. */
  start(): void {
    const { world } = this.#play;
    world.outside.act(() => {
      const ask = (): void => {
        void Promise.all([this.#askStatuses(), this.#askPage(), this.#askBadge()]).then(() =>
          world.outside.after(askEveryMs, ask),
        );
      };
      world.outside.after(askEveryMs, ask);
    });
  }

  /** Whether something was so while the answer was waited for, or is all that could be shown. */
  #isAnswer(key: string, begunAt: number, isSo: (value: string) => boolean): boolean {
    const seen = this.#seen.get(key) ?? [];
    const first = seen.findLastIndex(({ at }) => at <= begunAt);
    return seen.length === 0 || seen.slice(Math.max(0, first)).some(({ value }) => isSo(value));
  }

  async #askStatuses(): Promise<void> {
    const { caller, world, subjects } = this.#play;
    const begunAt = world.now;
    const answer = await caller.call('GET', '/v1/check-statuses');
    if (answer?.status !== 200) return;
    this.#play.meet('statuses read');
    for (const status of answer.body) {
      if (!subjects.some(({ id }) => id === status.checkId)) continue;
      const { hasFailures, hasErrors, isDegraded } = status;
      const value = [hasFailures, hasErrors, isDegraded].map(Number).join(' ');
      if (!this.#isAnswer(status.checkId, begunAt, (each) => each === value))
        this.#say(`${status.name}: the API says ${value}, as it never was since ${begunAt}`);
    }
  }

  async #askPage(): Promise<void> {
    const { caller, page, world, maintenances } = this.#play;
    if (page === null) return;
    const { controlPlane, faults } = this.#play;
    const isBusy = overlaps(
      [
        ...controlPlane.away,
        ...faults.filter(({ where }) => where === controlPlane.name).map(({ span }) => span),
      ],
      world.now - busyMs,
      world.now + busyMs,
    );
    const begunAt = world.now - (isBusy ? busyMs : snapshotMs);
    const answer = await caller.call('GET', `${page}/api/v2/summary.json`);
    if (answer?.status !== 200) return;
    this.#play.meet('status page read');
    const isMaintained = overlaps(maintenances, begunAt - second, world.now + second);
    for (const { id, name, status: shown } of answer.body.components) {
      const status = isMaintained && shown === 'under_maintenance' ? 'operational' : shown;
      if (status === 'major_outage') this.#play.meet('outage on the status page');
      if (!this.#isAnswer(id, begunAt, (each) => each === status))
        this.#say(`the status page says ${status} of ${name}, as it was not then`);
    }
  }

  async #askBadge(): Promise<void> {
    const { caller, badge, world } = this.#play;
    if (badge === null) return;
    const begunAt = world.now;
    const answer = await caller.read(`/v1/badges/groups/${badge}`);
    if (answer === null) return;
    this.#play.meet('badge of a group read');
    const said = verdicts.find((each) => answer.includes(`>${each}<`)) ?? 'nothing';
    if (!this.#isAnswer('group', begunAt, (each) => each === said))
      this.#say(`the badge of the group says ${said}, as it was not then`);
  }
}
