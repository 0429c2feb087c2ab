import { InvalidArgumentError, Option } from 'commander';

/** Reads `30d`, and `30`. */
export function daysUpTo(most: number): (text: string) => number {
  return (text) => {
    const found = Number(/^(\d{1,3})d?$/.exec(text)?.[1]);
    if (found >= 1 && found <= most) return found;
    throw new InvalidArgumentError(`must be days, such as 30d, at most ${most}d`);
  };
}

/** Of an import, and of shadow mode, which reads it. */
export const historyOption = (): Option =>
  new Option('--history <days>', 'days of earlier results, such as 30d').argParser(daysUpTo(750));
