/**
 * Watches the control plane for people: it cannot say itself that it is away. What an agent needs for
 * that came with check-ins and lies encrypted in its folder, with the names of channels that know.
 */
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '@monitor/shared/clock.ts';
import type { Capabilities } from '@monitor/shared/contract/agent-protocol.ts';
import {
  controlPlaneWatch,
  type ControlPlaneWatch,
  type PreparedMessage,
} from '@monitor/shared/contract/control-plane-watch.ts';
import type { Logger } from 'pino';
import { z } from 'zod';
import { codeOf } from '../net/failure.ts';
import type { Secret } from '../secret.ts';
import { Cipher } from '../worker/cipher.ts';
import type { LinkState } from '../worker/check-in-loop.ts';
import { repeat } from '../worker/repeat.ts';
import { decideSpeaker, type Decision, type PeerAnswer } from './decide-speaker.ts';
import { signedAnswer, type SignedAnswer } from './peers.ts';

const lookEveryMs = 5_000;
const askAgainMs = 15_000;
const sendAgainMs = 30_000;
/** It is back once it has stayed. */
const backAfterMs = 30_000;

const kept = z.object({ watch: controlPlaneWatch, notified: z.array(z.string()) });

interface WatchParts {
  directory: string;
  apiKey: Secret;
  agentId: string;
  clock: Clock;
  logger: Logger;
  link: () => LinkState;
  /** Whether the control plane answers now. */
  reaches: () => Promise<boolean>;
  ask: (watch: ControlPlaneWatch) => Promise<PeerAnswer[]>;
  send: (message: PreparedMessage) => Promise<void>;
}

export class WatchOfControlPlane implements Disposable {
  readonly #parts: WatchParts;
  readonly #file: string;
  readonly #cipher: Cipher;
  #watch: ControlPlaneWatch | null = null;
  /** Where other agents ask this one; known once the health port is open. */
  address: Capabilities['peer'];
  /** Channels that know that it is away. */
  #notified = new Set<string>();
  /** Another agent has said it; that one may end before the control plane is back. */
  #isSaid = false;
  #awaySince: number | null = null;
  #upSince: number | null = null;
  #nextAt = 0;
  #decision: Decision | null = null;
  /** Null between looks. */
  #looking: Promise<void> | null = null;
  readonly #stop: () => void;

  constructor(parts: WatchParts) {
    this.#parts = parts;
    this.#file = join(parts.directory, 'control-plane-watch.bin');
    this.#cipher = new Cipher(parts.apiKey, 'control plane watch v1');
    this.#load();
    this.#stop = repeat(parts.clock, lookEveryMs, () => {
      this.#looking ??= this.#look()
        .catch((error: unknown) => {
          parts.logger.error({ err: error }, 'the control plane could not be watched');
        })
        .finally(() => {
          this.#looking = null;
        });
    });
  }

  get digest(): string | null {
    return this.#watch?.digest ?? null;
  }

  /** For `/health`: whether people would hear of it. */
  get remarks(): Readonly<Record<string, string>> {
    if (this.#watch === null) return {};
    const { messages, peers } = this.#watch;
    const armed = `channels: ${messages.length}, other agents: ${peers.length}`;
    return { controlPlaneWatch: this.#decision === null ? armed : `${armed}, ${this.#decision}` };
  }

  /** Takes what came with a check-in. */
  take(watch: ControlPlaneWatch | null): void {
    this.#watch = watch;
    this.#save();
  }

  /** What another agent hears; null where it asks wrongly, or nothing is watched. */
  answer(nonce: string | null): SignedAnswer | null {
    if (this.#watch === null) return null;
    return signedAnswer(this.#watch.key, nonce, {
      ...{ agentId: this.#parts.agentId, awayMs: this.#awayMs },
      hasSpoken: this.#isSaid || this.#notified.size > 0,
    });
  }

  [Symbol.dispose](): void {
    this.#stop();
  }

  /** Resolves when what it does now is done. */
  async idle(): Promise<void> {
    await this.#looking;
  }

  /** Null while it is there. */
  get #awayMs(): number | null {
    return this.#awaySince === null ? null : this.#parts.clock.monotonic() - this.#awaySince;
  }

  async #look(): Promise<void> {
    const { clock, link } = this.#parts;
    const now = clock.monotonic();
    const state = link();
    // One that refuses is there.
    if (state === 'up' || state === 'refused') {
      this.#awaySince = null;
      this.#isSaid = false;
      this.#note(null);
      this.#upSince ??= now;
      if (this.#notified.size > 0 && state === 'up' && now - this.#upSince >= backAfterMs)
        await this.#sayBack();
      return;
    }
    this.#upSince = null;
    this.#awaySince ??= now;
    const watch = this.#watch;
    if (watch === null || watch.messages.length === 0) return;
    if (now - this.#awaySince < watch.awayAfterMs || now < this.#nextAt) return;
    if (this.#isSaid || this.#notified.size === watch.messages.length) return;
    this.#nextAt = now + askAgainMs;
    await this.#consider(watch);
  }

  async #consider(watch: ControlPlaneWatch): Promise<void> {
    const { agentId, ask, reaches } = this.#parts;
    const answers = await ask(watch);
    const decision = decideSpeaker({
      ...{ agentId, awayMs: this.#awayMs ?? 0, awayAfterMs: watch.awayAfterMs },
      ...{ peers: watch.peers.length, answers },
    });
    this.#note(decision);
    this.#isSaid = decision === 'said-by-others' && this.#notified.size === 0;
    // The last look: a pause of this process or of the network may be over by now.
    if (decision !== 'speak' || (await reaches())) return;
    await this.#sayAway(watch);
  }

  async #sayAway(watch: ControlPlaneWatch): Promise<void> {
    for (const { channel, away } of watch.messages) {
      if (this.#notified.has(channel) || !(await this.#sent(channel, away))) continue;
      this.#notified.add(channel);
      this.#save();
    }
    if (this.#notified.size < watch.messages.length)
      this.#nextAt = this.#parts.clock.monotonic() + sendAgainMs;
  }

  async #sayBack(): Promise<void> {
    for (const { channel, back } of this.#watch?.messages ?? []) {
      if (!this.#notified.has(channel)) continue;
      if (back !== null && !(await this.#sent(channel, back))) continue;
      this.#notified.delete(channel);
      this.#save();
    }
    // Channels that are no longer for agents learn nothing more.
    const names = new Set(this.#watch?.messages.map(({ channel }) => channel));
    for (const channel of this.#notified) if (!names.has(channel)) this.#notified.delete(channel);
    this.#upSince = this.#parts.clock.monotonic();
    this.#save();
  }

  async #sent(channel: string, message: PreparedMessage): Promise<boolean> {
    const { send, logger } = this.#parts;
    try {
      await send(message);
      logger.info({ channel }, 'a message about the control plane was sent');
      return true;
    } catch (error) {
      const { message: reason } = error as Error;
      // Reasons of connections name the host, which may be all of a secret.
      const said = /^it answered \d+$/.test(reason) ? reason : codeOf(error);
      logger.warn({ channel, reason: said }, 'a message about the control plane was not sent');
      return false;
    }
  }

  #note(decision: Decision | null): void {
    if (decision === this.#decision) return;
    this.#decision = decision;
    if (decision !== null && decision !== 'too-early')
      this.#parts.logger.warn({ decision }, 'the control plane is away');
  }

  #load(): void {
    try {
      const text = this.#cipher.decrypt(readFileSync(this.#file));
      const { watch, notified } = kept.parse(JSON.parse(text));
      this.#watch = watch;
      this.#notified = new Set(notified);
    } catch {
      // The next check-in brings it; another key could not open it.
    }
  }

  #save(): void {
    const { logger } = this.#parts;
    try {
      if (this.#watch === null) {
        rmSync(this.#file, { force: true });
        return;
      }
      const text = JSON.stringify({ watch: this.#watch, notified: [...this.#notified] });
      writeFileSync(`${this.#file}.new`, this.#cipher.encrypt(text), { mode: 0o600, flush: true });
      renameSync(`${this.#file}.new`, this.#file);
    } catch (error) {
      logger.warn({ code: codeOf(error) }, 'what watches the control plane could not be kept');
    }
  }
}
