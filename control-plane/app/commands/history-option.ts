import { InvalidArgumentError, Option } from 'commander';

function days(text: string): number {
  const found = Number(/^(\d{1,3})d$/.exec(text)?.[1]);
  if (found >= 1 && found <= 750) return found;
  throw new InvalidArgumentError('must be days, such as 30d, at most 750d');
}

/** Of an import, and of shadow mode, which reads it. */
export const historyOption = (): Option =>
  new Option('--history <days>', 'days of earlier results, such as 30d').argParser(days);
