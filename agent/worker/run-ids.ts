/**
 * Ids of runs and results of this agent. By the key of its location as soon as a control plane gave it;
 * as protocol 1 derives them until then, which every control plane understands.
 */
import { hash } from 'node:crypto';
import {
  keyedResultIdOfAttempt,
  keyedRunIdOfSlot,
  keyedText,
  resultIdOfAttempt,
  runIdOfSlot,
  type KeyedSha256Hex,
  type SlotName,
} from '@monitor/shared/domain/run-id.ts';

const sha256Hex = (text: string): string => hash('sha256', text, 'hex');

export class RunIds {
  #key: string | null = null;

  /** The key as the control plane gives it, 32 bytes in base64; null for none. */
  get key(): string | null {
    return this.#key;
  }

  use(key: string | null): void {
    this.#key = key;
  }

  ofSlot(slot: SlotName): string {
    const keyed = this.#keyedSha256Hex();
    return keyed === null ? runIdOfSlot(slot, sha256Hex) : keyedRunIdOfSlot(slot, keyed);
  }

  /** `attempt` is 1 for the first. */
  ofAttempt(runId: string, attempt: number): string {
    const keyed = this.#keyedSha256Hex();
    return keyed === null
      ? resultIdOfAttempt(runId, attempt, sha256Hex)
      : keyedResultIdOfAttempt(runId, attempt, keyed);
  }

  #keyedSha256Hex(): KeyedSha256Hex | null {
    const key = this.#key;
    return key === null ? null : (text) => sha256Hex(keyedText(key, text));
  }
}
