/**
 * Ids of runs and results of this agent. By the key of its location as soon as a control plane gave it;
 * as protocol 1 derives them until then, which every control plane understands.
 */
import { createHash, createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import {
  keyedResultIdOfAttempt,
  keyedRunIdOfSlot,
  resultIdOfAttempt,
  runIdOfSlot,
  type SlotName,
} from '@monitor/shared/domain/run-id.ts';

const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

export class RunIds {
  #key: KeyObject | null = null;
  #text: string | null = null;

  /** The key as the control plane gives it, 32 bytes in base64; null for none. */
  get key(): string | null {
    return this.#text;
  }

  use(text: string | null): void {
    if (text === this.#text) return;
    this.#text = text;
    this.#key = text === null ? null : createSecretKey(Buffer.from(text, 'base64'));
  }

  ofSlot(slot: SlotName): string {
    const hmacHex = this.#hmacHex();
    return hmacHex === null ? runIdOfSlot(slot, sha256Hex) : keyedRunIdOfSlot(slot, hmacHex);
  }

  /** `attempt` is 1 for the first. */
  ofAttempt(runId: string, attempt: number): string {
    const hmacHex = this.#hmacHex();
    return hmacHex === null
      ? resultIdOfAttempt(runId, attempt, sha256Hex)
      : keyedResultIdOfAttempt(runId, attempt, hmacHex);
  }

  #hmacHex(): ((text: string) => string) | null {
    const key = this.#key;
    if (key === null) return null;
    return (text) => createHmac('sha256', key).update(text).digest('hex');
  }
}
