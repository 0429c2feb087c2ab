import type { Services } from '../core/services.ts';
import type { RateLimiter } from '../http/rate-limit.ts';
import type { Passwords } from './passwords.ts';

/** What the verbs of this module need. */
export interface PeopleDeps extends Pick<
  Services,
  'db' | 'clock' | 'newId' | 'commits' | 'outbox' | 'publicUrl' | 'logger' | 'secrets'
> {
  passwords: Passwords;
  /** Counts what people, and strangers in their name, try. */
  attempts: RateLimiter;
  /** Without a mail server, links are given to the person who made them. */
  canMail: boolean;
  /** Clears what replicas remember about sessions. */
  forget(): void;
}
