/**
 * Ids of runs and results. They use the key of the location once a control plane has sent it; until
 * then they are derived as in protocol 1, which every control plane accepts.
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

  /** The key of the control plane, 32 bytes in base64; null without one. */
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
