/** What must be so at every moment: looked at after each commit of the control plane. */
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
const said = 5;

const statusesSql = `
  select check_id as id, has_failures as failures, has_errors as errors, is_degraded as degraded
  from check_statuses`;
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

export class Watch {
  readonly #play: Play;
  readonly wrong = new Set<string>();
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

  /** The status of a check is that of its newest FINAL result; an error keeps the verdict before it. */
  #statuses(rows: readonly Status[]): void {
    // Times of results are moved with the clock.
    if (this.#play.hasWrongClock) return;
    for (const { id, failures, errors, degraded } of rows) {
      const newest = this.#results.get(id)?.newest ?? [];
      const isSo = newest.some(
        (result) =>
          errors === result.has_errors &&
          (errors === 1 || (failures === result.has_failures && degraded === result.is_degraded)),
      );
      if (!isSo && newest.length > 0)
        this.#say(
          `${this.#nameOf(id)}: its status is ${failures} ${errors} ${degraded}, not that of its newest result: ${JSON.stringify(newest)}`,
        );
    }
  }

  /** An incident is open as long as its check fails: from the alert to the recovery. */
  #incidents(statement: SqliteDatabase.Statement): void {
    const ids = this.#play.subjects.flatMap((each) => (each.serviceId === null ? [] : each.id));
    if (ids.length === 0) return;
    const rows = statement.all(JSON.stringify(ids)) as IncidentOfCheck[];
    for (const { id, alert, incident } of rows) {
      const isOpen = incident !== null && incident !== 'RESOLVED';
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
}
