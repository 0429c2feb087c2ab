/** An agent of protocol 2 by hand: it derives ids with the key of its location. Nothing it sends is helped along. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  protocolHeader,
  protocolVersion,
  type CheckInAnswer,
  type ItemOutcome,
  type ResultSubmission,
} from '@monitor/shared/contract/agent-protocol.ts';
import { scheduleOf, slotAtOrAfter } from '@monitor/shared/domain/frequency.ts';
import { RunIds } from '../../agent/worker/run-ids.ts';
import { createLocationKey } from '../../control-plane/accounts/keys/store.ts';
import type { TestControlPlane } from './control-plane.ts';
import { checkInOf, resultOf } from './fake-agent.ts';

export interface SlotCheck {
  id: string;
  frequency: number;
  frequencyOffset: number;
  created_at: string;
}

/** The slots of a check from its creation up to an instant, in whichever location their turn is. */
export function slotsOf(check: SlotCheck, until: number): number[] {
  const { id: checkId, frequency, frequencyOffset } = check;
  const schedule = scheduleOf({ checkId, frequency, frequencyOffset });
  const slots: number[] = [];
  let slot = slotAtOrAfter(schedule, Date.parse(check.created_at) + 1);
  for (; slot <= until; slot += schedule.intervalMs) slots.push(slot);
  return slots;
}

export class KeyedAgent {
  readonly id = randomUUID();
  readonly ids = new RunIds();
  readonly location: string;
  readonly #cp: TestControlPlane;
  readonly #key: string;

  constructor(cp: TestControlPlane, location: string, key: string) {
    this.#cp = cp;
    this.location = location;
    this.#key = key;
  }

  /** One that has a key of a location of an account, and has checked in. */
  static async open(
    cp: TestControlPlane,
    location: string,
    accountId = cp.accountId,
  ): Promise<KeyedAgent> {
    const { services } = cp.controlPlane;
    const { rawKey } = await createLocationKey(services, accountId, location, null);
    const agent = new KeyedAgent(cp, location, rawKey);
    await agent.checkIn();
    return agent;
  }

  call(path: string, body?: unknown, method = 'POST', headers: Record<string, string> = {}) {
    return this.#cp.api(method, `/v1/agent/${path}`, body, {
      authorization: `Bearer ${this.#key}`,
      [protocolHeader]: String(protocolVersion),
      ...headers,
    });
  }

  async checkIn(): Promise<CheckInAnswer> {
    const types = ['URL', 'TCP', 'DNS', 'ICMP', 'AGENTIC'];
    const request = checkInOf(
      { agentId: this.id, protocol: protocolVersion },
      types,
      ['2026.04'],
      ['chromium'],
    );
    const answer = await this.call('check-in', request);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const news = answer.body as CheckInAnswer;
    this.ids.use(news.idKey ?? null);
    return news;
  }

  async handIn(...items: unknown[]): Promise<ItemOutcome[]> {
    const answer = await this.call('results', { agentId: this.id, items });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return (answer.body as { items: ItemOutcome[] }).items;
  }

  /** A result of a slot as this agent makes it. */
  result(
    checkId: string,
    scheduledFor: number,
    fields: Partial<ResultSubmission> = {},
  ): ResultSubmission {
    const { location } = this;
    const runId = this.ids.ofSlot({ checkId, location, scheduledFor });
    return resultOf(checkId, {
      id: this.ids.ofAttempt(runId, fields.attempt ?? 1),
      ...{ runId, scheduledFor, slotLocation: location, runLocation: location },
      ...{ startedAt: scheduledFor, stoppedAt: scheduledFor + 20 },
      ...fields,
    });
  }
}
