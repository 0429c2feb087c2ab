import assert from 'node:assert/strict';
import test from 'node:test';
import { rulesOf, type AlertSettings } from '../../../../control-plane/alerting/decide/rules.ts';
import {
  initialState,
  notifiedCondition,
  type AlertState,
} from '../../../../control-plane/alerting/decide/state.ts';
import {
  stepAlert,
  type AlertEvent,
  type Step,
} from '../../../../control-plane/alerting/decide/step.ts';
import type { LocationResult } from '../../../../control-plane/alerting/decide/tick.ts';
import { alertSettings } from '../../../../shared/contract/check.ts';
import {
  AlertModel,
  type ModelSettings,
  type Said,
  type Seen,
} from '../../../support/alert-model.ts';
import { seededRandom, testSeed, tries } from '../../../support/random.ts';

const sequences = tries(10_000);
const minute = 60_000;
const start = Date.parse('2026-11-21T08:00:00Z');
const places = ['eu-west-1', 'us-east-1', 'ap-east-1', 'af-south-1'];

type Mode = 'sequential' | 'parallel' | 'heartbeat';

interface GivenTick {
  results: LocationResult[];
  served: string[];
  closesAt: number;
  isInMaintenance: boolean;
  /** Who has yet to report. */
  pending: string[];
}

/** One check, its machine and its model, living through the same events. */
class Life {
  readonly #random: () => number;
  readonly #mode: Mode;
  readonly #locations: string[];
  readonly #model = new AlertModel();
  readonly #said: Said[] = [];
  readonly #maintenances: { from: number; to: number }[];
  readonly #ticks = new Map<number, GivenTick>();
  /** How likely it is that a run goes wrong, for a while. */
  #badness = 0.3;
  #settings: AlertSettings;
  #isMuted = false;
  #now = start;
  #number = 0;
  #state: AlertState = initialState;
  #wakeAt: number | null = null;
  #wasPassUnderSilence = false;
  #last: 'failing' | 'degraded' | null = null;
  readonly log: string[] = [];

  constructor(random: () => number) {
    this.#random = random;
    this.#mode = this.#pick(['sequential', 'sequential', 'parallel', 'parallel', 'heartbeat']);
    this.#locations = places.slice(0, 2 + Math.floor(random() * 3));
    this.#settings = this.#anySettings();
    const from = start + this.#pick([5, 20, 60]) * minute;
    this.#maintenances =
      random() < 0.4 ? [{ from, to: from + this.#pick([3, 15, 40]) * minute }] : [];
  }

  #pick<T>(values: readonly T[]): T {
    return values[Math.floor(this.#random() * values.length)] as T;
  }

  #anySettings(): AlertSettings {
    return alertSettings.parse({
      escalationType: this.#pick(['RUN_BASED', 'RUN_BASED', 'TIME_BASED']),
      runBasedEscalation: { failedRunThreshold: this.#pick([1, 1, 2, 3, 5]) },
      timeBasedEscalation: { minutesFailingThreshold: this.#pick([5, 10, 15]) },
      reminders: { amount: this.#pick([0, 0, 1, 3, 100_000]), interval: this.#pick([1, 5, 30]) },
      parallelRunFailureThreshold: {
        enabled: this.#random() < 0.5,
        percentage: this.#pick([10, 30, 50, 60, 80, 100]),
      },
    });
  }

  #maintenanceAt(at: number): number | null {
    return this.#maintenances.find(({ from, to }) => from <= at && at < to)?.to ?? null;
  }

  #mute(): ModelSettings['mute'] {
    if (this.#isMuted) return { reason: 'MUTED' };
    const until = this.#maintenanceAt(this.#now);
    return until === null ? null : { reason: 'MAINTENANCE', until };
  }

  #modelSettings(): ModelSettings {
    const { escalationType, runBasedEscalation, timeBasedEscalation } = this.#settings;
    const { reminders, parallelRunFailureThreshold: threshold } = this.#settings;
    const runs = this.#mode === 'heartbeat' ? 1 : runBasedEscalation.failedRunThreshold;
    return {
      runs: escalationType === 'RUN_BASED' ? runs : null,
      minutes: timeBasedEscalation.minutesFailingThreshold,
      reminders: reminders.amount,
      reminderEveryMs: reminders.interval * minute,
      percentage: this.#mode === 'parallel' && threshold.enabled ? threshold.percentage : null,
      isPinged: this.#mode === 'heartbeat',
      mute: this.#mute(),
    };
  }

  #step(event: AlertEvent): Step {
    const mute = this.#mute();
    const rules = rulesOf(this.#settings, {
      runParallel: this.#mode === 'parallel',
      locations: this.#locations.length,
      isPinged: this.#mode === 'heartbeat',
      mute,
    });
    const before = this.#state;
    const step = stepAlert(before, event, rules, this.#now);
    // It travels through the database.
    this.#state = JSON.parse(JSON.stringify(step.state)) as AlertState;
    this.#wakeAt = step.wakeAt;
    for (const effect of step.effects) {
      if (effect.kind === 'alert') {
        assert.equal(mute, null, 'something was said while muted');
        this.#said.push({ say: effect.alertType, reminder: effect.reminder });
        this.#hold(effect.alertType, effect.reminder);
      } else {
        this.#said.push({ say: effect.kind });
      }
    }
    if (step.decision !== null) {
      const isAlert = step.effects.some(({ kind }) => kind === 'alert');
      assert.equal(step.decision.isRaised, isAlert);
    }
    if (
      notifiedCondition(before) !== null &&
      notifiedCondition(this.#state) === null &&
      this.#state.alert !== null
    ) {
      this.#wasPassUnderSilence = true;
    }
    return step;
  }

  /** What must hold of any life, whatever the model says. */
  #hold(type: string, reminder: number): void {
    if (type.endsWith('RECOVERY')) {
      assert.notEqual(this.#last, null, 'a recovery without an alert');
      this.#last = null;
      this.#wasPassUnderSilence = false;
      return;
    }
    const kind = /FAILURE_DEGRADED|DEGRADED$|DEGRADED_REMAIN/.test(type) ? 'degraded' : 'failing';
    if (reminder > 0) {
      assert.equal(kind, this.#last, 'a reminder of something else');
      return;
    }
    assert.ok(kind !== this.#last || this.#wasPassUnderSilence, `${kind} twice`);
    this.#last = kind;
    this.#wasPassUnderSilence = false;
  }

  #anySeen(): Seen {
    if (this.#random() < 0.05 && this.#mode !== 'heartbeat') return 'inconclusive';
    if (this.#random() > this.#badness) return 'passing';
    return this.#mode === 'heartbeat' || this.#random() < 0.65 ? 'failing' : 'degraded';
  }

  /** When a run began and ended that is heard of now: mostly just before, at times long ago. */
  #anyTimes(): { startedAt: number; stoppedAt: number } {
    const late = this.#random() < 0.15 ? this.#pick([2, 7, 40]) * minute : 0;
    const skew = this.#random() < 0.05 ? -2 * minute : 0;
    const stoppedAt = this.#now - late - skew;
    return { startedAt: stoppedAt - this.#pick([100, 100, 5_000, 90_000]), stoppedAt };
  }

  #run(): void {
    const seen = this.#anySeen();
    const isHeartbeat = this.#mode === 'heartbeat';
    const times = isHeartbeat ? { startedAt: this.#now, stoppedAt: this.#now } : this.#anyTimes();
    const isInMaintenance = this.#maintenanceAt(times.startedAt) !== null;
    const isTriggered = isHeartbeat || this.#mode === 'parallel' || this.#random() < 0.1;
    this.#number += 1;
    const resultId = `run ${this.#number}`;
    this.log.push(`${this.#clock()} ${seen} since ${this.#clock(times.startedAt)}`);
    const { decision } = this.#step({
      kind: 'run',
      resultId,
      outcome: seen,
      ...times,
      isInMaintenance,
      isTriggered,
    });
    const isPart = this.#mode === 'parallel';
    this.#model.run({ seen, ...times, isInMaintenance }, this.#modelSettings(), this.#now, isPart);
    assert.equal(decision?.reason ?? null, this.#model.reason);
  }

  /** One location reports for this tick, or for an older one. */
  #report(): void {
    const open = [...this.#ticks].filter(([, { pending }]) => pending.length > 0);
    const isNew = open.length === 0 || this.#random() < 0.4;
    const scheduledFor = isNew ? this.#now - 1_000 : this.#pick(open)[0];
    let tick = this.#ticks.get(scheduledFor);
    if (tick === undefined) {
      const served = this.#locations.filter(() => this.#random() < 0.9);
      const isInMaintenance = this.#maintenanceAt(scheduledFor) !== null;
      const closesAt = scheduledFor + 5 * minute;
      const pending = [...this.#locations];
      tick = { results: [], served, closesAt, isInMaintenance, pending };
      this.#ticks.set(scheduledFor, tick);
    }
    const location = tick.pending.splice(Math.floor(this.#random() * tick.pending.length), 1)[0];
    if (location === undefined) return;
    // Some are never heard of.
    if (this.#random() < 0.08) return;
    const seen = this.#anySeen();
    this.#number += 1;
    const result = {
      resultId: `run ${this.#number}`,
      location,
      outcome: seen,
      stoppedAt: this.#now,
    };
    tick.results.push(result);
    const { served: expected, results, closesAt, isInMaintenance } = tick;
    this.log.push(`${this.#clock()} ${location}: ${seen} for ${this.#clock(scheduledFor)}`);
    const { decision } = this.#step({
      kind: 'tick',
      scheduledFor,
      results: [...results],
      expected,
      closesAt,
      isInMaintenance,
      newest: { resultId: result.resultId, outcome: seen },
    });
    const about = { location, seen, stoppedAt: this.#now };
    const facts = { served: expected, closesAt, isInMaintenance };
    this.#model.report(scheduledFor, about, facts, this.#modelSettings(), this.#now);
    assert.equal(decision?.reason ?? null, this.#model.reason);
  }

  #wake(): void {
    if (this.#wakeAt !== null && this.#wakeAt <= this.#now) {
      for (const { scheduledFor, closesAt } of this.#state.openTicks) {
        const tick = this.#ticks.get(scheduledFor);
        const isWaitedFor = this.#state.openTicks.some(
          (open) => open.scheduledFor === scheduledFor,
        );
        if (tick === undefined || closesAt > this.#now || !isWaitedFor) continue;
        const { results, served: expected, isInMaintenance } = tick;
        const event = { results, expected, closesAt, isInMaintenance, newest: null } as const;
        this.#step({ kind: 'tick', scheduledFor, ...event });
      }
      this.#step({ kind: 'wake' });
      assert.ok(this.#wakeAt === null || this.#wakeAt > this.#now, 'it would wake for ever');
    }
    this.#model.look(this.#modelSettings(), this.#now);
  }

  #clock(at: number = this.#now): string {
    return new Date(at).toISOString().slice(11, 19);
  }

  #passTime(): void {
    const jump = this.#pick([1_000, 20_000, minute, minute, minute, 5 * minute, 31 * minute]);
    const looks = jump > minute ? 6 : 1;
    for (let look = 0; look < looks; look += 1) {
      this.#now += Math.round(jump / looks);
      this.#wake();
    }
  }

  live(events: number): void {
    for (let event = 0; event < events; event += 1) {
      const dice = this.#random();
      if (dice < 0.05) {
        this.#isMuted = !this.#isMuted;
        this.log.push(`${this.#clock()} ${this.#isMuted ? 'muted' : 'unmuted'}`);
      } else if (dice < 0.08) {
        this.#settings = this.#anySettings();
        this.log.push(`${this.#clock()} settings ${JSON.stringify(this.#settings)}`);
      } else if (dice < 0.15) {
        this.#badness = this.#pick([0, 0.1, 0.5, 1]);
      } else if (this.#mode === 'parallel' && dice < 0.95) {
        this.#report();
      } else {
        this.#run();
      }
      this.#compare();
      this.#passTime();
      this.#compare();
    }
  }

  #compare(): void {
    assert.deepEqual(this.#said, this.#model.said);
  }

  get alerts(): number {
    return this.#said.filter(({ say }) => say.startsWith('ALERT')).length;
  }
}

test(`${sequences} lives of checks: the machine says what the model says, and nothing while muted`, (t) => {
  const seed = testSeed();
  t.diagnostic(`TEST_SEED=${seed}`);
  let alerts = 0;
  for (let sequence = 0; sequence < sequences; sequence += 1) {
    const life = new Life(seededRandom(seed + sequence));
    try {
      life.live(10 + (sequence % 40));
    } catch (error) {
      const story = life.log.slice(-30).join('\n');
      throw new Error(`sequence ${sequence} of TEST_SEED=${seed}:\n${story}`, { cause: error });
    }
    alerts += life.alerts;
  }
  t.diagnostic(`${alerts} alerts`);
  assert.ok(alerts > sequences, 'the sequences hardly ever alert');
});
