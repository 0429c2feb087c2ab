/** The wall clock of one process, moved by libfaketime (Debian: faketime). */
import { globSync, writeFileSync } from 'node:fs';

/** Undefined where it is not installed. */
export function libFaketime(): string | undefined {
  return globSync('/usr/lib/*/faketime/libfaketime.so.1')[0];
}

export interface MovedClock {
  /** Settings of the process. */
  settings: Readonly<Record<string, string>>;
  /** Moves it within a second, as `+3s` or `-365d` from the right time. */
  by(step: string): void;
}

/** A clock that a file says about, and that is right at first. Throws without libfaketime. */
export function moveClock(file: string): MovedClock {
  const library = libFaketime();
  if (library === undefined) throw new Error('libfaketime is not installed');
  const by = (step: string): void => writeFileSync(file, step);
  by('+0');
  return {
    settings: {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: file,
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
      FAKETIME_CACHE_DURATION: '1',
    },
    by,
  };
}
