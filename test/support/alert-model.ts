/**
 * What alerting should do, said a second time and in another way: nothing is remembered but what
 * happened, and each answer is worked out from the whole history. Follows the table of transitions,
 * not the code. Times in milliseconds.
 */
export type Health = 'passing' | 'degraded' | 'failing';
export type Seen = Health | 'inconclusive';

export interface ModelSettings {
  /** Runs in a row, or null when minutes count. */
  runs: number | null;
  minutes: number;
  reminders: number;
  reminderEveryMs: number;
  percentage: number | null;
  /** A heartbeat: no run follows a missed ping. */
  isPinged: boolean;
  mute: { reason: 'MUTED' } | { reason: 'MAINTENANCE'; until: number } | null;
}

/** What is said to people, and about incidents, in order. */
export type Said =
  { say: string; reminder: number } | { say: 'open-incident' | 'resolve-incident' };

interface CountedRun {
  health: Health;
  at: number;
}

interface Message {
  health: Health;
  at: number;
  isReminder: boolean;
  /** How many runs counted before it. */
  after: number;
}

const table: Record<string, string> = {
  'passing>degraded': 'ALERT_DEGRADED',
  'passing>failing': 'ALERT_FAILURE',
  'degraded>degraded': 'ALERT_DEGRADED_REMAIN',
  'degraded>passing': 'ALERT_DEGRADED_RECOVERY',
  'degraded>failing': 'ALERT_DEGRADED_FAILURE',
  'failing>failing': 'ALERT_FAILURE_REMAIN',
  'failing>degraded': 'ALERT_FAILURE_DEGRADED',
  'failing>passing': 'ALERT_RECOVERY',
};

interface ModelTick {
  reports: Map<string, Seen>;
  served: readonly string[];
  closesAt: number;
  isInMaintenance: boolean;
  lastStoppedAt: number;
  isWaitedFor: boolean;
}

export class AlertModel {
  readonly #runs: CountedRun[] = [];
  readonly #messages: Message[] = [];
  readonly #known: { startedAt: number; stoppedAt: number }[] = [];
  readonly #ticks = new Map<number, ModelTick>();
  #judgedUpTo: number | null = null;
  #lag = 0;
  #heldUntil: number | null = null;
  #armed: number | null = null;
  /** Who took the last alert on wants no reminder, or one at this time. */
  #taken: { untilAt: number | null } | null = null;
  readonly said: Said[] = [];
  /** Why nothing was said about the last event, for events that something could be said about. */
  reason: string | null = null;

  /** The result of one run of a check that does not run in parallel, or of a triggered run. */
  run(
    run: { seen: Seen; startedAt: number; stoppedAt: number; isInMaintenance: boolean },
    settings: ModelSettings,
    now: number,
    isPartOfParallel: boolean,
  ): void {
    this.reason = this.#run(run, settings, now, isPartOfParallel);
    this.#armed = this.#due(settings);
  }

  #run(
    run: { seen: Seen; startedAt: number; stoppedAt: number; isInMaintenance: boolean },
    settings: ModelSettings,
    now: number,
    isPartOfParallel: boolean,
  ): string | null {
    const { seen, startedAt, stoppedAt } = run;
    if (seen === 'inconclusive') return 'INCONCLUSIVE';
    if (isPartOfParallel && !(seen === 'failing' && settings.percentage === null)) {
      return 'OUTSIDE_SCHEDULE';
    }
    const beganLater = this.#known.some((other) => other.startedAt > startedAt);
    const endedLater = this.#known.some((other) => other.stoppedAt > stoppedAt);
    if (this.#judgedUpTo !== null && startedAt < this.#judgedUpTo) return 'OUTDATED';
    if (beganLater && (seen === 'passing' || endedLater)) return 'OUTDATED';
    this.#known.push({ startedAt, stoppedAt });
    this.#lag = now - stoppedAt;
    return this.#count(seen, startedAt, run.isInMaintenance, settings, now);
  }

  /** Somebody takes the open alert on, or wants to be reminded at this time. */
  acknowledge(untilAt: number | null, settings: ModelSettings): void {
    if (this.#lastAlert() === null) return;
    this.#taken = { untilAt };
    this.#armed = this.#due(settings);
  }

  /** When something is to be said if nothing happens before. */
  get dueAt(): number | null {
    return this.#armed;
  }

  /** What one location says of a tick. */
  report(
    scheduledFor: number,
    { location, seen, stoppedAt }: { location: string; seen: Seen; stoppedAt: number },
    tick: { served: readonly string[]; closesAt: number; isInMaintenance: boolean },
    settings: ModelSettings,
    now: number,
  ): void {
    const { served, closesAt, isInMaintenance } = tick;
    const known = this.#ticks.get(scheduledFor);
    const entry = known ?? {
      reports: new Map<string, Seen>(),
      served,
      closesAt,
      isInMaintenance,
      lastStoppedAt: 0,
      isWaitedFor: false,
    };
    this.#ticks.set(scheduledFor, entry);
    entry.reports.set(location, seen);
    entry.lastStoppedAt = Math.max(entry.lastStoppedAt, stoppedAt);
    if (this.#judgedUpTo !== null && scheduledFor <= this.#judgedUpTo) {
      const late = scheduledFor === this.#judgedUpTo ? 'TICK_DECIDED' : 'OUTDATED';
      this.reason = seen === 'passing' ? null : late;
    } else {
      const isOver = now >= entry.closesAt;
      const reason = this.#judge(scheduledFor, entry, isOver, settings, now);
      const soFar = { passing: null, inconclusive: 'INCONCLUSIVE' };
      this.reason = reason === 'TICK_OPEN' && seen in soFar ? soFar[seen as 'passing'] : reason;
    }
    this.#armed = this.#due(settings);
  }

  #judge(
    scheduledFor: number,
    tick: ModelTick,
    isOver: boolean,
    settings: ModelSettings,
    now: number,
  ): string | null {
    const said = [...tick.reports.values()].filter((seen) => seen !== 'inconclusive');
    const pending = tick.served.filter((location) => !tick.reports.has(location)).length;
    const failing = said.filter((seen) => seen === 'failing').length;
    const worse = said.filter((seen) => seen !== 'passing').length;
    const isEnough = (bad: number, of: number) =>
      bad > 0 && (settings.percentage === null || bad * 100 >= settings.percentage * of);
    let health: Seen;
    // Even if everyone who is still to report says that all is well.
    if (isEnough(failing, said.length + pending)) health = 'failing';
    else if (pending > 0 && !isOver) {
      tick.isWaitedFor ||= worse > 0 || this.#health() !== 'passing' || this.#lastAlert() !== null;
      return 'TICK_OPEN';
    } else if (said.length === 0) health = 'inconclusive';
    else if (isEnough(failing, said.length)) health = 'failing';
    else if (worse > failing && isEnough(worse, said.length)) health = 'degraded';
    else health = 'passing';
    this.#judgedUpTo = scheduledFor;
    if (!isOver) this.#lag = now - tick.lastStoppedAt;
    if (health === 'inconclusive') return 'INCONCLUSIVE';
    return this.#count(health, scheduledFor, tick.isInMaintenance, settings, now);
  }

  #health(): Health {
    return this.#runs.at(-1)?.health ?? 'passing';
  }

  /** The last thing people were told, unless it was that all is well. */
  #lastAlert(): Message | null {
    const last = this.#messages.findLast((message) => !message.isReminder);
    return last === undefined || last.health === 'passing' ? null : last;
  }

  /** Whether the check has passed since people were told of trouble. */
  #isOwed(alert: Message): boolean {
    return this.#runs.slice(alert.after).some(({ health }) => health === 'passing');
  }

  #believed(): Health | null {
    const alert = this.#lastAlert();
    return alert === null || this.#isOwed(alert) ? null : alert.health;
  }

  /** The last runs that say the same. */
  #streak(): CountedRun[] {
    const last = this.#health();
    const other = this.#runs.findLastIndex(({ health }) => health !== last);
    return this.#runs.slice(other + 1);
  }

  #tell(name: string | undefined, health: Health, now: number, reminder = 0): void {
    this.said.push({ say: name ?? '?', reminder });
    if (reminder === 0) this.#taken = null;
    this.#messages.push({ health, at: now, isReminder: reminder > 0, after: this.#runs.length });
    if (health === 'failing' && reminder === 0) this.said.push({ say: 'open-incident' });
    this.#heldUntil = null;
  }

  #count(
    health: Health,
    at: number,
    isInMaintenance: boolean,
    settings: ModelSettings,
    now: number,
  ): string | null {
    // After a missed deadline no run follows: its mute holds the alert back.
    if (isInMaintenance && health !== 'passing' && !settings.isPinged) return 'MAINTENANCE';
    const before = this.#health();
    const alert = this.#lastAlert();
    const wasOwed = alert !== null && this.#isOwed(alert);
    const believed = this.#believed();
    this.#runs.push({ health, at });
    if (health === 'passing' || settings.mute === null) this.#heldUntil = null;
    if (health === 'passing') {
      if (alert === null) return before === 'passing' ? null : 'NOTHING_TO_RECOVER';
      if (settings.mute !== null || isInMaintenance) {
        if (!wasOwed) this.said.push({ say: 'resolve-incident' });
        return before === 'passing' ? null : (settings.mute?.reason ?? 'MAINTENANCE');
      }
      const from = before === 'passing' || wasOwed ? alert.health : before;
      this.#tell(table[`${from}>passing`], 'passing', now);
      if (!wasOwed) this.said.push({ say: 'resolve-incident' });
      return 'RECOVERED';
    }
    if (believed === health) return 'ALREADY_ALERTED';
    const isOverride = before !== 'passing' && before !== health;
    const streak = this.#streak();
    const isReached =
      settings.runs === null
        ? at - (streak[0]?.at ?? at) >= settings.minutes * 60_000
        : streak.length >= settings.runs;
    if (!isOverride && !isReached) return 'THRESHOLD_NOT_REACHED';
    if (settings.mute !== null) return settings.mute.reason;
    this.#tell(table[`${before}>${health}`], health, now);
    return isOverride ? 'CONDITION_CHANGED' : 'THRESHOLD_REACHED';
  }

  #due(settings: ModelSettings): number | null {
    const health = this.#health();
    let due: number | null = null;
    if (health === 'passing') {
      // Nobody may ping for long, and nothing else would say that it recovered.
      if (settings.isPinged && this.#lastAlert() !== null) due = this.#messages.at(-1)?.at ?? null;
    } else if (this.#believed() === health) {
      const last = this.#messages.at(-1);
      const snoozedUntil = this.#taken?.untilAt ?? 0;
      if (last === undefined || this.#taken?.untilAt === null) due = null;
      else if (snoozedUntil > last.at) due = snoozedUntil;
      else if (this.#reminders() < settings.reminders) due = last.at + settings.reminderEveryMs;
    } else if (settings.runs === null) {
      due = (this.#streak()[0]?.at ?? 0) + settings.minutes * 60_000 + this.#lag;
    } else if (settings.isPinged) {
      due = (this.#streak()[0]?.at ?? 0) + this.#lag;
    }
    return due === null ? null : Math.max(due, this.#heldUntil ?? 0);
  }

  #reminders(): number {
    const last = this.#messages.findLastIndex((message) => !message.isReminder);
    return this.#messages.length - 1 - last;
  }

  /** Time has passed and nothing else has happened. */
  look(settings: ModelSettings, now: number): void {
    const over = [...this.#ticks].filter(
      ([scheduledFor, tick]) =>
        tick.isWaitedFor &&
        tick.closesAt <= now &&
        (this.#judgedUpTo === null || scheduledFor > this.#judgedUpTo),
    );
    const isTime = this.#armed !== null && this.#armed <= now;
    if (over.length === 0 && !isTime) return;
    for (const [scheduledFor, tick] of over.sort(([a], [b]) => a - b)) {
      this.#judge(scheduledFor, tick, true, settings, now);
    }
    const due = this.#due(settings);
    if (due !== null && due <= now) this.#beTimely(settings, now);
    this.#armed = this.#due(settings);
  }

  #beTimely(settings: ModelSettings, now: number): void {
    const health = this.#health();
    if (settings.mute !== null) {
      const { mute } = settings;
      this.#heldUntil = mute.reason === 'MUTED' ? now + 300_000 : Math.max(mute.until, now + 1_000);
      return;
    }
    if (health === 'passing') {
      this.#tell(table[`${this.#lastAlert()?.health}>passing`], 'passing', now);
      return;
    }
    const reminder = this.#believed() === health ? this.#reminders() + 1 : 0;
    this.#tell(table[`${health}>${health}`], health, now, reminder);
  }
}
